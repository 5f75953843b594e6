import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// `Idempotency-Key` on any POST (draft-ietf-httpapi-idempotency-key-header-07): the same key with the same request is answered
/// as before, for a day.
///
/// The header means nothing on requests that hand out tokens: their answers are not kept anywhere, and whose they are is not
/// known before they are answered.
struct IdempotencyMiddleware: Sendable {
  /// Bytes of a body at most; the whole of it is looked at before the handler is.
  static let maxBody = 1 << 20
  static let largeBodies = ["/v1/account/import": 16 << 20]
  static let withoutKeys: Set<String> = [
    "/v1/accounts", "/v1/invitations/redeem", "/v1/sessions", "/v1/account/restore",
  ]

  /// Routes whose handlers write at most once, by `Database.queryWithKey`: the answer is stored in the same transaction. The others
  /// do nothing twice when they are run twice: an import finds what it has brought, a refresh joins the one under way.
  static let singleWrites: Set<String> = [
    "/v1/sync", "/v1/collections", "/v1/activity", "/v1/favorites/{kind}/{id}/restore",
  ]

  private let services: Services
  private let keys: Idempotency
  /// Large bodies that are looked at, at once.
  private let places = TransferEndpoints.Places(count: 2)

  init(services: Services) {
    self.services = services
    keys = services.idempotency
  }

  /// Around every handler.
  @Sendable
  func run(_ request: Request, _ next: Handler) async throws -> Response {
    guard request.method == .post, request.withValue(of: .idempotencyKey, { $0 != nil }),
      let pattern = request.pattern, !IdempotencyMiddleware.withoutKeys.contains(pattern)
    else { return try await next(request) }
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: pattern.hasPrefix("/github/"))
    let text = try IdempotencyMiddleware.key(of: request)
    var limit = IdempotencyMiddleware.maxBody
    var place: TransferEndpoints.Places.Place?
    defer { withExtendedLifetime(place) {} }
    if let large = IdempotencyMiddleware.largeBodies[pattern] {
      guard try await services.favorites.mayWrite(token: token) else { throw APIError.badCredentials }
      place = places.take()
      if place == nil { throw TransferEndpoints.busy }
      limit = large
    }
    let key = Idempotency.Key(
      text, route: "POST \(pattern)", target: request.target.description, body: try await request.body(limit: limit))
    switch try await keys.begin(key, token: token) {
    case .nobody: throw APIError.badCredentials
    case .mismatch:
      throw APIError(
        .unprocessableContent, "request/idempotency-mismatch", "Another request was sent under this Idempotency-Key.")
    case .running: throw IdempotencyMiddleware.running
    case .full:
      var problem = Problem(
        .tooManyRequests, code: "request/too-many-keys", detail: "Too many Idempotency-Keys were used within a day.")
      problem.retryAfter = 3_600
      throw APIError(problem)
    case .answered(let answer): return Response(replaying: answer)
    case .started(let claim):
      return try await answer(request, next, claim, isOneWrite: IdempotencyMiddleware.singleWrites.contains(pattern))
    }
  }

  private func answer(
    _ request: Request, _ next: Handler, _ claim: IdempotencyClaim, isOneWrite: Bool
  ) async throws -> Response {
    let response: Response
    do {
      response =
        isOneWrite
        ? try await keys.answering(claim) {
          let response = try await next(request)
          let isKept = IdempotencyMiddleware.isFinal(response.status)
          return (response, isKept ? Idempotency.Answer(response) : nil)
        } : try await next(request)
    } catch {
      guard error is APIError || error is JSONObjectReader.Refusal || error is Accepted || error is PostgresError else {
        try? await keys.forget(claim)
        throw error
      }
      let refusal = ErrorResponses.response(to: error, request)
      // A failure of ours is for the log; it, and what may be otherwise the next time, is not kept.
      if !IdempotencyMiddleware.isFinal(refusal.status) {
        try? await keys.forget(claim)
        throw error
      }
      response = refusal
    }
    guard IdempotencyMiddleware.isFinal(response.status), let answer = Idempotency.Answer(response) else {
      try? await keys.forget(claim)
      return response
    }
    try await keys.store(answer, claim)
    return response
  }

  /// Also for one that was taken for dead and has woken up: what it wrote together with its answer is undone.
  static let running = {
    var problem = Problem(
      .conflict, code: "request/idempotency-running", detail: "The first request under this Idempotency-Key still runs."
    )
    problem.retryAfter = 1
    return APIError(problem)
  }()

  /// Whether a retry should get the same. Not when it was about rights, time, or our own state.
  private static func isFinal(_ status: Status) -> Bool {
    switch status.code {
    case 401, 403, 408, 409, 429, 500...: false
    default: true
    }
  }

  /// 1 to 255 visible ASCII characters, in quotes as a structured field has them (RFC 9651, 3.3.3), or bare.
  private static func key(of request: Request) throws(APIError) -> String {
    let values = request.fields[values: .idempotencyKey]
    var text = values.first ?? ""
    if text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = String(text.dropFirst().dropLast()) }
    guard values.count == 1, (1...Idempotency.Key.maxLength).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    else {
      throw APIError(
        .badRequest, "request/invalid-idempotency-key",
        "An Idempotency-Key has 1 to \(Idempotency.Key.maxLength) visible ASCII characters, and stands once.")
    }
    return text
  }
}

extension Idempotency.Answer {
  /// What is kept of an answer; `nil` when that is too long, or comes bit by bit.
  init?(_ response: Response) {
    var bytes: [UInt8] = []
    switch response.body {
    case .none: break
    case .bytes(let all): bytes = all
    case .pieces(let pieces): bytes = Array(pieces.joined())
    case .constant(let text): bytes = text.withUTF8Buffer { Array($0) }
    case .stream: return nil
    }
    var fields: [String] = []
    // No cookie is ever given a second time.
    for field in response.fields where field.name != .setCookie { fields += [field.name.description, field.value] }
    self.init(status: response.status.code, fields: fields, body: bytes)
  }
}

extension Response {
  /// The answer of before, which says that it is that.
  fileprivate init(replaying answer: Idempotency.Answer) {
    self.init(Status(answer.status), [:], answer.body.isEmpty ? .none : .bytes(answer.body))
    for index in stride(from: 0, to: answer.fields.count - 1, by: 2) {
      if let name = Fields.Name(answer.fields[index]) { fields.append(name, answer.fields[index + 1]) }
    }
    fields.set("Idempotency-Replayed", "true")
  }
}
