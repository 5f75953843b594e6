import HTTP

/// `host [":" port]`, as in `Host` and in targets in absolute form (RFC 9110, 7.2; RFC 3986, 3.2.2). User names are refused.
enum Authority {
  /// Whether the bytes are a host that is not empty, with or without a port.
  static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.first else { return false }
    let hostEnd: Int
    if first == UInt8(ascii: "[") {
      guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")), bracket > 2 else { return false }
      let inside = bytes[1..<bracket]
      guard inside.contains(UInt8(ascii: ":")),
        inside.allSatisfy({ ASCII.hexValue($0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
      else { return false }
      hostEnd = bracket + 1
    } else {
      var index = 0
      while index < bytes.count, isNameByte(bytes[index]) { index += 1 }
      if index == 0 { return false }
      hostEnd = index
    }
    if hostEnd == bytes.count { return true }
    let port = bytes[(hostEnd + 1)...]
    return bytes[hostEnd] == UInt8(ascii: ":") && port.count <= 5 && port.allSatisfy(ASCII.isDigit)
  }

  /// The host without its port, lowered.
  static func host(_ bytes: UnsafeRawBufferPointer) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let end =
      text.hasPrefix("[")
      ? text.utf8.firstIndex(of: UInt8(ascii: "]")).map { text.utf8.index(after: $0) }
      : text.utf8.firstIndex(of: UInt8(ascii: ":"))
    return ASCII.lowercased(text[..<(end ?? text.endIndex)])
  }

  /// Escapes and the rarer sub-delimiters are in the grammar of names but in no name that exists.
  @inline(__always)
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }
}
