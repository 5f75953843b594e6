import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/giphy/v1/gifs` and `/giphy/v1/stickers`: GIPHY's own paths, parameters and shapes, for accounts, if the operator has a key.
struct GifEndpoints: Sendable {
  let services: Services
  let kind: GifQuestion.Kind

  func trending(_ request: Request) async throws -> Response {
    try await answer(request) { parameters throws(APIError) in
      let page = try parameters.page()
      return (.trending, try parameters.choices().merging(page ?? [:]) { $1 }, page == nil)
    }
  }

  func search(_ request: Request) async throws -> Response {
    try await answer(request) { parameters throws(APIError) in
      let page = try parameters.page()
      return (
        .search(try parameters.text("q")), try parameters.choices().merging(page ?? [:]) { $1 }, page == nil
      )
    }
  }

  func tags(_ request: Request) async throws -> Response {
    try await answer(request) { parameters throws(APIError) in
      (.tags(try parameters.text("q")), ["limit": try parameters.limit(standard: 5)], false)
    }
  }

  func random(_ request: Request) async throws -> Response {
    try await answer(request) { parameters throws(APIError) in
      (.random(tag: try parameters.optionalText("tag")), [:], false)
    }
  }

  func several(_ request: Request) async throws -> Response {
    try await answer(request) { parameters throws(APIError) in (.several(ids: try parameters.ids()), [:], false) }
  }

  func show(_ request: Request) async throws -> Response {
    let id = request.parameters["id"] ?? ""
    return try await answer(request) { _ throws(APIError) in
      guard GifQuestion.isID(id) else { throw GifProblem.notFound }
      return (.one(id: id), [:], false)
    }
  }

  /// Endpoint, parameters, and whether the page begins beyond the last one.
  private typealias Reading = (GifQuestion.Endpoint, [String: String], isBeyond: Bool)

  /// Nobody is told what is wrong with a question, and while the relay is off nobody at all.
  private func answer(
    _ request: Request, _ read: (GifParameters) throws(APIError) -> Reading
  ) async throws -> Response {
    let reads = GifReads(services: services)
    let token = try Authorization.giphyTokenHash(of: request)
    let question: GifQuestion
    let isBeyond: Bool
    do throws(APIError) {
      let parameters = GifParameters(request.target)
      let (endpoint, items, beyond) = try read(parameters)
      question = GifQuestion(kind, endpoint, items, rating: try parameters.rating())
      isBeyond = beyond
    } catch {
      try await reads.admit(token)
      throw error
    }
    if isBeyond {
      try await reads.admit(token)
      return Answers.document(GifBody.empty, for: request, ["Cache-Status": "magpie; hit"])
    }
    let delivery = try await reads.find(question, request, token: token)
    if delivery.value.status == 404 { throw GifProblem.notFound }
    return Answers.document(
      GifBody.write(delivery.value), for: request, delivery.fields(delivery.value.freshness))
  }
}

/// GIPHY's envelope, with the words that have to stand beside its pictures.
enum GifBody {
  private static let attribution = "Powered By GIPHY"

  static func write(_ stored: StoredGifs) -> [UInt8] {
    var writer = JSONWriter(capacity: 256 + 6_000 * stored.count)
    writer.beginObject()
    writer.key("data")
    switch stored.shape {
    case .other: writer.raw(stored.other)
    case .one where stored.count == 1: writeItems(of: stored, to: &writer)
    case .one, .list:
      writer.beginArray()
      writeItems(of: stored, to: &writer)
      writer.endArray()
    }
    if let pagination = stored.pagination {
      write(total: pagination.total, count: pagination.count, offset: pagination.offset, to: &writer)
    }
    writeEnd(responseID: stored.responseID, to: &writer)
    return writer.bytes
  }

  /// What GIPHY says of a page that begins beyond the last place that it shows.
  static var empty: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("data")
    writer.raw("[]")
    write(total: 0, count: 0, offset: 0, to: &writer)
    writeEnd(responseID: "magpie", to: &writer)
    return writer.bytes
  }

  private static func writeItems(of stored: StoredGifs, to writer: inout JSONWriter) {
    stored.forEachItem { document, tags in
      writer.rawObject(document) { writer in
        writer.key("magpie")
        writer.beginObject()
        MagpieMember.writeFavorite(tags, to: &writer)
        writer.endObject()
      }
    }
  }

  private static func write(total: Int64, count: Int64, offset: Int64, to writer: inout JSONWriter) {
    writer.key("pagination")
    writer.beginObject()
    for (name, number) in [("total_count", total), ("count", count), ("offset", offset)] {
      writer.key(name)
      writer.int(number)
    }
    writer.endObject()
  }

  private static func writeEnd(responseID: String, to writer: inout JSONWriter) {
    writer.key("meta")
    writer.beginObject()
    writer.key("status")
    writer.int(200)
    writer.key("msg")
    writer.string("OK")
    writer.key("response_id")
    writer.string(responseID)
    writer.endObject()
    writer.key("attribution")
    writer.string(attribution)
    writer.endObject()
  }
}
