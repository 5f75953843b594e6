/// Well-formed UTF-8 by the table of RFC 3629, section 4.
enum UTF8Sequence {
  /// The length of the well-formed sequence of two to four bytes at an address, 0 if there is none.
  @inline(__always)
  static func length(_ bytes: UnsafePointer<UInt8>, available: Int) -> Int {
    let lead = bytes[0]
    switch lead {
    case 0xC2...0xDF: return available >= 2 && isTail(bytes[1]) ? 2 : 0
    case 0xE0...0xEF:
      guard available >= 3, isTail(bytes[1]), isTail(bytes[2]) else { return 0 }
      // E0 would be overlong below A0; ED is a surrogate from A0 on.
      if lead == 0xE0 { return bytes[1] >= 0xA0 ? 3 : 0 }
      if lead == 0xED { return bytes[1] < 0xA0 ? 3 : 0 }
      return 3
    case 0xF0...0xF4:
      guard available >= 4, isTail(bytes[1]), isTail(bytes[2]), isTail(bytes[3]) else { return 0 }
      // F0 would be overlong below 90; F4 is past U+10FFFF from 90 on.
      if lead == 0xF0 { return bytes[1] >= 0x90 ? 4 : 0 }
      if lead == 0xF4 { return bytes[1] < 0x90 ? 4 : 0 }
      return 4
    default: return 0
    }
  }

  @inline(__always)
  private static func isTail(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

  /// Appends a Unicode scalar value.
  static func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
    switch scalar {
    case 0..<0x80: bytes.append(UInt8(scalar))
    case 0x80..<0x800:
      bytes.append(UInt8(0xC0 | scalar >> 6))
      bytes.append(UInt8(0x80 | scalar & 0x3F))
    case 0x800..<0x10000:
      bytes.append(UInt8(0xE0 | scalar >> 12))
      bytes.append(UInt8(0x80 | scalar >> 6 & 0x3F))
      bytes.append(UInt8(0x80 | scalar & 0x3F))
    default:
      bytes.append(UInt8(0xF0 | scalar >> 18))
      bytes.append(UInt8(0x80 | scalar >> 12 & 0x3F))
      bytes.append(UInt8(0x80 | scalar >> 6 & 0x3F))
      bytes.append(UInt8(0x80 | scalar & 0x3F))
    }
  }
}
