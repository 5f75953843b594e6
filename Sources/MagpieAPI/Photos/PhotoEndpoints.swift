import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/jsonplaceholder/photos` and `/albums`: the photo service's own paths, shapes and filters, for everybody.
///
/// With a token each photo has one more member, what the account has to do with it.
struct PhotoEndpoints: Sendable {
  let services: Services
  let collection: PhotoCollection

  /// All items, or those that a query asks for.
  func list(_ request: Request) async throws -> Response {
    try await list(request, of: collection, parameters: request.target.query.items.map { ($0.name, $0.value) })
  }

  /// The photos of an album. As there, nobody looks whether there is such an album.
  func photosOfAlbum(_ request: Request) async throws -> Response {
    let id = request.parameters["id"] ?? ""
    var parameters = request.target.query.items.map { ($0.name, $0.value) }
    parameters.removeAll { $0.0 == "albumId" }
    parameters.append(("albumId", id))
    return try await list(request, of: .photos, parameters: parameters)
  }

  /// One item.
  func show(_ request: Request) async throws -> Response {
    let id = request.parameters["id"] ?? ""
    let found = try await PhotoReads(services: services).find(collection, id: id, request)
    guard let index = found.table.index(of: id) else {
      throw APIError(.notFound, "photos/not-found", "There is no such \(collection == .photos ? "photo" : "album").")
    }
    var writer = JSONWriter(capacity: 512)
    Self.append(index, of: found, collection, to: &writer)
    return answer(writer.bytes, nil, for: request, found, [:])
  }

  // MARK: Lists

  private func list(
    _ request: Request, of collection: PhotoCollection, parameters: [(name: String, value: String)]
  ) async throws -> Response {
    let found = try await PhotoReads(services: services).find(collection, request)
    let query: JSONServerQuery
    do {
      query = try JSONServerQuery(parameters, known: found.table.has)
    } catch {
      throw APIError.badParameter(error.parameter, error.reason)
    }
    if query.isWhole, !found.isPersonal || collection != .photos {
      return answer(found.table.document, EntityTag(opaque: found.name), for: request, found, [:])
    }
    let selection = found.table.select(query)
    var writer = JSONWriter(capacity: 64 + 320 * selection.items.count)
    writer.beginArray()
    for index in selection.items { Self.append(index, of: found, collection, to: &writer) }
    writer.endArray()
    var fields: Fields = [:]
    if let total = selection.total { fields.append("X-Total-Count", String(total)) }
    let links = selection.page.map { self.links($0, request.target) } ?? []
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    return answer(writer.bytes, nil, for: request, found, fields)
  }

  private func links(_ page: JSONTable.Page, _ target: Target) -> [Link] {
    func link(_ number: Int, _ relation: String) -> Link {
      Link("\(services.settings.publicURL)\(target.setting("_page", to: String(number)))", rel: relation)
    }
    var links: [Link] = []
    if page.last != nil { links.append(link(1, "first")) }
    if page.hasPrevious { links.append(link(page.number - 1, "prev")) }
    if page.hasNext { links.append(link(page.number + 1, "next")) }
    if let last = page.last { links.append(link(last, "last")) }
    return links
  }

  private static func append(
    _ index: Int, of found: PhotoReads.Found, _ collection: PhotoCollection, to writer: inout JSONWriter
  ) {
    found.table.withItem(index) { item in
      guard found.isPersonal, collection == .photos else { return writer.raw(item) }
      writer.rawObject(item) { writer in
        writer.key("magpie")
        writer.beginObject()
        MagpieMember.writeFavorite(found.head.starred[found.table.ids[index]], to: &writer)
        writer.endObject()
      }
    }
  }

  private func answer(
    _ bytes: [UInt8], _ tag: EntityTag?, for request: Request, _ found: PhotoReads.Found, _ extra: Fields
  ) -> Response {
    var fields = found.delivery.fields(found.head.freshness)
    for field in extra { fields.append(field.name, field.value) }
    var response = Answers.document(bytes, for: request, tag: tag, fields)
    if !found.isPersonal { response.fields.set(.cacheControl, "public, no-cache") }
    return response
  }
}
