import HTTP

/// A request that the server itself refuses, before or instead of a handler. Handlers may throw it, too.
public enum HTTPError: Error, Hashable, Sendable {
  /// The request line is not `method SP target SP version` (RFC 9112, 3).
  case badRequestLine
  /// The target is not one that `Target` takes, or not in a form that fits the method.
  case badTarget
  /// A field line breaks the grammar, or a field that stands once was repeated (RFC 9112, 5).
  case badField
  /// `Host` is missing, repeated or not a host (RFC 9112, 3.2).
  case badHost
  /// `Content-Length` and `Transfer-Encoding` do not say clearly where the body ends (RFC 9112, 6).
  case badFraming
  /// The body breaks the grammar of chunks (RFC 9112, 7.1).
  case badBody
  /// The client stopped sending before the body's end.
  case truncatedBody
  /// The request line is longer than the limit.
  case requestLineTooLong
  /// A field, all fields or the trailers are larger than their limits.
  case headerSectionTooLarge
  /// The body is larger than the handler takes.
  case bodyTooLarge(limit: Int)
  /// The head or the body came too slowly.
  case timeout
  /// `Transfer-Encoding` is something else than `chunked`.
  case transferCodingUnsupported
  /// The body is compressed.
  case contentCodingUnsupported
  /// No such method is known.
  case methodUnknown
  /// Another major version than HTTP/1.
  case versionUnsupported
  /// `Expect` asks for something else than `100-continue`.
  case expectationUnsupported
  /// The request is for a host or scheme that this server does not serve.
  case misdirected
  /// No route has this path.
  case notFound
  /// Routes with this path take these methods only.
  case methodNotAllowed([Method])
  /// As many requests or connections as the server takes are being served.
  case overloaded
  /// A handler failed.
  case internalError
  /// The client has gone; no answer can reach it.
  case disconnected

  /// The answer's status.
  public var status: Status { facts.0 }

  /// A stable name, such as `http/bad-target`.
  public var code: String { "http/\(facts.1)" }

  /// One sentence for the client.
  public var detail: String { facts.2 }

  /// Whether the connection ends with the answer, because where the next request begins is not certain or not wanted.
  public var closesConnection: Bool {
    switch self {
    case .notFound, .methodNotAllowed, .methodUnknown, .expectationUnsupported, .contentCodingUnsupported,
      .internalError:
      false
    default: true
    }
  }

  /// Seconds after which the client may try again, where that makes sense.
  public var retryAfter: Int? { self == .overloaded ? 1 : nil }

  private var facts: (Status, String, String) {
    switch self {
    case .badRequestLine: (.badRequest, "bad-request-line", "The request line cannot be read.")
    case .badTarget: (.badRequest, "bad-target", "The request target is not valid.")
    case .badField: (.badRequest, "bad-field", "A header field is not valid.")
    case .badHost: (.badRequest, "bad-host", "The request needs exactly one valid Host field.")
    case .badFraming: (.badRequest, "bad-framing", "The length of the body is not clear.")
    case .badBody: (.badRequest, "bad-body", "The body's chunks cannot be read.")
    case .truncatedBody: (.badRequest, "truncated-body", "The body ended too early.")
    case .requestLineTooLong: (.uriTooLong, "request-line-too-long", "The request line is too long.")
    case .headerSectionTooLarge: (.requestHeaderFieldsTooLarge, "header-too-large", "The header fields are too large.")
    case .bodyTooLarge(let limit): (.contentTooLarge, "body-too-large", "The body may have \(limit) bytes.")
    case .timeout: (.requestTimeout, "timeout", "The request took too long to arrive.")
    case .transferCodingUnsupported:
      (.notImplemented, "transfer-coding-unsupported", "The only transfer coding taken is chunked.")
    case .contentCodingUnsupported:
      (.unsupportedMediaType, "content-coding-unsupported", "Bodies must not be compressed.")
    case .methodUnknown: (.notImplemented, "method-unknown", "The method is not known.")
    case .versionUnsupported: (.httpVersionNotSupported, "version-unsupported", "This server speaks HTTP/1.1.")
    case .expectationUnsupported: (.expectationFailed, "expectation-unsupported", "Only 100-continue can be expected.")
    case .misdirected: (.misdirectedRequest, "misdirected", "This server does not serve that host.")
    case .notFound: (.notFound, "not-found", "There is nothing at this path.")
    case .methodNotAllowed: (.methodNotAllowed, "method-not-allowed", "The path does not take this method.")
    case .overloaded: (.serviceUnavailable, "overloaded", "The server is busy.")
    case .internalError: (.internalServerError, "internal", "Something went wrong here.")
    case .disconnected: (.badRequest, "disconnected", "The client has gone.")
    }
  }

  /// The answer as a problem document, with the fields that belong to it: `Retry-After`, `Allow`, `Accept-Encoding`.
  public func response(requestID: String) -> Response {
    var problem = Problem(status, code: code, detail: detail)
    problem.requestID = requestID
    problem.retryAfter = retryAfter
    var response = Response(problem)
    addFields(to: &response)
    return response
  }

  /// Adds `Allow` and `Accept-Encoding` where the status demands them, for answers that were built elsewhere.
  public func addFields(to response: inout Response) {
    if case .methodNotAllowed(let methods) = self {
      response.fields.set(.allow, methods.map(\.rawValue).joined(separator: ", "))
    }
    if self == .contentCodingUnsupported { response.fields.set(.acceptEncoding, "identity") }
  }
}
