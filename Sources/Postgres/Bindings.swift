import Glibc

/// The parameters of a query: one buffer of encoded values, each followed by a zero byte as libpq wants it, and where in it
/// each begins.
public struct Bindings: Sendable {
  struct Entry: Sendable {
    /// Where the value begins in `bytes`.
    var offset: UInt32
    /// In bytes, without the closing zero; -1 for NULL.
    var length: Int32
    /// The parameter's type, 0 to let PostgreSQL infer it.
    var type: UInt32
    /// Where in the SQL text its `$n` stands.
    var place: UInt32
    var isBinary: Bool
  }

  /// Why a query cannot be sent.
  enum Refusal: Sendable {
    case zeroInText(parameter: Int)
    case tooLarge
  }

  private(set) var bytes: [UInt8] = []
  private(set) var entries: [Entry] = []
  private(set) var refusal: Refusal?
  var nextPlace: UInt32 = 0

  /// PostgreSQL's own limit of parameters in one statement.
  static let maximumCount = 65_535
  /// All values of one query together. Far above any request body that is let in.
  static let maximumBytes = 256 << 20

  mutating func reserve(_ count: Int) {
    guard count > 0 else { return }
    entries.reserveCapacity(count)
    bytes.reserveCapacity(count * 12)
  }

  /// Adds NULL.
  public mutating func appendNull(type: ParameterType) {
    entries.append(
      Entry(offset: UInt32(bytes.count), length: -1, type: type.rawValue, place: nextPlace, isBinary: false))
  }

  /// Adds a value in PostgreSQL's text format. Text with a zero byte is refused when the query is sent.
  public mutating func appendText(_ text: UnsafeRawBufferPointer, type: ParameterType) {
    if let base = text.baseAddress, memchr(base, 0, text.count) != nil { refuseZero() }
    append(text, type: type, isBinary: false)
  }

  /// Adds a value in PostgreSQL's text format.
  public mutating func appendText(_ text: String, type: ParameterType) {
    var text = text
    text.withUTF8 { appendText(UnsafeRawBufferPointer($0), type: type) }
  }

  /// Adds a value in PostgreSQL's binary format.
  public mutating func appendBinary(_ value: UnsafeRawBufferPointer, type: ParameterType) {
    append(value, type: type, isBinary: true)
  }

  mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value, type: ParameterType) {
    withUnsafeBytes(of: value.bigEndian) { append($0, type: type, isBinary: true) }
  }

  mutating func append(_ entry: Entry, of other: Bindings) {
    guard entry.length >= 0 else {
      return appendNull(type: ParameterType(rawValue: entry.type))
    }
    other.bytes.withUnsafeBytes { buffer in
      let start = Int(entry.offset)
      append(
        UnsafeRawBufferPointer(rebasing: buffer[start..<start + Int(entry.length)]),
        type: ParameterType(rawValue: entry.type), isBinary: entry.isBinary)
    }
  }

  /// The value that comes next has a zero byte where PostgreSQL takes none.
  mutating func refuseZero() {
    if refusal == nil { refusal = .zeroInText(parameter: entries.count + 1) }
  }

  mutating func adoptRefusal(of other: Bindings) {
    if refusal == nil { refusal = other.refusal }
  }

  private mutating func append(_ value: UnsafeRawBufferPointer, type: ParameterType, isBinary: Bool) {
    guard bytes.count + value.count < Bindings.maximumBytes, entries.count < Bindings.maximumCount else {
      refusal = .tooLarge
      return
    }
    entries.append(
      Entry(
        offset: UInt32(bytes.count), length: Int32(value.count), type: type.rawValue, place: nextPlace,
        isBinary: isBinary))
    bytes.append(contentsOf: value)
    bytes.append(0)
  }
}

/// The oid of a parameter's type.
public struct ParameterType: RawRepresentable, Hashable, Sendable {
  /// As in `pg_type.oid`.
  public let rawValue: UInt32
  /// Takes the oid as it is; only the fixed oids of built-in types are the same in every database.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// PostgreSQL infers the type from where the parameter stands.
  public static let inferred = ParameterType(rawValue: 0)
  static let bool = ParameterType(rawValue: 16)
  static let bytea = ParameterType(rawValue: 17)
  static let int8 = ParameterType(rawValue: 20)
  static let int2 = ParameterType(rawValue: 21)
  static let int4 = ParameterType(rawValue: 23)
  static let text = ParameterType(rawValue: 25)
  static let float8 = ParameterType(rawValue: 701)
  static let timestamptz = ParameterType(rawValue: 1184)
  static let uuid = ParameterType(rawValue: 2950)
  static let boolArray = ParameterType(rawValue: 1000)
  static let int2Array = ParameterType(rawValue: 1005)
  static let int4Array = ParameterType(rawValue: 1007)
  static let textArray = ParameterType(rawValue: 1009)
  static let int8Array = ParameterType(rawValue: 1016)
  static let float8Array = ParameterType(rawValue: 1022)
  static let timestamptzArray = ParameterType(rawValue: 1185)
  static let byteaArray = ParameterType(rawValue: 1001)
  static let uuidArray = ParameterType(rawValue: 2951)
}
