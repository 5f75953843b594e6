extension Int: Bindable, BinaryElement {
  /// `bigint`.
  public static var parameterType: ParameterType { .int8 }
  /// `bigint[]`.
  public static var arrayParameterType: ParameterType { .int8Array }
  /// Adds eight bytes.
  public func bind(to bindings: inout Bindings) { bindings.appendBigEndian(Int64(self), type: .int8) }
  static var elementType: ParameterType { .int8 }
  static func append(_ element: Int, to buffer: inout [UInt8]) { buffer.appendBigEndian(Int64(element)) }
}

extension Int64: Bindable, BinaryElement {
  /// `bigint`.
  public static var parameterType: ParameterType { .int8 }
  /// `bigint[]`.
  public static var arrayParameterType: ParameterType { .int8Array }
  /// Adds eight bytes.
  public func bind(to bindings: inout Bindings) { bindings.appendBigEndian(self, type: .int8) }
  static var elementType: ParameterType { .int8 }
  static func append(_ element: Int64, to buffer: inout [UInt8]) { buffer.appendBigEndian(element) }
}

extension Int32: Bindable, BinaryElement {
  /// `integer`.
  public static var parameterType: ParameterType { .int4 }
  /// `integer[]`.
  public static var arrayParameterType: ParameterType { .int4Array }
  /// Adds four bytes.
  public func bind(to bindings: inout Bindings) { bindings.appendBigEndian(self, type: .int4) }
  static var elementType: ParameterType { .int4 }
  static func append(_ element: Int32, to buffer: inout [UInt8]) { buffer.appendBigEndian(element) }
}

extension Int16: Bindable, BinaryElement {
  /// `smallint`.
  public static var parameterType: ParameterType { .int2 }
  /// `smallint[]`.
  public static var arrayParameterType: ParameterType { .int2Array }
  /// Adds two bytes.
  public func bind(to bindings: inout Bindings) { bindings.appendBigEndian(self, type: .int2) }
  static var elementType: ParameterType { .int2 }
  static func append(_ element: Int16, to buffer: inout [UInt8]) { buffer.appendBigEndian(element) }
}

extension Double: Bindable, BinaryElement {
  /// `double precision`.
  public static var parameterType: ParameterType { .float8 }
  /// `double precision[]`.
  public static var arrayParameterType: ParameterType { .float8Array }
  /// Adds eight bytes.
  public func bind(to bindings: inout Bindings) { bindings.appendBigEndian(bitPattern, type: .float8) }
  static var elementType: ParameterType { .float8 }
  static func append(_ element: Double, to buffer: inout [UInt8]) { buffer.appendBigEndian(element.bitPattern) }
}

extension Bool: Bindable, BinaryElement {
  /// `boolean`.
  public static var parameterType: ParameterType { .bool }
  /// `boolean[]`.
  public static var arrayParameterType: ParameterType { .boolArray }
  /// Adds one byte.
  public func bind(to bindings: inout Bindings) { bindings.appendBigEndian(UInt8(self ? 1 : 0), type: .bool) }
  static var elementType: ParameterType { .bool }
  static func append(_ element: Bool, to buffer: inout [UInt8]) { buffer.append(element ? 1 : 0) }
}

extension String: Bindable, BinaryElement {
  /// Inferred.
  public static var parameterType: ParameterType { .inferred }
  /// `text[]`.
  public static var arrayParameterType: ParameterType { .textArray }
  /// Adds the UTF-8 text; a NUL in it makes the query invalid.
  public func bind(to bindings: inout Bindings) { bindings.appendText(self, type: .inferred) }

  static var elementType: ParameterType { .text }
  static func append(_ element: String, to buffer: inout [UInt8]) { buffer.append(contentsOf: element.utf8) }

  /// Adds the array in binary: PostgreSQL reads a literal of many documents, in which every quote is escaped, several times as
  /// long. A NUL in an element makes the query invalid.
  public static func bind(_ elements: [String], to bindings: inout Bindings) {
    if elements.contains(where: { $0.utf8.contains(0) }) { bindings.refuseZero() }
    bindBinary(elements, to: &bindings)
  }
}

/// `bytea[]`.
extension Array: ArrayBindable where Element == UInt8 {
  /// `bytea[]`.
  public static var arrayParameterType: ParameterType { .byteaArray }
  /// Adds the array of byte strings.
  public static func bind(_ elements: [[UInt8]], to bindings: inout Bindings) {
    ByteString.bind(elements.map(ByteString.init), to: &bindings)
  }
}

/// Bytes as an element of an array.
private struct ByteString: BinaryElement {
  let bytes: [UInt8]
  static var arrayParameterType: ParameterType { .byteaArray }
  static var elementType: ParameterType { .bytea }
  static func append(_ element: ByteString, to buffer: inout [UInt8]) { buffer += element.bytes }
}
