import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/v1/sync`: what has changed since, and what the device has done.
struct SyncEndpoints: Sendable {
  let services: Services

  /// `GET /v1/sync?since=&until=&limit=`.
  func pull(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let parameters = Parameters(request.target)
    let since = try version("since", parameters) ?? 0
    let until = try version("until", parameters)
    if let until, until < since { throw APIError.badParameter("until", "must not be below since") }
    let limit = try parameters.positive("limit", default: Sync.defaultPage, max: Sync.maxPage)
    let page = try await page(since: since, until: until, limit: limit, token: token)
    var writer = JSONWriter(capacity: 128 + 512 * page.count)
    writer.beginObject()
    write(page, to: &writer)
    writer.endObject()
    return Answers.document(writer.bytes, for: request)
  }

  /// `POST /v1/sync`: a push, and then a pull, which has what the push did among the rest.
  func push(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let body = try SyncBody.read(try await request.body(limit: SyncBody.maxBytes))
    let results = try await results(of: body, token: token)
    let page = try await page(since: body.since, until: body.until, limit: body.limit, token: token)
    var writer = JSONWriter(capacity: 256 + 64 * results.count + 512 * page.count)
    writer.beginObject()
    writer.key("results")
    writer.beginArray()
    for (index, result) in results.enumerated() { write(result, body.entries[index], at: index, to: &writer) }
    writer.endArray()
    write(page, to: &writer)
    writer.endObject()
    return Answers.unstored(writer.bytes)
  }

  /// `GET /v1/sync/checksum`.
  func checksum(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let checksum = try await services.sync.checksum(token: token) else { throw APIError.badCredentials }
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    writer.key("version")
    writer.int(checksum.version)
    writer.key("kinds")
    writer.beginObject()
    for kind in SyncEndpoints.kinds {
      let sum = checksum.kinds[kind] ?? .empty
      writer.key(kind)
      writer.beginObject()
      writer.key("count")
      writer.int(sum.count)
      writer.key("hash")
      writer.string(sum.hash)
      writer.endObject()
    }
    writer.endObject()
    writer.endObject()
    return Answers.document(writer.bytes, for: request)
  }

  /// Every kind of entry there can be.
  static let kinds = Favorite.Kind.allCases.map(\.rawValue) + ["collection"]

  // MARK: Pulling

  private func version(_ name: String, _ parameters: Parameters) throws -> Int64? {
    guard let text = try parameters.text(name) else { return nil }
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit), let version = Int64(text) else {
      throw APIError.badParameter(name, "must be a whole number from 0")
    }
    return version
  }

  private func page(since: Int64, until: Int64?, limit: Int, token: [UInt8]) async throws -> Sync.Page {
    switch try await services.sync.pull(of: token, since: since, until: until, limit: limit) {
    case .refused(let refusal): throw SyncEndpoints.error(refusal)
    case .page(let page): return page
    }
  }

  private func write(_ page: Sync.Page, to writer: inout JSONWriter) {
    writer.key("changes")
    writer.beginArray()
    page.forEachEntry { writer.raw($1) }
    writer.endArray()
    writer.key("version")
    writer.int(page.version)
    writer.key("until")
    writer.int(page.until)
    writer.key("has_more")
    writer.bool(page.hasMore)
  }

  // MARK: Pushing

  private func results(of body: SyncBody, token: [UInt8]) async throws -> [Sync.Result?] {
    if body.entries.isEmpty { return [] }
    let operations = body.entries.map { entry in
      if case .operation(let operation) = entry { operation } else { Sync.Operation.refused }
    }
    switch try await services.sync.push(operations, since: body.since, isAtomic: body.isAtomic, token: token) {
    case .refused(let refusal): throw SyncEndpoints.error(refusal)
    case .results(let results): return results
    }
  }

  private func write(_ result: Sync.Result?, _ entry: SyncBody.Entry, at index: Int, to writer: inout JSONWriter) {
    var errors: [(pointer: String, detail: String)] = []
    if case .refused(let issues) = entry { errors = issues.map { ($0.pointer, $0.detail) } }
    if let error = result?.error { errors.append(error) }
    writer.beginObject()
    writer.key("status")
    writer.string((result?.status ?? .invalid).rawValue)
    if let version = result?.version {
      writer.key("version")
      writer.int(version)
    }
    if let result, result.status == .conflict {
      writer.key("server")
      if let server = result.server { writer.raw(server) } else { writer.null() }
      writer.key("ancestor")
      if let ancestor = result.ancestor { writer.raw(ancestor) } else { writer.null() }
    }
    if !errors.isEmpty {
      writer.key("errors")
      writer.beginArray()
      for error in errors {
        writer.beginObject()
        writer.key("pointer")
        writer.string("/changes/\(index)\(error.pointer)")
        writer.key("detail")
        writer.string(error.detail)
        writer.endObject()
      }
      writer.endArray()
    }
    writer.endObject()
  }

  // MARK: Refusals

  static let resyncURL = "/v1/sync?since=0"

  static func error(_ refusal: Sync.Refusal) -> APIError {
    var problem: Problem
    switch refusal {
    case .nobody: return .badCredentials
    case .unknownCursor:
      problem = Problem(
        .badRequest, code: "sync/unknown-cursor",
        detail:
          "The account has no such version yet. Read everything again; edits that were not sent can be sent after that."
      )
    case .expired:
      problem = Problem(
        .gone, code: "sync/cursor-expired",
        detail: "Deletions since then have been forgotten. Read everything again and drop what is not there any more; "
          + "edits that were not sent can be sent after that.")
    }
    problem.members = [Problem.Member("resync_url", resyncURL)]
    return APIError(problem)
  }
}
