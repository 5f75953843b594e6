import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// `/v1/sessions`: the account's devices, and signing them out.
struct SessionEndpoints: Sendable {
  static let maxPageSize = 200
  let services: Services

  /// `GET /v1/sessions?limit=&cursor=`.
  func list(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let parameters = Parameters(request.target)
    let limit = try parameters.positive("limit", default: 50, max: SessionEndpoints.maxPageSize)
    // The token's hash keeps one account's cursors from being another's.
    let scope = "sessions\n" + token.map { String($0) }.joined(separator: ".")
    var after: [String]?
    if let cursor = parameters.cursor, !cursor.isEmpty {
      after = services.cursors.decode(cursor, scope: scope)
      if after == nil { throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.") }
    }
    guard let page = try await services.accounts.sessions(of: token, after: after, limit: limit) else {
      throw APIError.badCredentials
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("items")
    writer.beginArray()
    for session in page.sessions { SessionEndpoints.write(session, to: &writer) }
    writer.endArray()
    writer.key("next")
    if let next = page.next { writer.string(services.cursors.encode(next, scope: scope)) } else { writer.null() }
    writer.endObject()
    return Answers.document(writer.bytes, for: request)
  }

  /// `DELETE /v1/sessions/{id}`, and `/v1/sessions/current` for the one that asks.
  func remove(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let id = request.parameters["id"].flatMap({ UUID($0) }) else {
      throw SessionEndpoints.missing
    }
    return try await remove(id, token, request)
  }

  func removeCurrent(_ request: Request) async throws -> Response {
    try await remove(nil, try Authorization.tokenHash(of: request), request)
  }

  private static let missing = APIError(.notFound, "sessions/not-found", "No such device is signed in.")

  private func remove(_ id: UUID?, _ token: [UInt8], _ request: Request) async throws -> Response {
    switch try await services.accounts.revoke(id, token: token) {
    case .nobody: throw APIError.badCredentials
    case .missing: throw SessionEndpoints.missing
    case .revoked(let isCurrent):
      var response = Response(.noContent, [.cacheControl: "no-store"])
      if isCurrent { services.browsers.clear(in: &response, to: request) }
      return response
    }
  }

  private static func write(_ session: Accounts.Session, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("id")
    writer.string(session.id.description)
    writer.key("device")
    writer.string(session.device.name)
    writer.key("app")
    writer.string(session.device.app)
    writer.key("hint")
    writer.string(session.hint)
    writer.key("browser")
    writer.bool(session.isBrowser)
    writer.key("current")
    writer.bool(session.isCurrent)
    writer.key("scopes")
    writer.beginArray()
    for scope in session.scopes { writer.string(scope) }
    writer.endArray()
    writer.key("created_at")
    writer.string(Timestamp(microseconds: session.createdAt.microseconds).description)
    writer.key("last_seen_at")
    writer.string(Timestamp(microseconds: session.lastSeenAt.microseconds).description)
    writer.key("expires_at")
    if let end = session.expiresAt {
      writer.string(Timestamp(microseconds: end.microseconds).description)
    } else {
      writer.null()
    }
    writer.key("sync_version")
    if let version = session.syncVersion { writer.int(version) } else { writer.null() }
    writer.key("lag")
    if let lag = session.lag { writer.int(lag) } else { writer.null() }
    writer.endObject()
  }
}
