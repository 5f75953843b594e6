import JSONText

/// Items of one kind in memory: their text, ready to be answered, and where each member's value stands in it.
///
/// Nothing is decoded for keeps. Five thousand photos are 1.3 MB of text and 0.3 MB of places.
public struct JSONTable: Sendable {
  /// Where a value is, and what it is.
  struct Value: Sendable {
    enum Kind: UInt8, Sendable {
      /// There is no such member, or it is null.
      case missing
      case number
      /// A text; the place is that of its content.
      case text
      /// The same in `unescaped`, since its text in the document has escapes.
      case unescapedText
      /// True, false, arrays and objects.
      case other
    }

    var kind = Kind.missing
    var start: UInt32 = 0
    var count: UInt32 = 0
  }

  /// A member's values, one for each item.
  struct Column: Sendable {
    let name: String
    var values: [Value]
  }

  /// All items, as one array.
  public let document: [UInt8]
  /// The ids of the items, in order.
  public let ids: [Int64]
  let unescaped: [UInt8]
  let columns: [Column]
  private let places: [Range<UInt32>]

  /// How many items there are.
  public var count: Int { ids.count }

  /// Lends an item's text.
  @inline(__always)
  public func withItem<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    let place = places[index]
    return document.withUnsafeBytes { bytes in
      body(UnsafeRawBufferPointer(rebasing: bytes[Int(place.lowerBound)..<Int(place.upperBound)]))
    }
  }

  /// A value's text as JavaScript would make it a string; `nil` for what is missing.
  @inline(__always)
  func withText<R>(_ value: Value, _ body: (UnsafeRawBufferPointer) -> R) -> R? {
    if value.kind == .missing { return nil }
    let range = Int(value.start)..<Int(value.start) + Int(value.count)
    let bytes = value.kind == .unescapedText ? unescaped : document
    return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  func text(_ value: Value) -> String? { withText(value) { String(decoding: $0, as: UTF8.self) } }

  /// Numbers are what they say; texts that say a number are no numbers.
  func number(_ value: Value) -> Double? { value.kind == .number ? text(value).flatMap(Double.init) : nil }

  /// Whether any item has a member of that name.
  public func has(_ name: String) -> Bool { column(name) != nil }

  func column(_ name: String) -> Column? { columns.first { $0.name == name } }

  /// Where the item with an id stands, by the id's text.
  public func index(of id: String) -> Int? {
    guard let id = Int64(id).flatMap({ String($0) == id ? $0 : nil }) else { return nil }
    // Nearly always they count from 1.
    if id >= 1, id <= ids.count, ids[Int(id) - 1] == id { return Int(id) - 1 }
    return ids.firstIndex(of: id)
  }
}

extension JSONTable {
  /// Puts a table together, item by item.
  public struct Builder: Sendable {
    /// Members beyond these are answered, and cannot be searched.
    static let maxColumns = 16

    private var document: [UInt8] = [UInt8(ascii: "[")]
    private var items = 0
    private var ids: [Int64] = []
    private var unescaped: [UInt8] = []
    private var columns: [Column] = []
    private var places: [Range<UInt32>] = []
    private let turn: @Sendable (_ name: String, _ text: String) -> String?

    /// - Parameter turn: another text for a member that is a text, or `nil` to leave it as it is.
    public init(turn: @escaping @Sendable (_ name: String, _ text: String) -> String?) { self.turn = turn }

    /// Makes room at once. Growing bit by bit would leave the smaller places behind; room that is not used costs nothing.
    ///
    /// - Parameter bytes: of all items as they come. Texts that are turned may become longer.
    public mutating func reserve(items: Int, bytes: Int) {
      document.reserveCapacity(bytes + items * 64)
      ids.reserveCapacity(items)
      places.reserveCapacity(items)
      self.items = items
    }

    /// Adds an item, a checked document.
    public mutating func append(id: Int64, _ item: [UInt8]) {
      if !ids.isEmpty { document += [UInt8(ascii: ","), UInt8(ascii: "\n")] }
      let start = UInt32(document.count)
      var copied = 0
      for (index, member) in JSONView(checked: item).members.enumerated() {
        let raw = member.value.rawBytes
        document += item[copied..<raw.startIndex]
        copied = raw.endIndex
        let place = document.count
        var value = member.value
        if value.kind == .string, let turned = value.string.flatMap({ turn(member.key, $0) }) {
          var writer = JSONWriter()
          writer.string(turned)
          document += writer.bytes
          value = JSONView(checked: writer.bytes)
        } else {
          document += raw
        }
        note(member.key, at: index, value, place)
      }
      document += item[copied...]
      places.append(start..<UInt32(document.count))
      ids.append(id)
    }

    /// The table.
    public consuming func finish() -> JSONTable {
      document.append(UInt8(ascii: "]"))
      for index in columns.indices {
        columns[index].values += Array(repeating: Value(), count: ids.count - columns[index].values.count)
      }
      return JSONTable(document: document, ids: ids, unescaped: unescaped, columns: columns, places: places)
    }

    /// Notes where a member's value stands. Items mostly have the same members in the same order.
    private mutating func note(_ name: String, at index: Int, _ view: JSONView, _ place: Int) {
      let column: Int
      if index < columns.count, columns[index].name == name {
        column = index
      } else if let known = columns.firstIndex(where: { $0.name == name }) {
        column = known
      } else {
        guard columns.count < Builder.maxColumns else { return }
        columns.append(Column(name: name, values: []))
        column = columns.count - 1
        columns[column].values.reserveCapacity(items)
      }
      // Of a member that stands twice, the first counts.
      guard columns[column].values.count <= ids.count else { return }
      columns[column].values += Array(repeating: Value(), count: ids.count - columns[column].values.count)
      columns[column].values.append(value(view, place))
    }

    private mutating func value(_ view: JSONView, _ place: Int) -> Value {
      let count = view.rawBytes.count
      switch view.kind {
      case .null: return Value()
      case .number: return Value(kind: .number, start: UInt32(place), count: UInt32(count))
      case .bool, .array, .object: return Value(kind: .other, start: UInt32(place), count: UInt32(count))
      case .string:
        if !view.rawBytes.contains(UInt8(ascii: "\\")) {
          return Value(kind: .text, start: UInt32(place + 1), count: UInt32(count - 2))
        }
        let text = Array((view.string ?? "").utf8)
        let start = unescaped.count
        unescaped += text
        return Value(kind: .unescapedText, start: UInt32(start), count: UInt32(text.count))
      }
    }
  }
}
