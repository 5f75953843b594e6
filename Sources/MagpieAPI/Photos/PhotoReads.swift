import EventLoop
import HTTP
import HTTPServer
import Magpie

/// Reads photos and albums as fresh as the client wants them: for everybody, and with a token for an account.
struct PhotoReads: Sendable {
  /// Somebody without an account may have the service asked again after so many seconds.
  static let strangersPatience = 10.0
  private static let service = "The photo service"
  private static let pool = "photos"

  let services: Services

  /// All items, and how they came about.
  struct Found: Sendable {
    let table: JSONTable
    /// The same for the same items in the same form.
    let name: String
    let head: Photos.Head
    let delivery: Delivery<Void>

    /// Whether the answer is an account's own.
    var isPersonal: Bool { head.account != nil }
  }

  /// - Parameter id: only this item matters.
  func find(_ collection: PhotoCollection, id: String? = nil, _ request: Request) async throws -> Found {
    var token: [UInt8]?
    if request[.authorization] != nil { token = try Authorization.tokenHash(of: request, allowsTokenScheme: true) }
    let wish = Wish(request)
    var timing = Timing()
    let reading = try await read(collection, id, token, &timing)
    switch reading {
    case .nobody: throw APIError.badCredentials
    case .stored(let head):
      let age = head.freshness.age
      let life = services.mirror.timeToLive.photos
      let refreshes = wish.refreshes && (head.account != nil || age > Self.strangersPatience)
      if !refreshes && age <= min(life, wish.maxAge ?? life) || wish.onlyStored {
        return try await found(collection, head, .stored, nil, timing, request)
      }
      return try await refreshed(collection, id, head, refreshes, token, timing, request)
    case .empty(let account):
      if wish.onlyStored { throw GitHubProblem.notStored }
      let ticket = try await services.refreshes.requestMissing(collection, account: account)
      // A job is shown to whoever asked for it, and strangers are nobody to be shown it to.
      let job = account == nil ? nil : ticket?.id
      if wish.respondsAsync, let job { throw Accepted(job: job) }
      switch try await end(of: ticket, wish.waitForFirst, &timing) {
      case .done:
        guard case .stored(let head) = try await read(collection, id, token, &timing) else {
          throw GitHubProblem.notReady(job)
        }
        return try await found(collection, head, .fetched, nil, timing, request)
      case .closed(let outlook): throw GitHubProblem.closed(outlook, job, of: Self.service)
      case .obstacle(let code, let wait): throw GitHubProblem.obstacle(code, wait: wait, job, of: Self.service)
      case .timedOut: throw GitHubProblem.notReady(job)
      }
    }
  }

  /// Something is stored, and the client or time wants it fresher.
  private func refreshed(
    _ collection: PhotoCollection, _ id: String?, _ head: Photos.Head, _ startsOver: Bool, _ token: [UInt8]?,
    _ timing: Timing, _ request: Request
  ) async throws -> Found {
    var timing = timing
    let wait = Wish(request).waitForFresher
    let ticket = try await services.refreshes.request(
      collection, priority: wait > .zero ? .interactive : .soon, startsOver: startsOver, account: head.account)
    let job = head.account == nil ? nil : ticket.id
    var reason = "refreshing"
    if wait > .zero {
      switch try await end(of: ticket, wait, &timing) {
      case .done:
        if case .stored(let head) = try await read(collection, id, token, &timing) {
          return try await found(collection, head, .refreshed, nil, timing, request)
        }
      case .closed(let outlook): reason = outlook.isLimiting ? "rate-limited" : "offline"
      case .obstacle: reason = "offline"
      case .timedOut: break
      }
    } else if let outlook = try await services.refreshes.outlook(pool: Self.pool) {
      reason = outlook.isLimiting ? "rate-limited" : "offline"
    }
    return try await found(collection, head, .stale(reason), job, timing, request)
  }

  private func read(
    _ collection: PhotoCollection, _ id: String?, _ token: [UInt8]?, _ timing: inout Timing
  ) async throws -> Photos.Reading {
    let start = System.monotonicNanoseconds()
    defer { timing.database += System.monotonicNanoseconds() &- start }
    return try await services.mirror.photos.read(collection, id: id, token: token)
  }

  private func end(of ticket: Job.Ticket?, _ wait: Duration, _ timing: inout Timing) async throws -> JobWait.End {
    let start = System.monotonicNanoseconds()
    defer { timing.queue += System.monotonicNanoseconds() &- start }
    return try await JobWait(services: services, resource: "core", pool: Self.pool).end(
      of: ticket, by: start &+ wait.wholeNanoseconds)
  }

  private func found(
    _ collection: PhotoCollection, _ head: Photos.Head, _ source: Delivery<Void>.Source, _ job: Int64?,
    _ timing: Timing, _ request: Request
  ) async throws -> Found {
    let isRaw = request.target.query["raw"] == "1"
    let form = Photos.Form(
      collection, pictures: isRaw ? nil : "\(services.settings.publicURL)\(PlaceholderEndpoint.place)")
    let edition = try await services.mirror.photos.edition(form, generation: head.generation)
    return Found(
      table: edition.table, name: edition.name, head: head,
      delivery: Delivery(value: (), source: source, job: job, timing: timing))
  }
}
