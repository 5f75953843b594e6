import EventLoop
import HTTP

extension HTTPClient.Request {
  /// - Throws: `invalidRequest` when the method, a field or a bound cannot be sent.
  func check() throws(HTTPClient.Failure) {
    guard maxBytes >= 0, timeout > .zero, connectTimeout > .zero else { throw .invalidRequest }
    // `Fields` holds no control characters and only tokens as names, so no line can become two.
    guard Fields.Name(method.rawValue) != nil, !fields.contains(where: { Self.reserved.contains($0.name) }) else {
      throw .invalidRequest
    }
  }

  /// Framing and the host belong to the client; two opinions could make two requests of one.
  private static let reserved: Set<Fields.Name> = [
    .host, .contentLength, .transferEncoding, .connection, .expect, "TE", "Upgrade",
  ]

  /// Header lines in the form libcurl takes: `Name: value`, `Name;` for an empty value, `Name:` to leave one of its own out.
  func headerLines(userAgent: String) -> [String] {
    var lines = fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    if !fields.contains(.userAgent), !userAgent.isEmpty, Fields.isValid(userAgent) {
      lines.append("User-Agent: \(userAgent)")
    }
    if !fields.contains(.contentType) { lines.append("Content-Type:") }
    // Waiting for "100 Continue" would cost a second where the other side does not know it.
    lines.append("Expect:")
    return lines
  }
}

extension Method {
  /// Whether a request without a body says so with `Content-Length: 0` (RFC 9110 8.6).
  var announcesBody: Bool { self == .post || self == .put || self == .patch }
}
