/// What can stand in an interpolation of a `Query`.
public protocol Bindable {
  /// The type that PostgreSQL is told.
  static var parameterType: ParameterType { get }
  /// Adds exactly one value.
  func bind(to bindings: inout Bindings)
}

/// What can stand in a PostgreSQL array of one dimension.
public protocol ArrayBindable {
  /// The array's type.
  static var arrayParameterType: ParameterType { get }
  /// Adds the whole array as one value.
  static func bind(_ elements: [Self], to bindings: inout Bindings)
}

extension Array: Bindable where Element: ArrayBindable {
  /// The array's type; `bytea` for bytes.
  public static var parameterType: ParameterType { Element.arrayParameterType }
  /// Adds the array as one value.
  public func bind(to bindings: inout Bindings) { Element.bind(self, to: &bindings) }
}

extension UInt8: ArrayBindable {
  /// `bytea`.
  public static var arrayParameterType: ParameterType { .bytea }
  /// Adds the bytes as they are.
  public static func bind(_ elements: [UInt8], to bindings: inout Bindings) {
    elements.withUnsafeBytes { bindings.appendBinary($0, type: .bytea) }
  }
}

/// A value of which every representation in binary arrays is its representation alone.
protocol BinaryElement: ArrayBindable {
  static var elementType: ParameterType { get }
  static func append(_ element: Self, to buffer: inout [UInt8])
}

extension BinaryElement {
  /// Adds the array in PostgreSQL's binary format (`array_send`): dimensions, flags, element type, length and lower bound,
  /// then each element after its size.
  public static func bind(_ elements: [Self], to bindings: inout Bindings) { bindBinary(elements, to: &bindings) }

  static func bindBinary(_ elements: [Self], to bindings: inout Bindings) {
    var buffer: [UInt8] = []
    buffer.reserveCapacity(20 + elements.count * 12)
    buffer.appendBigEndian(Int32(elements.isEmpty ? 0 : 1))
    buffer.appendBigEndian(Int32(0))
    buffer.appendBigEndian(elementType.rawValue)
    if !elements.isEmpty {
      buffer.appendBigEndian(Int32(clamping: elements.count))
      buffer.appendBigEndian(Int32(1))
    }
    for element in elements {
      let start = buffer.count
      buffer.appendBigEndian(Int32(0))
      append(element, to: &buffer)
      let size = UInt32(clamping: buffer.count - start - 4)
      for index in 0..<4 { buffer[start + index] = UInt8(truncatingIfNeeded: size >> UInt32(24 - 8 * index)) }
    }
    buffer.withUnsafeBytes { bindings.appendBinary($0, type: arrayParameterType) }
  }
}

extension [UInt8] {
  mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}

/// A JSON document, sent untyped, so that it fits `jsonb`, `json` and `text` columns alike. Not checked here.
public struct JSON: Bindable, Sendable {
  /// The text, UTF-8.
  public let bytes: [UInt8]
  /// Takes the text as it is.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  /// Inferred.
  public static var parameterType: ParameterType { .inferred }
  /// Adds the text.
  public func bind(to bindings: inout Bindings) {
    bytes.withUnsafeBytes { bindings.appendText($0, type: .inferred) }
  }
}
