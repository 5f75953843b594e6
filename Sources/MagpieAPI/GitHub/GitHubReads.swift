import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie

/// Reads mirrored data as fresh as the client wants it: what is stored at once, what is not through the queue.
struct GitHubReads: Sendable {
  let services: Services

  /// What a stored value is worth to the client.
  enum Standing {
    /// The whole thing.
    case whole(Freshness)
    /// Enough for this request, while the first walk goes on.
    case part
    /// Not what was asked for.
    case missing
  }

  /// Delivers a subject's data.
  ///
  /// - Parameters:
  ///   - life: seconds until the data is stale.
  ///   - location: the address of the same thing for a person with another login.
  ///   - person: whose the data is. One person has one job, by whatever name they are asked for.
  ///   - read: one statement.
  func deliver<Value: Sendable>(
    _ subject: Subject, wish: Wish, life: Double, location: (_ login: String) -> String, person: (Value) -> Person,
    standing: (Value) -> Standing, read: () async throws -> Mirror.Read<Value>
  ) async throws -> Delivery<Value> {
    try await deliver(
      subject, wish: wish, life: life, location: location, named: { subject.of(person($0)) }, standing: standing,
      read: read)
  }

  /// The same for a subject of any kind.
  ///
  /// - Parameters:
  ///   - location: the address of the same thing under what `Absence.movedTo` says.
  ///   - named: the subject by the name that it has in the store. One thing has one job, by whatever name it is asked for.
  func deliver<Value: Sendable>(
    _ subject: Subject, wish: Wish, life: Double, location: (_ movedTo: String) -> String, named: (Value) -> Subject,
    standing: (Value) -> Standing, read: () async throws -> Mirror.Read<Value>
  ) async throws -> Delivery<Value> {
    var timing = Timing()
    let value = try await timed(&timing.database, read)
    var subject = subject
    let account: Int64
    switch value {
    case .nobody: throw APIError.badCredentials
    case .unknown(let asker): account = asker
    case .found(let value, let asker):
      account = asker
      subject = named(value)
      switch standing(value) {
      case .whole(let freshness):
        let isFresh = freshness.age <= min(life, wish.maxAge ?? life) && !wish.refreshes
        if isFresh || wish.onlyStored { return Delivery(value: value, source: .stored, job: nil, timing: timing) }
        return try await refresh(subject, for: account, stored: value, wish, timing, location, standing, read)
      case .part:
        if wish.onlyStored { return Delivery(value: value, source: .part, job: nil, timing: timing) }
        if let ticket = try await services.refreshes.requestMissing(subject, account: account) {
          return Delivery(value: value, source: .part, job: ticket.id, timing: timing)
        }
      case .missing: break
      }
    }
    if wish.onlyStored {
      let absence = try await services.mirror.absence(of: subject)
      if let place = absence.movedTo { throw GitHubProblem.moved(to: location(place)) }
      throw absence.fact.map { GitHubProblem.absent($0, subject) } ?? GitHubProblem.notStored
    }
    return try await fetch(subject, for: account, wish, timing, location, standing, read)
  }

  // MARK: Stale

  /// Orders a refresh and answers with what is stored, unless the client waits for the fresher state and it comes in time.
  private func refresh<Value: Sendable>(
    _ subject: Subject, for account: Int64, stored: Value, _ wish: Wish, _ timing: Timing,
    _ location: (String) -> String, _ standing: (Value) -> Standing, _ read: () async throws -> Mirror.Read<Value>
  ) async throws -> Delivery<Value> {
    var timing = timing
    let waits = wish.waitForFresher > .zero
    let ticket = try await services.refreshes.request(
      subject, priority: waits ? .interactive : .soon, startsOver: wish.refreshes, account: account)
    var isLost = false
    if waits {
      let end = System.monotonicNanoseconds() &+ wish.waitForFresher.wholeNanoseconds
      let outcome = try await timed(&timing.queue) { try await news(of: ticket, beyond: nil, by: end) }
      if case .answered(let status) = outcome, status.state != .discarded {
        switch try await timed(&timing.database, read) {
        case .nobody: throw APIError.badCredentials
        case .found(let fresh, _):
          if case .whole = standing(fresh) {
            return Delivery(value: fresh, source: .refreshed, job: nil, timing: timing)
          }
        // Nobody has this login any more.
        case .unknown: isLost = true
        }
      }
    }
    let absence = try await services.mirror.absence(of: subject)
    if isLost || absence.fact?.status == 301, let place = absence.movedTo {
      throw GitHubProblem.moved(to: location(place))
    }
    if let fact = absence.fact { throw GitHubProblem.absent(fact, subject) }
    let reason: String
    if absence.job?.obstacle != nil {
      reason = "offline"
    } else if let outlook = try await services.refreshes.outlook() {
      reason = outlook.isLimiting ? "rate-limited" : "offline"
    } else {
      reason = "refreshing"
    }
    return Delivery(value: stored, source: .stale(reason), job: ticket.id, timing: timing)
  }

  // MARK: Missing

  /// Rounds of asking and finding nothing that is told before the client has to ask again.
  private static let maxRounds = 2

