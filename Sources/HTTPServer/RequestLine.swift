import Glibc
import HTTP

extension RequestHead {
  /// Reads `method SP target SP version` (RFC 9112, 3).
  mutating func readRequestLine(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    guard let first = RequestHead.space(in: bytes, line) else {
      throw line.count > HeadParser.limits.method && bytes[line].allSatisfy(ASCII.isToken)
        ? .methodUnknown : .badRequestLine
    }
    let methodRange = line.lowerBound..<first
    guard !methodRange.isEmpty, bytes[methodRange].allSatisfy(ASCII.isToken),
      let second = RequestHead.space(in: bytes, first + 1..<line.upperBound)
    else { throw .badRequestLine }
    try readVersion(second + 1..<line.upperBound, of: bytes)
    if methodRange.count > HeadParser.limits.method { throw .methodUnknown }
    method = RequestHead.method(UnsafeRawBufferPointer(rebasing: bytes[methodRange]))
    if method == .connect { throw .methodUnknown }  // this is no proxy, and its targets have a form of their own
    try readTarget(first + 1..<second, of: bytes)
  }

  @inline(__always)
  private static func space(in bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
    guard let base = bytes.baseAddress, !range.isEmpty,
      let found = memchr(base + range.lowerBound, 0x20, range.count)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// `HTTP/` digit `.` digit; 1.2 and above count as 1.1 (RFC 9110, 2.5).
  private mutating func readVersion(_ range: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    let at = range.lowerBound
    guard range.count == 8, memcmp(bytes.baseAddress! + at, "HTTP/", 5) == 0, ASCII.isDigit(bytes[at + 5]),
      bytes[at + 6] == UInt8(ascii: "."), ASCII.isDigit(bytes[at + 7])
    else { throw .badRequestLine }
    if bytes[at + 5] != UInt8(ascii: "1") { throw .versionUnsupported }
    minorVersion = min(bytes[at + 7] - UInt8(ascii: "0"), 1)
  }

  private static func method(_ bytes: UnsafeRawBufferPointer) -> Method {
    func spells(_ name: StaticString) -> Bool {
      bytes.count == name.utf8CodeUnitCount && memcmp(bytes.baseAddress!, name.utf8Start, bytes.count) == 0
    }
    if spells("GET") { return .get }
    if spells("POST") { return .post }
    return Method(rawValue: String(decoding: bytes, as: UTF8.self))
  }

  /// Origin form, absolute form, or `*` for OPTIONS (RFC 9112, 3.2).
  private mutating func readTarget(_ range: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    let text = UnsafeRawBufferPointer(rebasing: bytes[range])
    target = Span(range)
    if text.first == UInt8(ascii: "/") {
      if !Target.isValid(text) { throw .badTarget }
    } else if text.count == 1, text[0] == UInt8(ascii: "*") {
      if method != .options { throw .badTarget }
    } else {
      try readAbsoluteForm(range, of: bytes)
    }
  }

  private mutating func readAbsoluteForm(_ range: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    let text = bytes[range]
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), text.endIndex - colon > 3,
      bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/")
    else { throw .badTarget }
    let scheme = UnsafeRawBufferPointer(rebasing: text[..<colon])
    // TLS ends before this server; a client that speaks of https here was sent to the wrong port.
    if ASCII.equalsIgnoringCase(scheme, "https") { throw .misdirected }
    guard ASCII.equalsIgnoringCase(scheme, "http") else { throw .badTarget }
    let rest = text[(colon + 3)...]
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    guard Authority.isValid(UnsafeRawBufferPointer(rebasing: rest[..<end])) else { throw .badTarget }
    authority = Span(rest.startIndex..<end)
    target = Span(end..<range.upperBound)
    if end < range.upperBound, bytes[end] == UInt8(ascii: "/") {
      guard Target.isValid(UnsafeRawBufferPointer(rebasing: bytes[end..<range.upperBound])) else { throw .badTarget }
    } else {
      impliesSlash = true
      let spelled = [UInt8(ascii: "/")] + bytes[end..<range.upperBound]
      guard spelled.withUnsafeBytes(Target.isValid) else { throw .badTarget }
    }
  }
}
