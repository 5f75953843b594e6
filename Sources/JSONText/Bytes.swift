/// The bytes JSON's grammar gives a meaning to (RFC 8259, section 2).
extension UInt8 {
  @usableFromInline static var quote: UInt8 { 0x22 }
  @usableFromInline static var comma: UInt8 { 0x2C }
  @usableFromInline static var colon: UInt8 { 0x3A }
  @usableFromInline static var backslash: UInt8 { 0x5C }
  @usableFromInline static var openBrace: UInt8 { 0x7B }
  @usableFromInline static var closeBrace: UInt8 { 0x7D }
  @usableFromInline static var openBracket: UInt8 { 0x5B }
  @usableFromInline static var closeBracket: UInt8 { 0x5D }
  static var slash: UInt8 { 0x2F }
  static var minus: UInt8 { 0x2D }
  static var plus: UInt8 { 0x2B }
  static var dot: UInt8 { 0x2E }
  static var zero: UInt8 { 0x30 }

  /// Space, tab, line feed or carriage return: all the whitespace JSON knows.
  @inline(__always)
  var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

  @inline(__always)
  var isDigit: Bool { self &- 0x30 < 10 }

  /// The value of a hexadecimal digit of either case.
  @inline(__always)
  var hexValue: UInt16? {
    switch self {
    case 0x30...0x39: UInt16(self &- 0x30)
    case 0x41...0x46: UInt16(self &- 0x41 &+ 10)
    case 0x61...0x66: UInt16(self &- 0x61 &+ 10)
    default: nil
    }
  }
}

/// Eight bytes looked at together. Each test sets the high bit of matching bytes; a false match can only stand
/// above a true one, so the lowest set bit is always right on a little-endian machine.
enum Word {
  static let ones: UInt64 = 0x0101_0101_0101_0101
  static let highs: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  static func load(_ base: UnsafePointer<UInt8>, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self))
  }

  @inline(__always)
  static func matches(_ word: UInt64, _ byte: UInt8) -> UInt64 {
    let difference = word ^ (ones &* UInt64(byte))
    return (difference &- ones) & ~difference & highs
  }

  /// Bytes that need a closer look inside a string: quote, backslash, control characters.
  @inline(__always)
  static func needingEscape(_ word: UInt64) -> UInt64 {
    let controls = (word &- (ones &* 0x20)) & ~word & highs
    return controls | matches(word, .quote) | matches(word, .backslash)
  }

  /// The index of the first byte a test matched.
  @inline(__always)
  static func firstIndex(_ matches: UInt64) -> Int { matches.trailingZeroBitCount >> 3 }
}