  /// Orders the data and waits for it as long as the client would.
  private func fetch<Value: Sendable>(
    _ subject: Subject, for account: Int64, _ wish: Wish, _ timing: Timing, _ location: (String) -> String,
    _ standing: (Value) -> Standing, _ read: () async throws -> Mirror.Read<Value>
  ) async throws -> Delivery<Value> {
    var timing = timing
    let end = System.monotonicNanoseconds() &+ wish.waitForFirst.wholeNanoseconds
    var ticket: Job.Ticket?
    var progress: Int64 = 0
    var rounds = 0
    while true {
      let absence = try await services.mirror.absence(of: subject)
      // Where an old login leads is said when the upstream knows it no more, or cannot be asked.
      let moved = absence.movedTo.map { GitHubProblem.moved(to: location($0)) }
      if let fact = absence.fact, rounds > 0 || !wish.refreshes { throw moved ?? GitHubProblem.absent(fact, subject) }
      let asked: Job.Ticket
      if let ticket {
        asked = ticket
      } else {
        guard let requested = try await services.refreshes.requestMissing(subject, account: account) else {
          // The walk has ended since we looked.
          guard case .found(let value, _) = try await timed(&timing.database, read), case .whole = standing(value)
          else {
            throw GitHubProblem.notReady(nil)
          }
          return Delivery(value: value, source: .fetched, job: nil, timing: timing)
        }
        asked = requested
        ticket = requested
        if let outlook = try await services.refreshes.outlook() {
          throw moved ?? GitHubProblem.closed(outlook, asked.id)
        }
      }
      if let job = absence.job, let obstacle = job.obstacle {
        throw moved ?? GitHubProblem.obstacle(obstacle, wait: job.wait, job.id)
      }
      if wish.respondsAsync { throw Accepted(job: asked.id) }
      let outcome = try await timed(&timing.queue) { try await news(of: asked, beyond: progress, by: end) }
      switch try await timed(&timing.database, read) {
      case .nobody: throw APIError.badCredentials
      case .found(let value, _):
        switch standing(value) {
        case .whole: return Delivery(value: value, source: .fetched, job: nil, timing: timing)
        case .part: return Delivery(value: value, source: .part, job: asked.id, timing: timing)
        case .missing: break
        }
      case .unknown: break
      }
      switch outcome {
      case .progressed(let status): progress = status.done ?? progress
      case .putOff:
        if let outlook = try await services.refreshes.outlook() {
          throw moved ?? GitHubProblem.closed(outlook, asked.id)
        }
        // Put off for a reason of its own: no sooner than that is there anything to see.
        if try await services.mirror.absence(of: subject).job?.obstacle == nil {
          _ = try await timed(&timing.queue) { try await rest(of: asked, .seconds(1), by: end) }
        }
      case .answered(let status):
        if status.state == .discarded {
          let code = status.lastError?.prefix { $0 != ":" }.description ?? ""
          throw GitHubProblem.obstacle(code, wait: 60, nil)
        }
        ticket = nil
        progress = 0
        rounds += 1
      case .unknown:
        ticket = nil
        rounds += 1
      case .timedOut: break
      }
      if System.monotonicNanoseconds() >= end || rounds > GitHubReads.maxRounds {
        throw moved ?? GitHubProblem.notReady(asked.id)
      }
    }
  }

  /// Waits for something to happen to a job, through the short rests it takes for its budget.
  private func news(of ticket: Job.Ticket, beyond progress: Int64?, by end: UInt64) async throws -> JobWaiter.Outcome {
    while true {
      let outcome = try await services.refreshes.news(
        of: ticket, beyond: progress, endsWhenPutOff: true, timeout: remaining(until: end))
      guard case .putOff(let status) = outcome, let rest = status.startsIn, rest < .seconds(1) else { return outcome }
      guard case .timedOut = try await self.rest(of: ticket, rest, by: end) else { continue }
      if System.monotonicNanoseconds() >= end { return outcome }
    }
  }

  /// Waits until a job that was put off has begun again and done something, but not much longer than it is put off.
  private func rest(of ticket: Job.Ticket, _ rest: Duration, by end: UInt64) async throws -> JobWaiter.Outcome {
    try await services.refreshes.news(
      of: ticket, beyond: nil, endsWhenPutOff: false,
      timeout: min(remaining(until: end), rest + .milliseconds(50)))
  }

  private func remaining(until end: UInt64) -> Duration {
    let now = System.monotonicNanoseconds()
    return now >= end ? .zero : .nanoseconds(Int64(clamping: end - now))
  }

  private func timed<R>(_ spent: inout UInt64, _ body: () async throws -> R) async throws -> R {
    let start = System.monotonicNanoseconds()
    defer { spent += System.monotonicNanoseconds() &- start }
    return try await body()
  }

  // MARK: People

  /// The id of a person named by login; through the queue if `waits` and nobody has seen the person yet.
  func knownPerson(_ person: Person, token: [UInt8], wish: Wish, waits: Bool) async throws -> Int64 {
    let services = services
    let read: () async throws -> Mirror.Read<StoredProfile> = {
      try await services.mirror.profile(of: person, token: token)
    }
    switch try await read() {
    case .nobody: throw APIError.badCredentials
    case .found(let profile, _): return profile.id
    case .unknown: if !waits { throw GitHubProblem.userNotFound }
    }
    let delivery = try await deliver(
      .profile(person), wish: wish, life: services.mirror.timeToLive.profile,
      location: { "\(services.settings.publicURL)/v1/favorites/github-user/@\(PercentEncoding.encode($0))" },
      person: { $0.person },
      standing: { (profile: StoredProfile) in profile.freshness.map(Standing.whole) ?? .missing }, read: read)
    return delivery.value.id
  }
}

/// The client would rather have the job than wait: 202.
struct Accepted: Error {
  let job: Int64
}
