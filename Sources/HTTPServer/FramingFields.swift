import HTTP

/// Collects the fields that decide about a message's end and the connection's, and judges them together at the end.
struct FramingFields {
  private var contentLength: Int?
  private var sawTransferEncoding = false
  private var transferEncodingIsChunked = false
  private var sawContentType = false
  private var wantsClose = false

  /// Looks at one field line.
  @inline(__always)
  mutating func note(
    _ field: RequestHead.FieldSpan, of bytes: UnsafeRawBufferPointer, in head: inout RequestHead
  ) throws(HTTPError) {
    let name = UnsafeRawBufferPointer(rebasing: bytes[field.name.range])
    let value = UnsafeRawBufferPointer(rebasing: bytes[field.value.range])
    switch name.count {
    case 4 where ASCII.equalsIgnoringCase(name, "host"):
      guard head.host == nil, Authority.isValid(value) else { throw .badHost }
      head.host = field.value
    case 6 where ASCII.equalsIgnoringCase(name, "expect"):
      if ASCII.equalsIgnoringCase(value, "100-continue") {
        head.expectsContinue = true
      } else {
        head.hasForeignExpectation = true
      }
    case 10 where ASCII.equalsIgnoringCase(name, "connection"):
      if FramingFields.list(value, contains: "close") { wantsClose = true }
    case 12 where ASCII.equalsIgnoringCase(name, "content-type"):
      if sawContentType { throw .badField }
      sawContentType = true
    case 12 where ASCII.equalsIgnoringCase(name, "x-request-id"):
      if head.requestID == nil, RequestID.isAcceptable(value) { head.requestID = field.value }
    case 14 where ASCII.equalsIgnoringCase(name, "content-length"):
      guard contentLength == nil, let length = FramingFields.length(value) else { throw .badFraming }
      contentLength = length
    case 16 where ASCII.equalsIgnoringCase(name, "content-encoding"):
      if !ASCII.equalsIgnoringCase(value, "identity") { head.isCompressed = true }
    case 17 where ASCII.equalsIgnoringCase(name, "transfer-encoding"):
      if sawTransferEncoding { throw .badFraming }
      sawTransferEncoding = true
      transferEncodingIsChunked = ASCII.equalsIgnoringCase(value, "chunked")
    default: break
    }
  }

  /// Decides once all fields are here (RFC 9112, 6.3 and 9.3).
  mutating func finish(_ head: inout RequestHead) throws(HTTPError) {
    if head.host == nil, head.minorVersion >= 1 { throw .badHost }
    if sawTransferEncoding {
      if contentLength != nil || head.minorVersion == 0 { throw .badFraming }
      if !transferEncodingIsChunked { throw .transferCodingUnsupported }
      head.framing = .chunked
    } else if let contentLength, contentLength > 0 {
      head.framing = .length(contentLength)
    }
    head.keepsAlive = head.minorVersion >= 1 && !wantsClose
    if head.minorVersion == 0 || head.framing == .none { head.expectsContinue = false }
    if head.minorVersion == 0 { head.hasForeignExpectation = false }
  }

  /// Digits only: no sign, no blank, no list. Up to 18 of them, which always fit.
  private static func length(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard !bytes.isEmpty, bytes.count <= 18 else { return nil }
    var value = 0
    for byte in bytes {
      guard ASCII.isDigit(byte) else { return nil }
      value = value * 10 + Int(byte - 0x30)
    }
    return value
  }

  private static func list(_ bytes: UnsafeRawBufferPointer, contains token: StaticString) -> Bool {
    bytes.split(separator: UInt8(ascii: ",")).contains { part in
      var part = part
      while let first = part.first, ASCII.isBlank(first) { part.removeFirst() }
      while let last = part.last, ASCII.isBlank(last) { part.removeLast() }
      return ASCII.equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: part), token)
    }
  }
}
