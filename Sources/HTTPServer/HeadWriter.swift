import HTTP

/// Writes an answer's head (RFC 9112, 4 and 6). `Fields` holds no value that could split it.
enum HeadWriter {
  /// How the body that follows is delimited.
  enum Framing: Equatable {
    /// No body, and none announced: 204, 304.
    case none
    case length(Int)
    case chunked
    /// By the connection's end, for streams to HTTP/1.0 clients.
    case close
  }

  /// Up to and with the empty line.
  static func write(
    _ response: Response, framing: Framing, closes: Bool, date: UnsafeRawBufferPointer, server: [UInt8],
    id: (RequestHead.Span?, Exchange), to out: inout OutputBuffer
  ) {
    if response.status == .ok {
      out.append("HTTP/1.1 200 OK\r\n")
    } else {
      out.append("HTTP/1.1 ")
      out.append(decimal: response.status.code)
      out.append(" ")
      out.append(response.status.phrase)
      out.append("\r\n")
    }
    out.append(date)
    server.withUnsafeBytes { out.append($0) }
    out.append("X-Request-Id: ")
    if let span = id.0 {
      out.append(id.1.bytes(span))
    } else {
      RequestID.write(id.1.idBits, to: out.reserve(RequestID.length))
      out.advance(RequestID.length)
    }
    out.append("\r\n")
    for field in response.fields where !isOurs(field.name) {
      out.append(field.name.description)
      out.append(": ")
      out.append(field.value)
      out.append("\r\n")
    }
    switch framing {
    case .none, .close: break
    case .length(let count):
      out.append("Content-Length: ")
      out.append(decimal: count)
      out.append("\r\n")
    case .chunked: out.append("Transfer-Encoding: chunked\r\n")
    }
    out.append(closes ? "Connection: close\r\n\r\n" : "\r\n")
  }

  /// The fields that the server writes by itself. Told apart by length first, since this runs for each field of each answer.
  @inline(__always)
  private static func isOurs(_ name: Fields.Name) -> Bool {
    switch name.description.utf8.count {
    case 4: name == .date
    case 10: name == .connection
    case 12: name == .xRequestID
    case 14: name == .contentLength
    case 17: name == .transferEncoding
    default: false
    }
  }
}
