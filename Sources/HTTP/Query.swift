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
      var text = text
      items = text.withUTF8 { bytes in
        UnsafeRawBufferPointer(bytes).split(separator: UInt8(ascii: "&")).map { part in
          let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
          return Item(name: Query.decoded(part[..<equals]), value: Query.decoded(part[equals...].dropFirst()))
        }
      }
    }

    private static func decoded(_ part: Slice<UnsafeRawBufferPointer>) -> String {
      // Most have nothing to decode.
      if !part.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) {
        return String(decoding: part, as: UTF8.self)
      }
      let bytes = PercentEncoding.decode(bytes: part, plusIsSpace: true) ?? []  // never nil: the target was checked
      return String(decoding: bytes, as: UTF8.self)
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
