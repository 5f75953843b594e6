import EventLoop
import Magpie

/// Waits for the job that fetches what is missing, as long as a client would and not in vain.
struct JobWait: Sendable {
  let services: Services
  /// The upstream's budget that the job needs; `nil` if it needs none.
  let resource: String?
  /// The upstream that the job asks.
  var pool = GitHubGate.pool

  /// How the wait ended.
  enum End: Sendable {
    /// The job has run, and what it was to fetch can be looked for.
    case done
    /// The upstream limits us, or takes none of our credentials.
    case closed(Refreshes.Outlook)
    /// The last attempt has failed; the next is `wait` seconds away.
    case obstacle(code: String, wait: Double)
    /// The client's time is up.
    case timedOut
  }

  /// - Parameters:
  ///   - ticket: `nil` for what has come since it was looked for, so that no job was needed.
  ///   - end: on the loop's clock, in nanoseconds.
  func end(of ticket: Job.Ticket?, by end: UInt64) async throws -> End {
    guard let ticket else { return .done }
    if let closed = try await closed() { return closed }
    while true {
      switch try await services.refreshes.news(
        of: ticket, beyond: nil, endsWhenPutOff: true, timeout: left(until: end))
      {
      case .answered(let status):
        guard status.state == .discarded else { return .done }
        return .obstacle(code: JobWait.code(status), wait: 60)
      case .putOff(let status):
        if let closed = try await closed() { return closed }
        if let obstacle = JobWait.obstacle(status) { return obstacle }
        let rest = status.startsIn ?? .seconds(1)
        _ = try await services.refreshes.news(
          of: ticket, beyond: nil, endsWhenPutOff: false, timeout: min(left(until: end), rest + .milliseconds(50)))
      case .progressed: break
      case .unknown: return .done
      case .timedOut: return .timedOut
      }
      if left(until: end) == .zero { return .timedOut }
    }
  }

  /// What speaks against a job that nobody waits for; `nil` when nothing does.
  func hindrance(to ticket: Job.Ticket, account: Int64) async throws -> End? {
    if let closed = try await closed() { return closed }
    return try await services.refreshes.status(ticket.id, account: account).flatMap(JobWait.obstacle)
  }

  /// Whether the upstream has made the last attempt fail, and the next is some time away.
  private static func obstacle(_ status: Job.Status) -> End? {
    let rest = status.startsIn ?? .seconds(1)
    guard status.state == .scheduled, status.attempt > 0, rest >= .seconds(1), code(status).hasPrefix("upstream/")
    else { return nil }
    return .obstacle(code: code(status), wait: Double(rest.components.seconds))
  }

  private func closed() async throws -> End? {
    guard let resource, let outlook = try await services.refreshes.outlook(pool: pool, resource: resource) else {
      return nil
    }
    return .closed(outlook)
  }

  /// The code alone: the rest is for administrators.
  private static func code(_ status: Job.Status) -> String {
    status.lastError?.prefix { $0 != ":" && $0 != " " }.description ?? ""
  }

  private func left(until end: UInt64) -> Duration {
    let now = System.monotonicNanoseconds()
    return now >= end ? .zero : .nanoseconds(Int64(clamping: end - now))
  }
}
