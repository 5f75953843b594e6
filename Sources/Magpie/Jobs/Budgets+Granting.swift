import EventLoop
import Postgres

extension Budgets {
  /// Leave to make requests. To be settled, whatever happens.
  public struct Grant: Sendable, Equatable {
    /// The credential to use.
    public let credential: String
    /// The resource it is for.
    public let resource: String
    /// How many requests.
    public let count: Int
  }

  /// Why there is no grant now.
  public enum Refusal: String, Sendable {
    /// The upstream has refused every credential for good.
    case disabled
    /// A secondary limit: the upstream named a time, or we back off.
    case limited
    /// The window is used up.
    case spent
    /// What is left of the window is kept for more urgent work.
    case reserved
    /// Too many requests are under way.
    case busy
    /// The last requests were too close.
    case paced
    /// None of the credentials is registered.
    case none
  }

  /// The gate's answer.
  public enum Admission: Sendable {
    /// Go ahead.
    case granted(Grant)
    /// Not before this has passed; `nil`: it will not open by itself. Different callers are given slightly different
    /// times, so that they do not come back together.
    case wait(Duration?, Refusal)
  }

  /// Asks for requests.
  ///
  /// - Parameters:
  ///   - credentials: the ids whose secrets this process holds.
  ///   - priority: decides how much of the window must be left to others.
  ///   - preferred: the credential to take if it is open, since validators are only good with the one that got them.
  ///   - patience: waits up to this long for the gate to open. Keep it short: a job that must wait longer should be snoozed.
  /// - Throws: `PostgresError`.
  public func take(
    _ credentials: [String], resource: String, priority: Job.Priority, count: Int = 1, preferred: String? = nil,
    patience: Duration = .zero
  ) async throws -> Admission {
    let deadline = System.monotonicNanoseconds() &+ patience.wholeNanoseconds
    while true {
      let rows = try await database.retrying(
        """
        SELECT t.credential, t.wait_seconds, t.reason
        FROM magpie.take_budget(\(credentials), \(resource), \(priority.rawValue)::int, \(count)::int, \(preferred)) t
        """)
      guard let row = rows.first else { throw JobError.noAnswer }
      let (credential, seconds, reason) = try row.decode((String?, Double?, String?).self)
      if let credential { return .granted(Grant(credential: credential, resource: resource, count: count)) }
      let refusal = reason.flatMap { Refusal(rawValue: $0) } ?? .busy
      guard let wait = seconds.map({ Duration.seconds($0) }) else {
        // Not refused, only outrun by others three times in a row.
        if reason == nil, System.monotonicNanoseconds() < deadline { continue }
        return .wait(reason == nil ? .milliseconds(10) : nil, refusal)
      }
      if System.monotonicNanoseconds() &+ wait.wholeNanoseconds > deadline { return .wait(wait, refusal) }
      await Doorbell().wait(upTo: wait)
    }
  }

  /// What an upstream's answer says about the budget.
  public struct Answer: Sendable {
    /// How the request was taken.
    public enum Outcome: String, Sendable {
      /// Answered, well or not, but not for reasons of budget.
      case ok
      /// The window is used up.
      case spent
      /// A secondary limit.
      case limited
      /// The credential is not known (any more): it is disabled until an administrator enables it.
      case unauthorized
      /// No answer came; it may have been counted.
      case lost
    }

    /// How the request was taken.
    public var outcome: Outcome
    /// The budget that was charged, if the answer said; the figures are that one's, whatever was granted.
    public var resource: String?
    /// Requests in a window, if the answer said.
    public var limit: Int?
    /// Requests left, if the answer said.
    public var remaining: Int?
    /// Until the window ends, by the upstream's own clock: the difference of two of its times.
    public var reset: Duration?
    /// How long the upstream asks to be left alone.
    public var blockedFor: Duration?
    /// Granted requests that were not charged after all: an authorized 304, or one that was never sent.
    public var refund: Int

    /// Describes an answer.
    public init(
      _ outcome: Outcome, resource: String? = nil, limit: Int? = nil, remaining: Int? = nil, reset: Duration? = nil,
      blockedFor: Duration? = nil,
      refund: Int = 0
    ) {
      self.outcome = outcome
      self.resource = resource
      self.limit = limit
      self.remaining = remaining
      self.reset = reset
      self.blockedFor = blockedFor
      self.refund = refund
    }
  }

  /// Tells the gate how the requests went. A refusal closes it for all processes until the named time.
  ///
  /// - Throws: `PostgresError`. A grant that cannot be settled counts as used, and as under way for a minute.
  public func settle(_ grant: Grant, _ answer: Answer) async throws(PostgresError) {
    try await database.retrying(
      """
      SELECT magpie.settle_budget(\(grant.credential), \(grant.resource), \(grant.count)::int, \(answer.outcome.rawValue),
        \(answer.limit)::int, \(answer.remaining)::int, \(answer.reset?.inSeconds), \(answer.refund)::int,
        \(answer.blockedFor?.inSeconds), \(answer.resource))
      """)
  }
}
