import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/v1/favorites`: an account's own list.
struct FavoriteEndpoints: Sendable {
  static let maxBody = 64 << 10
  static let maxPageSize = 200
  let services: Services

  /// `GET /v1/favorites?kind=&q=&tag=&collection=&sort=&facets=&limit=&cursor=`.
  func list(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let parameters = Parameters(request.target)
    var list = FavoriteList()
    list.kind = try parameters.choice("kind", of: Favorite.Kind.self)
    list.text = try parameters.text("q")
    list.tag = try parameters.text("tag", maxLength: 400)
    list.collection = try FavoriteEndpoints.collection(parameters)
    list.sort = try parameters.choice("sort", of: Favorite.Sort.self) ?? .newestFirst
    let wantsFacets = try parameters.choice("facets", of: ["0", "1"]) == "1"
    list.limit = try parameters.positive("limit", default: 50, max: FavoriteEndpoints.maxPageSize)
    if let cursor = parameters.cursor, !cursor.isEmpty {
      // The token's hash keeps one account's cursors from being another's.
      guard let after = services.cursors.decode(cursor, scope: scope(list, token)) else {
        throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.")
      }
      list.after = after
    }
    guard let page = try await services.favorites.page(of: list, token: token) else { throw APIError.badCredentials }
    var writer = JSONWriter(capacity: 64 + 512 * page.count)
    writer.beginObject()
    writer.key("items")
    writer.beginArray()
    page.forEachDocument { writer.raw($0) }
    writer.endArray()
    writer.key("next")
    if let next = page.next {
      writer.string(services.cursors.encode(next, scope: scope(list, token)))
    } else {
      writer.null()
    }
    if wantsFacets {
      guard let facets = try await services.favorites.facets(of: list, token: token) else {
        throw APIError.badCredentials
      }
      writer.key("facets")
      FavoriteEndpoints.write(facets, to: &writer)
    }
    writer.endObject()
    return Answers.document(writer.bytes, for: request)
  }

  /// `GET /v1/favorites/{kind}/{id}`.
  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let (kind, id) = try await subject(of: request, token: token)
    switch try await services.favorites.item(kind, id, token: token) {
    case .nobody: throw APIError.badCredentials
    case .missing: throw FavoriteProblem.missing
    case .found(let document, let version): return Answers.document(document, for: request, tag: tag(version))
    }
  }

  /// `PUT /v1/favorites/{kind}/{id}`: 201, then 200; twice is once.
  func put(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let expected = try expectedVersions(request)
    let bytes = try await request.body(limit: FavoriteEndpoints.maxBody)
    let change = bytes.isEmpty ? Favorite.Change() : try FavoriteBody.read(bytes)
    let (kind, id) = try await resolvedSubject(of: request, token: token)
    let outcome = try await services.favorites.put(kind, id, change, expected: expected, token: token)
    switch outcome {
    case nil: throw APIError.badCredentials
    case .created(let document, let version): return answer(document, version, .created)
    case .kept(let document, let version): return answer(document, version, .ok)
    case .conflict(let document, let version): return conflict(document, version, request)
    }
  }

  /// `DELETE /v1/favorites/{kind}/{id}`: 204, also when it was not there.
  func remove(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let expected = try expectedVersions(request)
    let (kind, id) = try await subject(of: request, token: token)
    switch try await services.favorites.remove(kind, id, expected: expected, token: token) {
    case .nobody: throw APIError.badCredentials
    case .missing where expected == Favorites.anyVersion: return conflict(nil, nil, request)
    case .removed, .missing: return Response(.noContent, [.cacheControl: "no-store"])
    case .conflict(let document, let version): return conflict(document, version, request)
    }
  }

  // MARK: Versions

  private func scope(_ list: FavoriteList, _ token: [UInt8]) -> String {
    list.scope + String(decoding: token.map { 0x41 + $0 % 16 }, as: UTF8.self)
  }

  func tag(_ version: Int64) -> EntityTag? { EntityTag(opaque: "v\(version)") }

  func expectedVersions(_ request: Request) throws -> [Int64]? {
    guard let text = request[joined: .ifMatch] else { return nil }
    switch EntityTag.Condition(text) {
    case .any: return Favorites.anyVersion
    case .oneOf(let tags):
      return tags.filter { !$0.isWeak && $0.opaque.hasPrefix("v") }.compactMap {
        // A collection's tag has the number of its items behind a dot.
        Int64($0.opaque.dropFirst().prefix { $0 != "." })
      }
      .filter { $0 > 0 }
    }
  }

  func answer(_ document: [UInt8], _ version: Int64, _ status: Status) -> Response {
    var response = Answers.unstored(document, status: status)
    response.fields.set(.cacheControl, "private, no-cache")
    if let tag = tag(version) { response.fields.set(.etag, tag.description) }
    return response
  }

  /// 412 with the server's copy, so that the client can merge.
  func conflict(
    _ document: [UInt8]?, _ version: Int64?, _ request: Request, status: Status = .preconditionFailed,
    code: String = "favorites/version-conflict", detail: String = "The item has changed since it was read."
  ) -> Response {
    var problem = Problem(status, code: code, detail: detail)
    problem.requestID = request.id
    var writer = JSONWriter()
    var head = JSONWriter()
    problem.write(to: &head)
    head.bytes.withUnsafeBytes { bytes in
      writer.rawObject(bytes) { writer in
        writer.key("server")
        if let document { writer.raw(document) } else { writer.null() }
      }
    }
    var response = Response(status, contentType: Problem.contentType, writer.bytes)
    response.fields.set(.cacheControl, "no-store")
    response.fields.set(.xContentTypeOptions, "nosniff")
    if let version, let tag = tag(version) { response.fields.set(.etag, tag.description) }
    return response
  }
}
