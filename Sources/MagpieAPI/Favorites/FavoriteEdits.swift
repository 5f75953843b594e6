import HTTP
import HTTPServer
import JSONText
import Magpie

/// Changes of favorites beyond putting and removing them.
extension FavoriteEndpoints {
  /// `PATCH /v1/favorites/{kind}/{id}`: note, tags, collections and place of one that is there.
  func patch(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let expected = try expectedVersions(request)
    let (change, place) = try FavoriteBody.readPatch(try await request.body(limit: FavoriteEndpoints.maxBody))
    let (kind, id) = try await subject(of: request, token: token)
    let edit: Favorites.Edit
    if let place {
      switch try await services.favorites.move(kind, id, to: place, change, expected: expected, token: token) {
      case .edit(let outcome): edit = outcome
      case .noNeighbor:
        if case .before = place { throw FavoriteProblem.noNeighbor("before") }
        throw FavoriteProblem.noNeighbor("after")
      }
    } else {
      edit = try await services.favorites.change(kind, id, change, expected: expected, token: token)
    }
    switch edit {
    case .nobody: throw APIError.badCredentials
    case .missing: throw FavoriteProblem.missing
    case .changed(let document, let version): return answer(document, version, .ok)
    case .conflict(let document, let version): return conflict(document, version, request)
    }
  }

  /// `POST /v1/favorites/{kind}/{id}/restore`: brings one back as it was before it was removed.
  func restore(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let (kind, id) = try await subject(of: request, token: token)
    switch try await services.favorites.restore(kind, id, token: token) {
    case nil: throw APIError.badCredentials
    case .created(let document, let version): return answer(document, version, .created)
    case .kept(let document, let version): return answer(document, version, .ok)
    case .conflict: throw FavoriteProblem.nothingToRestore
    }
  }

  /// The parameter `collection`.
  static func collection(_ parameters: Parameters) throws(APIError) -> Collections.ID? {
    guard let text = try parameters.text("collection") else { return nil }
    guard let id = Collections.ID(text) else { throw .badParameter("collection", "must be a collection's id") }
    return id
  }

  static func write(_ facets: FavoriteFacets, to writer: inout JSONWriter) {
    writer.beginObject()
    for (key, name, counts) in [("kinds", "kind", facets.kinds), ("tags", "tag", facets.tags)] {
      writer.key(key)
      writer.beginArray()
      for (value, count) in counts {
        writer.beginObject()
        writer.key(name)
        writer.string(value)
        writer.key("count")
        writer.int(count)
        writer.endObject()
      }
      writer.endArray()
    }
    writer.endObject()
  }
}
