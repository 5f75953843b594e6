/// Percent-encoding (RFC 3986, 2.1).
public enum PercentEncoding {
  /// Everything but letters, digits and `-._~` escaped; for one path segment or one query item.
  public static func encode(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 8)
    for byte in text.utf8 { isUnreserved(byte) ? bytes.append(byte) : appendEscape(byte, to: &bytes) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Escapes undone once. `nil` for a bad escape, `%00` and text that is not UTF-8 afterwards.
  public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    decode(bytes: text.utf8, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
  }

  package static func decode(bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      bytes.formIndex(after: &index)
      if byte == UInt8(ascii: "+"), plusIsSpace {
        decoded.append(0x20)
      } else if byte == UInt8(ascii: "%") {
        guard index < bytes.endIndex, let high = ASCII.hexValue(bytes[index]) else { return nil }
        bytes.formIndex(after: &index)
        guard index < bytes.endIndex, let low = ASCII.hexValue(bytes[index]), high | low != 0 else { return nil }
        bytes.formIndex(after: &index)
        decoded.append(high << 4 | low)
      } else {
        decoded.append(byte)
      }
    }
    return decoded
  }

  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }

  static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
    let digits: StaticString = "0123456789ABCDEF"
    bytes.append(UInt8(ascii: "%"))
    bytes.append(digits.utf8Start[Int(byte >> 4)])
    bytes.append(digits.utf8Start[Int(byte & 15)])
  }
}
