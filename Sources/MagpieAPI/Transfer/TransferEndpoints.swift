import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/v1/account/export` and `/v1/account/import`: taking everything along, and bringing it back.
struct TransferEndpoints: Sendable {
  let services: Services
  private let places = Places(count: 2)

  init(services: Services) { self.services = services }

  /// `GET /v1/account/export?format=json|csv|html`: all of it as it is at one moment, sent while it is read.
  func export(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let form = try exportForm(request)
    // A read without rows: the answer's status is sent before the first of them is read.
    guard try await services.favorites.activity.summary(token: token) != nil else { throw APIError.badCredentials }
    let favorites = services.favorites
    // Held by the answer, so that it is free again even if nobody is there any more to read it.
    guard let place = places.take() else { throw TransferEndpoints.busy }
    return Response(
      .ok,
      [
        .contentType: form.mediaType, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        "Content-Disposition": "attachment; filename=\"magpie-favorites.\(form.rawValue)\"",
        // Opened in a browser all the same, it can do nothing.
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
      ],
      .stream { stream in
        defer { withExtendedLifetime(place) {} }
        var writer = ExportWriter(form)
        var head = writer.head()
        let isSomebody = try await favorites.export(token: token) { parts in
          let text = head + writer.text(parts)
          head = []
          try await stream.write(text)
        }
        // Signed out in between: what is cut off is seen as such.
        guard isSomebody else { throw APIError.badCredentials }
        try await stream.write(writer.end())
      })
  }

  /// `POST /v1/account/import?format=json|csv|html`: all of it or nothing.
  func bring(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let form = try importForm(request)
    guard try await services.favorites.mayWrite(token: token) else { throw APIError.badCredentials }
    guard let place = places.take() else { throw TransferEndpoints.busy }
    defer { withExtendedLifetime(place) {} }
    let bytes = try await request.body(limit: ImportReader.maxBody)
    let result = try ImportReader.read(bytes, form)
    guard let outcome = try await services.favorites.bring(result.things, token: token) else {
      throw APIError.badCredentials
    }
    var writer = JSONWriter()
    writer.beginObject()
    for (name, count) in [
      ("favorites", outcome.favorites), ("collections", outcome.collections), ("tombstones", outcome.tombstones),
      ("version", outcome.version), ("skipped", Int64(result.skippedCount)),
    ] {
      writer.key(name)
      writer.int(count)
    }
    writer.key("skips")
    writer.beginArray()
    for (place, reason) in result.skipped {
      writer.beginObject()
      writer.key("place")
      writer.string(place)
      writer.key("reason")
      writer.string(reason)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return Answers.unstored(writer.bytes)
  }

  private func exportForm(_ request: Request) throws -> ExportWriter.Form {
    if let form = try Parameters(request.target).choice("format", of: ExportWriter.Form.self) { return form }
    let wanted = (request[.accept] ?? "").lowercased()
    if wanted.hasPrefix("text/csv") { return .csv }
    // A browser's address line takes anything; only who asks for nothing else gets bookmarks.
    if wanted == "text/html" { return .html }
    return .json
  }

  private func importForm(_ request: Request) throws -> ImportReader.Form {
    if let form = try Parameters(request.target).choice("format", of: ImportReader.Form.self) { return form }
    let type = (request[.contentType] ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " }
    switch type {
    case "", "application/json": return .json
    case "text/csv": return .csv
    case "text/html": return .html
    default:
      throw APIError(
        .unsupportedMediaType, "request/unsupported-media-type",
        "Favorites are taken as application/json, text/csv and text/html.")
    }
  }

  static var busy: APIError {
    var problem = Problem(
      .serviceUnavailable, code: "server/busy", detail: "Others are taking their favorites along; try again soon.")
    problem.retryAfter = 2
    return APIError(problem)
  }

  /// Each of them holds a connection of the database, and perhaps 16 MiB: a few at once.
  final class Places: Sendable {
    private let free: Lock<Int>

    init(count: Int) { free = Lock(count) }

    func take() -> Place? {
      let isFree = free.withLock { free in
        if free == 0 { return false }
        free -= 1
        return true
      }
      return isFree ? Place(of: self) : nil
    }

    /// Free again when nobody holds it.
    final class Place: Sendable {
      private let places: Places

      init(of places: Places) { self.places = places }

      deinit { places.free.withLock { $0 += 1 } }
    }
  }
}
