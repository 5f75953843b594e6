import Glibc

/// A 128-bit identifier (RFC 9562), without Foundation.
public struct UUID: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes, as a big-endian number.
  public let high: UInt64
  /// The last eight bytes, as a big-endian number.
  public let low: UInt64

  /// Takes all bits as they are.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A random one (version 4), from the system's random source.
  public init() {
    var generator = SystemRandomNumberGenerator()
    high = generator.next() & ~0xF000 | 0x4000
    low = generator.next() & (UInt64.max >> 2) | 1 << 63
  }

  /// `nil` unless the text is 8-4-4-4-12 hexadecimal digits, of either case.
  public init?(_ text: String) {
    var text = text
    guard let value = text.withUTF8({ UUID(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
    self = value
  }

  init?(utf8: UnsafeRawBufferPointer) {
    guard utf8.count == 36 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    var digits = 0
    for index in 0..<36 {
      let byte = utf8[index]
      if index == 8 || index == 13 || index == 18 || index == 23 {
        if byte != UInt8(ascii: "-") { return nil }
        continue
      }
      guard let digit = Hex.value(byte) else { return nil }
      if digits < 16 { words.0 = words.0 << 4 | UInt64(digit) } else { words.1 = words.1 << 4 | UInt64(digit) }
      digits += 1
    }
    self.init(high: words.0, low: words.1)
  }

  /// Lower-case, 36 characters.
  public var description: String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      var place = 0
      for digit in 0..<32 {
        if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
          buffer[place] = UInt8(ascii: "-")
          place += 1
        }
        let word = digit < 16 ? high : low
        buffer[place] = Hex.digit(UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit & 15))) & 15)
        place += 1
      }
      return place
    }
  }
}

extension UUID: Bindable, BinaryElement {
  /// `uuid`.
  public static var parameterType: ParameterType { .uuid }
  /// `uuid[]`.
  public static var arrayParameterType: ParameterType { .uuidArray }
  /// Adds sixteen bytes.
  public func bind(to bindings: inout Bindings) {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bindings.appendBinary($0, type: .uuid) }
  }
  static var elementType: ParameterType { .uuid }
  static func append(_ element: UUID, to buffer: inout [UInt8]) {
    buffer.appendBigEndian(element.high)
    buffer.appendBigEndian(element.low)
  }
}

/// Hexadecimal digits.
enum Hex {
  @inline(__always)
  static func value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  @inline(__always)
  static func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
}
