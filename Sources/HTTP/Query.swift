extension Target {
  /// The items of a query in order, decoded once; `+` counts as a space, as forms and GitHub's clients write it.
  public struct Query: Sendable, Hashable, CustomStringConvertible {
    /// A decoded name and value.
    public struct Item: Sendable, Hashable {
      /// Before the first `=`.
      public var name: String
      /// After the first `=`; empty without one.
      public var value: String
    }

    /// All items in order, repeats kept.
    public private(set) var items: [Item]

    /// No items.
    public init() { items = [] }

    init(checked text: Substring) {
      items = text.utf8.split(separator: UInt8(ascii: "&")).map { part in
        let name = part.prefix { $0 != UInt8(ascii: "=") }
        let value = part.dropFirst(name.count + 1)
        func decoded(_ part: Substring.UTF8View.SubSequence) -> String {
          PercentEncoding.decode(Substring(part), plusIsSpace: true) ?? ""  // never nil: the target was checked
        }
        return Item(name: decoded(name), value: decoded(value))
      }
    }

    /// The first value of that name.
    public subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// All values of that name, in order.
    public func all(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    /// Sets an item where its first repeat stood, or at the end; with `nil` takes it out.
    public mutating func set(_ name: String, to value: String?) {
      let place = items.firstIndex { $0.name == name }
      items.removeAll { $0.name == name }
      guard let value else { return }
      items.insert(Item(name: name, value: value), at: place ?? items.count)
    }

    /// The items as a query string without `?`, everything but unreserved characters escaped.
    public var description: String {
      items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }
  }
}
