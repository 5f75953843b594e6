import HTTP

/// An answer. The server adds `Date`, `X-Request-Id` and the framing fields; those are ignored when a handler sets them,
/// except for `Connection: close`, which is obeyed.
public struct Response: Sendable {
  /// What follows the head.
  public enum Body: Sendable {
    /// Nothing.
    case none
    /// These bytes, sent without copying them once they are large.
    case bytes([UInt8])
    /// These pieces, one after the other, sent from where they lie once they are large: nothing is put together first.
    case pieces([[UInt8]])
    /// A text of the program itself.
    case constant(StaticString)
    /// Bytes that come bit by bit, in chunks. The producer runs once the head is sent; when it throws, the connection is cut
    /// so that the client sees that something is missing. It does not run for `HEAD`.
    case stream(ResponseStream.Producer)
  }

  /// The status.
  public var status: Status
  /// All fields but those the server adds.
  public var fields: Fields
  /// What follows the head. Left out for `HEAD`, 204 and 304.
  public var body: Body

  /// An answer with any status.
  public init(_ status: Status, _ fields: Fields = [:], _ body: Body = .none) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// Bytes with a media type.
  public init(_ status: Status = .ok, contentType: String, _ bytes: [UInt8]) {
    self.init(status, [.contentType: contentType], .bytes(bytes))
  }

  /// A JSON document.
  public static func json(_ bytes: [UInt8], status: Status = .ok) -> Response {
    Response(status, [.contentType: "application/json"], .bytes(bytes))
  }

  /// UTF-8 text.
  public static func text(_ text: String, status: Status = .ok) -> Response {
    Response(status, contentType: "text/plain; charset=utf-8", Array(text.utf8))
  }

  /// An error document, with `Retry-After` when it has one.
  public init(_ problem: Problem) {
    self.init(problem.status, contentType: Problem.contentType, problem.bytes)
    if let seconds = problem.retryAfter { fields.set(.retryAfter, String(seconds)) }
  }
}

/// Answers a request. Runs on the loop of the request's connection; must not block it.
public typealias Handler = @Sendable (Request) async throws -> Response

/// Answers a request out of what is at hand: waits for nobody, reads no body, streams nothing.
public typealias ImmediateHandler = @Sendable (Request) throws -> Response
