/// Byte classes of RFC 9110 and RFC 3986, tested by hand: `Character` and `lowercased()` know too much Unicode to be safe
/// on the wire (U+212A lowercases to `k`, CRLF is one character).
package enum ASCII {
  /// `A`-`Z` to `a`-`z`; every other byte is itself.
  @inlinable @inline(__always)
  package static func lowercase(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  /// A byte of a token (RFC 9110, 5.6.2).
  @inlinable @inline(__always)
  package static func isToken(_ byte: UInt8) -> Bool {
    // Bits 0x00-0x3F: ! # $ % & ' * + - . 0-9; bits 0x40-0x7F: A-Z ^ _ ` a-z | ~
    let low: UInt64 = 0x03FF_6CFA_0000_0000
    let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
    return byte < 0x40 ? low >> UInt64(byte) & 1 == 1 : byte < 0x80 && high >> UInt64(byte & 0x3F) & 1 == 1
  }

  /// A byte that may stand in a field value: visible, space, tab or above ASCII (RFC 9110, 5.5).
  @inlinable @inline(__always)
  package static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7F : byte == 0x09 }

  /// `0`-`9`.
  @inlinable @inline(__always)
  package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  /// The value of a hexadecimal digit.
  @inlinable @inline(__always)
  package static func hexValue(_ byte: UInt8) -> UInt8? {
    if byte &- 0x30 < 10 { return byte &- 0x30 }
    let letter = byte | 0x20
    return letter &- 0x61 < 6 ? letter &- 0x61 &+ 10 : nil
  }

  /// Space or tab.
  @inlinable @inline(__always)
  package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Whether the bytes spell `lowercased`, in any case.
  @inlinable
  package static func equalsIgnoringCase(_ bytes: UnsafeRawBufferPointer, _ lowercased: StaticString) -> Bool {
    let count = lowercased.utf8CodeUnitCount
    guard bytes.count == count else { return false }
    let other = lowercased.utf8Start
    for index in 0..<count where lowercase(bytes[index]) != other[index] { return false }
    return true
  }

  /// Whether both texts spell the same, in any case of `A`-`Z`.
  package static func equalsIgnoringCase(_ a: String, _ b: String) -> Bool {
    guard a.utf8.count == b.utf8.count else { return false }
    return a == b || zip(a.utf8, b.utf8).allSatisfy { lowercase($0) == lowercase($1) }
  }

  /// `A`-`Z` lowered, all else as it is.
  package static func lowercased(_ text: Substring) -> String {
    String(decoding: text.utf8.map(lowercase), as: UTF8.self)
  }

  /// Without spaces and tabs at both ends.
  package static func trimmed(_ text: Substring) -> Substring {
    var utf8 = text.utf8[...]
    while let first = utf8.first, isBlank(first) { utf8.removeFirst() }
    while let last = utf8.last, isBlank(last) { utf8.removeLast() }
    return Substring(utf8)
  }

  /// A whole number of digits only; values above `Int32.max` are cut there (RFC 9111, 1.2.2).
  package static func deltaSeconds(_ text: Substring) -> Int? {
    guard !text.isEmpty else { return nil }
    var value = 0
    for byte in text.utf8 {
      guard isDigit(byte) else { return nil }
      value = min(value * 10 + Int(byte - 0x30), Int(Int32.max))
    }
    return value
  }
}
