/// One escape sequence in a string (RFC 8259, section 7), judged together with the one after it where surrogates
/// come in pairs.
enum Escape {
  /// A code point, from a sequence of that many bytes. A surrogate pair is one sequence of 12.
  case scalar(UInt32, length: Int)
  /// `\u0000`, or half of a surrogate pair without its other half: 6 bytes.
  case unstorable(length: Int)
  /// Not an escape of JSON, or cut off.
  case malformed

  /// Reads the escape whose backslash is at an offset.
  init(_ text: UnsafeRawBufferPointer, at offset: Int) {
    guard offset + 1 < text.count else {
      self = .malformed
      return
    }
    switch text[offset + 1] {
    case .quote, .backslash, .slash: self = .scalar(UInt32(text[offset + 1]), length: 2)
    case UInt8(ascii: "b"): self = .scalar(0x08, length: 2)
    case UInt8(ascii: "f"): self = .scalar(0x0C, length: 2)
    case UInt8(ascii: "n"): self = .scalar(0x0A, length: 2)
    case UInt8(ascii: "r"): self = .scalar(0x0D, length: 2)
    case UInt8(ascii: "t"): self = .scalar(0x09, length: 2)
    case UInt8(ascii: "u"):
      guard let unit = Self.unit(text, at: offset) else {
        self = .malformed
        return
      }
      switch unit {
      case 0, 0xDC00...0xDFFF: self = .unstorable(length: 6)
      case 0xD800...0xDBFF:
        guard let low = Self.unit(text, at: offset + 6), 0xDC00...0xDFFF ~= low else {
          self = .unstorable(length: 6)
          return
        }
        self = .scalar(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(low & 0x3FF)), length: 12)
      default: self = .scalar(UInt32(unit), length: 6)
      }
    default: self = .malformed
    }
  }

  /// The UTF-16 code unit of a `\uXXXX` at an offset, `nil` if there is none.
  private static func unit(_ text: UnsafeRawBufferPointer, at offset: Int) -> UInt16? {
    guard offset + 6 <= text.count, text[offset] == .backslash, text[offset + 1] == UInt8(ascii: "u") else {
      return nil
    }
    var unit: UInt16 = 0
    for index in offset + 2..<offset + 6 {
      guard let digit = text[index].hexValue else { return nil }
      unit = unit << 4 | digit
    }
    return unit
  }
}
