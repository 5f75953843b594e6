import EventLoop
import HTTP
import HTTPServer
import Magpie

/// Reads answers of GIPHY: those of the last minutes at once, others through the queue.
struct GifReads: Sendable {
  /// Seconds for which those who ask for something random at the same time are given the same.
  static let randomLife = 5.0

  let services: Services

  /// Refuses nobodies, and everybody while the relay is off.
  func admit(_ token: [UInt8]) async throws {
    _ = try await known(GifQuestion(.gifs, .trending, rating: nil), token)
  }

  func find(_ question: GifQuestion, _ request: Request, token: [UInt8]) async throws -> Delivery<StoredGifs> {
    let wish = Wish(request)
    var timing = Timing()
    let (head, stored) = try await known(question, token, &timing)
    if let stored {
      let life = stored.status == 404 ? services.mirror.timeToLive.negative : services.mirror.timeToLive.gifs
      let limit = question.isRandom ? Self.randomLife : life
      let isFresh = stored.freshness.age <= min(limit, wish.maxAge ?? limit) && !wish.refreshes
      if isFresh || wish.onlyStored { return Delivery(value: stored, source: .stored, job: nil, timing: timing) }
    } else if wish.onlyStored {
      throw GitHubProblem.notStored
    }
    // Something random that was seen before is worth no more than an error, and no less.
    let shown = stored.flatMap { $0.status == 404 ? nil : $0 }
    let waitsFirst = shown == nil || question.isRandom
    let wait = waitsFirst ? wish.waitForFirst : wish.waitForFresher
    let ticket = try await order(head, question, wish, isMissing: waitsFirst, waits: wait > .zero)
    let job = ticket?.id
    if shown == nil, wish.respondsAsync, let job { throw Accepted(job: job) }
    if wait == .zero, let shown, job != nil {
      return Delivery(value: shown, source: .stale(try await detail()), job: job, timing: timing)
    }
    let (reason, problem): (String, APIError)
    switch try await end(of: ticket, wait, &timing) {
    case .done:
      if let fresh = try await known(question, token, &timing).stored {
        return Delivery(value: fresh, source: shown == nil ? .fetched : .refreshed, job: nil, timing: timing)
      }
      (reason, problem) = ("refreshing", GitHubProblem.notReady(job))
    case .closed(let outlook):
      reason = outlook.isLimiting ? "rate-limited" : "offline"
      problem = GitHubProblem.closed(outlook, job, of: GifProblem.service)
    case .obstacle("giphy/relay-off", _): throw GifProblem.relayOff
    case .obstacle(let code, let wait):
      (reason, problem) = ("offline", GitHubProblem.obstacle(code, wait: wait, job, of: GifProblem.service))
    case .timedOut: (reason, problem) = ("refreshing", GitHubProblem.notReady(job))
    }
    guard let shown else { throw problem }
    return Delivery(value: shown, source: .stale(reason), job: job, timing: timing)
  }

  /// `nil`: it has come since it was looked for.
  private func order(
    _ head: Gifs.Head, _ question: GifQuestion, _ wish: Wish, isMissing: Bool, waits: Bool
  ) async throws -> Job.Ticket? {
    if isMissing, !wish.refreshes {
      let lives = services.mirror.timeToLive
      let most = min(question.isRandom ? Self.randomLife : .infinity, wish.maxAge ?? .infinity)
      return try await services.refreshes.requestMissing(
        head.question, life: min(lives.gifs, most), absenceLife: min(lives.negative, most), account: head.account)
    }
    return try await services.refreshes.request(
      head.question, priority: waits || isMissing ? .interactive : .soon, startsOver: wish.refreshes,
      account: head.account)
  }

  private func detail() async throws -> String {
    guard let outlook = try await services.refreshes.outlook(pool: GifQuestion.pool, resource: GifQuestion.resource)
    else { return "refreshing" }
    return outlook.isLimiting ? "rate-limited" : "offline"
  }

  private func known(_ question: GifQuestion, _ token: [UInt8]) async throws -> (head: Gifs.Head, stored: StoredGifs?) {
    switch try await services.mirror.gifs.read(question, token: token) {
    case .nobody: throw APIError.badCredentials
    case .known(let head, let stored):
      if !head.isOn { throw GifProblem.relayOff }
      return (head, stored)
    }
  }

  private func known(
    _ question: GifQuestion, _ token: [UInt8], _ timing: inout Timing
  ) async throws -> (head: Gifs.Head, stored: StoredGifs?) {
    let start = System.monotonicNanoseconds()
    defer { timing.database += System.monotonicNanoseconds() &- start }
    return try await known(question, token)
  }

  private func end(of ticket: Job.Ticket?, _ wait: Duration, _ timing: inout Timing) async throws -> JobWait.End {
    let start = System.monotonicNanoseconds()
    defer { timing.queue += System.monotonicNanoseconds() &- start }
    return try await JobWait(services: services, resource: GifQuestion.resource, pool: GifQuestion.pool).end(
      of: ticket, by: start &+ wait.wholeNanoseconds)
  }
}
