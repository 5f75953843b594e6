/// One value of a result, in PostgreSQL's text format, as `ColumnDecodable` types see it. Its bytes are valid only during
/// the call that got it.
public struct Cell {
  /// The text, followed in memory by a zero byte that is not counted; `nil` for NULL.
  public let bytes: UnsafeRawBufferPointer?
  /// The oid of the column's type.
  public let type: UInt32

  /// Why a cell is not what was asked for. The row adds where it was.
  public enum Failure: Error, Sendable {
    /// NULL where a value is needed.
    case null
    /// Not the text of such a value.
    case malformed
    /// A number too large or too small.
    case outOfRange
    /// A column of another type.
    case otherType
  }

  /// The text of a value that must not be NULL.
  public func text() throws(Failure) -> UnsafeRawBufferPointer {
    guard let bytes else { throw .null }
    return bytes
  }
}

/// What a column's value can be decoded to. `Optional` takes NULL; all else refuses it.
public protocol ColumnDecodable {
  /// - Throws: why the cell is not such a value.
  init(decoding cell: Cell) throws(Cell.Failure)
}

extension Optional: ColumnDecodable where Wrapped: ColumnDecodable {
  /// `nil` for NULL.
  public init(decoding cell: Cell) throws(Cell.Failure) {
    self = cell.bytes == nil ? nil : try Wrapped(decoding: cell)
  }
}

extension Array: ColumnDecodable where Element: ArrayDecodable {
  /// An array of one dimension without NULLs; `bytea` or the UTF-8 of any other type for bytes.
  public init(decoding cell: Cell) throws(Cell.Failure) { self = try Element.decodeArray(cell) }
}

/// What can be an element of a decoded array.
public protocol ArrayDecodable {
  /// - Throws: why the cell is not such an array.
  static func decodeArray(_ cell: Cell) throws(Cell.Failure) -> [Self]
}

extension ArrayDecodable where Self: ColumnDecodable {
  /// Reads PostgreSQL's array text and decodes each element. NULL elements are refused unless the element is optional.
  public static func decodeArray(_ cell: Cell) throws(Cell.Failure) -> [Self] {
    var elements: [Self] = []
    var reader = try ArrayReader(cell.text())
    // Elements have no type of their own in the result's description.
    while try reader.next() {
      elements.append(try reader.decode(Self.self))
    }
    return elements
  }
}

extension UInt8: ArrayDecodable {
  /// `bytea` is turned back into the bytes it stands for; any other type gives its text.
  public static func decodeArray(_ cell: Cell) throws(Cell.Failure) -> [UInt8] {
    let text = try cell.text()
    guard cell.type == ParameterType.bytea.rawValue else { return [UInt8](text) }
    guard text.count >= 2, text.count % 2 == 0, text[0] == UInt8(ascii: "\\"), text[1] == UInt8(ascii: "x") else {
      throw .malformed
    }
    var valid = true
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 2 - 1) { buffer, count in
      for index in 0..<(text.count / 2 - 1) {
        let high = Hex.value(text[2 * index + 2])
        let low = Hex.value(text[2 * index + 3])
        valid = valid && high != nil && low != nil
        buffer[index] = (high ?? 0) << 4 | (low ?? 0)
      }
      count = text.count / 2 - 1
    }
    if !valid { throw .malformed }
    return bytes
  }
}
