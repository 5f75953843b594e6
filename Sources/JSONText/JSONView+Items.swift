extension JSONView {
  /// The items of an array, found while iterating.
  public struct Elements: Sequence, IteratorProtocol, Sendable {
    private let view: JSONView
    private var position: Int

    init(of view: JSONView) {
      self.view = view
      position = view.kind == .array ? view.range.lowerBound + 1 : view.range.upperBound
    }

    /// The next item.
    public mutating func next() -> JSONView? {
      let item = CheckedText.looking(at: view.document, upTo: view.range.upperBound) { [position] text in
        text.nextItem(position).map { $0..<Swift.max($0, text.endOfValue($0)) }
      }
      guard let item else { return nil }
      position = item.upperBound
      return JSONView(document: view.document, range: item)
    }
  }

  /// The members of an object, found while iterating.
  public struct Members: Sequence, IteratorProtocol, Sendable {
    private let view: JSONView
    private var position: Int

    init(of view: JSONView) {
      self.view = view
      position = view.kind == .object ? view.range.lowerBound + 1 : view.range.upperBound
    }

    /// The next member, its name with escapes resolved.
    public mutating func next() -> (key: String, value: JSONView)? {
      nextPair().map { ($0.name.string ?? "", $0.value) }
    }

    /// The next member, its name as a view of a string.
    mutating func nextPair() -> (name: JSONView, value: JSONView)? {
      let member = CheckedText.looking(at: view.document, upTo: view.range.upperBound) { [position] text in
        text.nextItem(position).map { text.member($0) }
      }
      guard let member else { return nil }
      position = member.value.upperBound
      return (
        JSONView(document: view.document, range: member.name), JSONView(document: view.document, range: member.value)
      )
    }
  }
}
