import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/v1/collections`: named collections of an account's favorites.
struct CollectionEndpoints: Sendable {
  static let maxBody = 16 << 10
  let services: Services

  private var favorites: FavoriteEndpoints { FavoriteEndpoints(services: services) }

  /// `GET /v1/collections?limit=&cursor=`: by rank, then name.
  func list(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let parameters = Parameters(request.target)
    let limit = try parameters.positive("limit", default: 50, max: FavoriteEndpoints.maxPageSize)
    let scope = "collections" + String(decoding: token.map { 0x41 + $0 % 16 }, as: UTF8.self)
    var after: [String]?
    if let cursor = parameters.cursor, !cursor.isEmpty {
      after = services.cursors.decode(cursor, scope: scope)
      if after == nil {
        throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.")
      }
    }
    guard let page = try await services.collections.page(limit: limit, after: after, token: token) else {
      throw APIError.badCredentials
    }
    var writer = JSONWriter(capacity: 64 + 256 * page.items.count)
    writer.beginObject()
    writer.key("items")
    writer.beginArray()
    for item in page.items { CollectionEndpoints.write(item, to: &writer) }
    writer.endArray()
    writer.key("next")
    if let next = page.next { writer.string(services.cursors.encode(next, scope: scope)) } else { writer.null() }
    writer.endObject()
    return Answers.document(writer.bytes, for: request)
  }

  /// `GET /v1/collections/{id}`.
  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let id = try CollectionEndpoints.id(of: request)
    guard case .found(let item) = try await existing(services.collections.item(id, token: token)) else {
      throw FavoriteProblem.noCollection
    }
    var writer = JSONWriter()
    CollectionEndpoints.write(item, to: &writer)
    return Answers.document(writer.bytes, for: request, tag: CollectionEndpoints.tag(item))
  }

  /// `POST /v1/collections`: 201, and 200 when the very same is there under the id that the app has made up.
  func create(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let bytes = try await request.body(limit: CollectionEndpoints.maxBody)
    let (id, name, rank) = try JSONObjectReader.read(bytes) { body in
      let name = CollectionEndpoints.name(body.required("name", as: String.self), in: &body)
      let rank = CollectionEndpoints.rank(in: &body)
      var id: Collections.ID?
      if let text = body.optional("id", as: String.self) {
        id = Collections.ID(text)
        if id == nil { body.refuse("id", "must be as in 0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e") }
      }
      return (id ?? Collections.ID(), name ?? "", rank ?? "")
    }
    switch try await existing(services.collections.create(id, name: name, rank: rank, token: token)) {
    case .created(let item):
      var response = answer(item, .created)
      response.fields.set(.location, "/v1/collections/\(id)")
      return response
    case .found(let item): return answer(item, .ok)
    case .conflict(let item): return conflict(item, .conflict, "collections/exists", request)
    case .nobody, .missing: throw FavoriteProblem.noCollection
    }
  }

  /// `PATCH /v1/collections/{id}`: name and rank.
  func change(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let expected = try favorites.expectedVersions(request)
    let bytes = try await request.body(limit: CollectionEndpoints.maxBody)
    let (name, rank) = try JSONObjectReader.read(bytes) { body in
      let name = CollectionEndpoints.name(body.has("name") ? body.required("name", as: String.self) : nil, in: &body)
      let rank = CollectionEndpoints.rank(in: &body)
      return (name, body.raw("rank")?.isNull == true ? "" : rank)
    }
    let id = try CollectionEndpoints.id(of: request)
    let outcome = try await services.collections.change(id, name: name, rank: rank, expected: expected, token: token)
    switch try existing(outcome) {
    case .found(let item), .created(let item): return answer(item, .ok)
    case .conflict(let item): return conflict(item, .preconditionFailed, "collections/version-conflict", request)
    case .nobody, .missing: throw FavoriteProblem.noCollection
    }
  }

  /// `DELETE /v1/collections/{id}`: 204, also when it was not there. What was in it stays a favorite.
  func remove(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let expected = try favorites.expectedVersions(request)
    let id = try CollectionEndpoints.id(of: request)
    switch try await services.collections.remove(id, expected: expected, token: token) {
    case .nobody: throw APIError.badCredentials
    case .conflict(let item): return conflict(item, .preconditionFailed, "collections/version-conflict", request)
    case .missing, .found, .created: return Response(.noContent, [.cacheControl: "no-store"])
    }
  }

  // MARK: Parts

  private func existing(_ outcome: Collections.Outcome) throws(APIError) -> Collections.Outcome {
    switch outcome {
    case .nobody: throw .badCredentials
    case .missing: throw FavoriteProblem.noCollection
    default: return outcome
    }
  }

  private static func id(of request: Request) throws(APIError) -> Collections.ID {
    guard let id = request.parameters["id"].flatMap({ Collections.ID($0) }) else { throw FavoriteProblem.noCollection }
    return id
  }

  private static func name(_ name: String?, in body: inout JSONObjectReader) -> String? {
    guard let name else { return nil }
    if !(1...Collections.maxName).contains(name.unicodeScalars.count) || name.allSatisfy(\.isWhitespace) {
      body.refuse("name", "must have 1 to \(Collections.maxName) characters that are not all blank")
    }
    return name
  }

  private static func rank(in body: inout JSONObjectReader) -> String? {
    guard let rank = body.optional("rank", as: String.self) else { return nil }
    if !Rank.isValid(rank) { body.refuse("rank", "must have at most \(Rank.maxLength) signs of printable ASCII") }
    return rank
  }

  private static func tag(_ item: Collections.Item) -> EntityTag? {
    // Both halves change what is shown; only the first is asked for by If-Match.
    EntityTag(opaque: "v\(item.version).\(item.count)")
  }

  static func write(_ item: Collections.Item, to writer: inout JSONWriter) {
    item.document.withUnsafeBytes { bytes in
      writer.rawObject(bytes) { writer in
        writer.key("count")
        writer.int(item.count)
      }
    }
  }

  private func answer(_ item: Collections.Item, _ status: Status) -> Response {
    var writer = JSONWriter()
    CollectionEndpoints.write(item, to: &writer)
    var response = Answers.unstored(writer.bytes, status: status)
    response.fields.set(.cacheControl, "private, no-cache")
    if let tag = CollectionEndpoints.tag(item) { response.fields.set(.etag, tag.description) }
    return response
  }

  /// With the server's copy, so that the client can merge.
  private func conflict(_ item: Collections.Item, _ status: Status, _ code: String, _ request: Request) -> Response {
    var writer = JSONWriter()
    CollectionEndpoints.write(item, to: &writer)
    var response = favorites.conflict(
      writer.bytes, item.version, request, status: status, code: code,
      detail: "There is another collection, or another state of it, than the request is about.")
    if let tag = CollectionEndpoints.tag(item) { response.fields.set(.etag, tag.description) }
    return response
  }
}
