import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie

/// `GET /github/search/users` and `/github/search/repositories`, with GitHub's parameters, shape and limits.
///
/// The upstream's answer is shared by all who ask the same, for a while. As long as there is none, `Prefer: wait=0` gives at
/// once what is stored and begins with the text, marked as incomplete; the same comes when the wait is over or GitHub cannot
/// be asked. Nothing is ever concluded from who is missing.
struct SearchEndpoint: Sendable {
  let services: Services
  let kind: SearchQuery.Kind

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let query = try SearchEndpoint.query(kind, Parameters(request.target))
    let wish = Wish(request)
    var timing = Timing()
    let start = System.monotonicNanoseconds()
    let read = try await services.mirror.search(query, token: token)
    timing.database = System.monotonicNanoseconds() &- start
    let account: Int64
    switch read {
    case .nobody: throw APIError.badCredentials
    case .unknown(let asker): account = asker
    case .found(let stored, let asker):
      account = asker
      let life = stored.life(services.mirror.timeToLive)
      let isFresh = stored.freshness.age <= min(life, wish.maxAge ?? life) && !wish.refreshes
      if isFresh || wish.onlyStored {
        return try await answer(to: request, query, stored, .stored, nil, timing, token)
      }
      // A query that was refused some time ago is asked anew before anything is said about it.
      if stored.refusal == nil {
        return try await refreshed(request, query, stored, wish, account, timing, token)
      }
    }
    return try await fetched(request, query, wish, account, timing, token)
  }

  // MARK: Stale and missing

  private func refreshed(
    _ request: Request, _ query: SearchQuery, _ stored: StoredSearch, _ wish: Wish, _ account: Int64, _ timing: Timing,
    _ token: [UInt8]
  ) async throws -> Response {
    var timing = timing
    let waits = wish.waitForFresher > .zero
    let ticket = try await services.refreshes.request(
      query, priority: waits ? .interactive : .soon, startsOver: wish.refreshes, account: account)
    var reason = "refreshing"
    if waits {
      switch try await wait(for: ticket, wish.waitForFresher, &timing) {
      case .done:
        if case .found(let fresh, _) = try await services.mirror.search(query, token: token) {
          return try await answer(to: request, query, fresh, .refreshed, nil, timing, token)
        }
      case .closed(let outlook): reason = outlook.isLimiting ? "rate-limited" : "offline"
      case .obstacle: reason = "offline"
      case .timedOut: break
      }
    } else {
      switch try await JobWait(services: services, resource: "search").hindrance(to: ticket, account: account) {
      case .closed(let outlook): reason = outlook.isLimiting ? "rate-limited" : "offline"
      case .obstacle: reason = "offline"
      case .done, .timedOut, nil: break
      }
    }
    return try await answer(to: request, query, stored, .stale(reason), ticket.id, timing, token)
  }

  private func fetched(
    _ request: Request, _ query: SearchQuery, _ wish: Wish, _ account: Int64, _ timing: Timing, _ token: [UInt8]
  ) async throws -> Response {
    var timing = timing
    if wish.onlyStored {
      return try await local(request, query, nil, timing, token) { GitHubProblem.notStored }
    }
    let ticket = try await order(query, wish, account)
    if wish.respondsAsync, let ticket { throw Accepted(job: ticket.id) }
    let job = ticket?.id
    switch try await wait(for: ticket, wish.waitForFirst, &timing) {
    case .done:
      guard case .found(let stored, _) = try await services.mirror.search(query, token: token) else {
        return try await local(request, query, job, timing, token) { GitHubProblem.notReady(job) }
      }
      return try await answer(to: request, query, stored, .fetched, nil, timing, token)
    case .closed(let outlook):
      return try await local(request, query, job, timing, token) { GitHubProblem.closed(outlook, job) }
    case .obstacle(let code, let wait):
      return try await local(request, query, job, timing, token) { GitHubProblem.obstacle(code, wait: wait, job) }
    case .timedOut:
      return try await local(request, query, job, timing, token) { GitHubProblem.notReady(job) }
    }
  }

  /// `nil`: it has come since it was looked for.
  private func order(_ query: SearchQuery, _ wish: Wish, _ account: Int64) async throws -> Job.Ticket? {
    if wish.refreshes {
      return try await services.refreshes.request(query, priority: .interactive, startsOver: true, account: account)
    }
    return try await services.refreshes.requestMissing(
      query, services.mirror.timeToLive, maxAge: wish.maxAge, account: account)
  }

  private func wait(for ticket: Job.Ticket?, _ duration: Duration, _ timing: inout Timing) async throws -> JobWait.End {
    let start = System.monotonicNanoseconds()
    defer { timing.queue += System.monotonicNanoseconds() &- start }
    return try await JobWait(services: services, resource: "search").end(
      of: ticket, by: start &+ duration.wholeNanoseconds)
  }

  // MARK: Answers

  private func answer(
    to request: Request, _ query: SearchQuery, _ stored: StoredSearch, _ source: Delivery<Void>.Source, _ job: Int64?,
    _ timing: Timing, _ token: [UInt8]
  ) async throws -> Response {
    if let refusal = stored.refusal { throw SearchProblem.refused(refusal) }
    var extra: LocalMatches?
    let count = stored.ids.count
    // GitHub says that this is not all; those who are known here fill the page.
    if stored.isIncomplete, count < query.perPage {
      extra = try await services.mirror.localMatches(query, token: token)
    }
    var body = SearchBody(services, totalCount: stored.totalCount, isIncomplete: stored.isIncomplete, count: count)
    stored.forEachItem { body.append($0, $1) }
    extra?.forEachItem(without: Set(stored.ids), limit: query.perPage - count) { body.appendLocal($0, $1) }
    var fields = Delivery(value: (), source: source, job: job, timing: timing).fields(stored.freshness)
    let shown = min(stored.totalCount, Int64(SearchQuery.cap))
    let links = PageRequest(page: query.page, size: query.perPage).links(stored: shown, isComplete: true) {
      address($0, request.target)
    }
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    return Answers.document(body.finish(), for: request, fields)
  }

  /// Who is stored, while there is no word of the upstream. If nobody is, the reason why there is none.
  private func local(
    _ request: Request, _ query: SearchQuery, _ job: Int64?, _ timing: Timing, _ token: [UInt8],
    _ problem: () -> APIError
  ) async throws -> Response {
    guard let matches = try await services.mirror.localMatches(query, token: token) else { throw problem() }
    let error = problem()
    let isInteractive = Wish(request).waitForFirst == .zero
    // Whoever types wants no error between two letters; whoever has waited is told why there is nothing.
    if matches.count == 0, !isInteractive { throw error }
    var body = SearchBody(services, totalCount: Int64(matches.count), isIncomplete: true, count: matches.count)
    matches.forEachItem(limit: query.perPage) { body.appendLocal($0, $1) }
    var fields: Fields = ["Cache-Status": "magpie; hit; detail=\(SearchProblem.detail(of: error))"]
    if let job { fields.append("Magpie-Job", "/v1/jobs/\(job)") }
    fields.append(.serverTiming, timing.fieldValue)
    return Answers.document(body.finish(), for: request, fields)
  }

  private func address(_ page: Int, _ target: Target) -> String {
    var query = target.query
    query.set("page", to: String(page))
    return "\(services.settings.publicURL)/github/search/\(kind.rawValue)?\(query)"
  }
}

/// The document of a search's page.
private struct SearchBody {
  private let urls: URLRewriter
  private var writer: JSONWriter

  init(_ services: Services, totalCount: Int64, isIncomplete: Bool, count: Int) {
    urls = services.githubURLs
    writer = JSONWriter(capacity: 128 + 1_536 * count)
    writer.beginObject()
    writer.key("total_count")
    writer.int(totalCount)
    writer.key("incomplete_results")
    writer.bool(isIncomplete)
    writer.key("items")
    writer.beginArray()
  }

  mutating func append(_ document: UnsafeRawBufferPointer, _ tags: [String]?) {
    urls.appendObject(document, to: &writer) { writer in
      writer.key("magpie")
      writer.beginObject()
      MagpieMember.writeFavorite(tags, to: &writer)
      writer.endObject()
    }
  }

  /// Not from the upstream's search: without a word on how well it fits, which decoders may still ask for.
  mutating func appendLocal(_ document: UnsafeRawBufferPointer, _ tags: [String]?) {
    urls.appendObject(document, to: &writer) { writer in
      writer.key("score")
      writer.raw("0.0")
      writer.key("magpie")
      writer.beginObject()
      MagpieMember.writeFavorite(tags, to: &writer)
      writer.key("local")
      writer.bool(true)
      writer.endObject()
    }
  }

  mutating func finish() -> [UInt8] {
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }
}
