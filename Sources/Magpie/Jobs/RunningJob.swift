import EventLoop
import Postgres
import Synchronization

/// One run of a job, in the hands of its handler.
///
/// The database gave the run a random token. Every write that belongs to the run is made under it, so that a run whose
/// process was thought dead cannot write over the one that took its place.
public final class RunningJob: Sendable {
  /// The job.
  public let id: Int64
  /// What the handler is registered for.
  public let kind: String
  /// What the job is about.
  public let subject: String?
  /// The request's arguments, a JSON document.
  public let args: [UInt8]
  /// Where an earlier run got to, a JSON document; `nil` at the start.
  public let checkpoint: [UInt8]?
  /// Starts since the last success, this one included.
  public let attempt: Int
  /// The fence of this run.
  public let runToken: UUID

  private let timeLimit: Duration
  let announce: @Sendable (Int64) -> Void
  private let state: Mutex<State>

  private struct State {
    var priority: Job.Priority
    var deadline: UInt64
    var stop: StopReason?
    var isCompleted = false
  }

  /// Why a run should stop before its work is done.
  enum StopReason: Sendable {
    case draining, cancelled, lost, timedOut
  }

  init(
    claim: ClaimedJob, timeLimit: Duration, announce: @escaping @Sendable (Int64) -> Void
  ) {
    id = claim.id
    kind = claim.kind
    subject = claim.subject
    args = claim.args
    checkpoint = claim.checkpoint
    attempt = claim.attempt
    runToken = claim.token
    self.timeLimit = claim.timeLimit ?? timeLimit
    self.announce = announce
    state = Mutex(
      State(
        priority: claim.priority,
        deadline: System.monotonicNanoseconds() &+ self.timeLimit.wholeNanoseconds))
  }

  /// As of the last checkpoint: requests during the run may have raised it.
  public var priority: Job.Priority { state.withLock { $0.priority } }

  /// Whether the handler should return `.yield` at the next good place: the process is about to end, or the run is over
  /// anyway. A handler that does not look goes on until it is cut off.
  public var shouldStop: Bool { state.withLock { $0.stop != nil } }

  /// One step of the work: what `body` writes and where to go on from here, in one transaction, or nothing of both. Then
  /// whoever waits for the job is told.
  ///
  /// - Parameters:
  ///   - checkpoint: a JSON document for the next run, in case this one does not get further.
  ///   - done, total: units done so far and expected.
  ///   - body: must have no effects but those in the database, since it is run again after deadlocks.
  /// - Throws: `JobError.lostRun` and `JobError.cancelled`, after which the handler must end; `PostgresError`; what `body`
  ///   throws.
  @discardableResult
  public func step<Value>(
    in database: Database, checkpoint: [UInt8]?, done: Int64? = nil, total: Int64? = nil,
    _ body: (Transaction) async throws -> Value
  ) async throws -> Value {
    let value = try await database.transaction(retries: 5) { transaction in
      let value = try await body(transaction)
      try await self.checkpoint(in: transaction, checkpoint, done: done, total: total)
      return value
    }
    announce(id)
    return value
  }

  /// The fence by itself, for callers with a transaction of their own. Best as the last statement before the commit: the
  /// job's row is locked from here on, and requests for the job wait for it.
  ///
  /// It also moves the run's time limit on, and takes over a raised priority.
  ///
  /// - Throws: `JobError.lostRun` and `JobError.cancelled`: the transaction must be rolled back. `PostgresError`.
  public func checkpoint(
    in transaction: Transaction, _ checkpoint: [UInt8]?, done: Int64? = nil, total: Int64? = nil
  ) async throws {
    let rows = try await transaction.query(
      """
      UPDATE magpie.job j SET checkpoint = \(checkpoint.map { JSON($0) }),
        progress_done = \(done), progress_total = \(total),
        deadline_at = now() + make_interval(secs => \(timeLimit.inSeconds))
      WHERE j.id = \(id) AND j.run_token = \(runToken)
      RETURNING j.cancel_requested, j.priority
      """)
    guard let row = rows.first else {
      stop(.lost)
      throw JobError.lostRun
    }
    let (isCancelled, priority) = try row.decode((Bool, Int).self)
    if isCancelled {
      stop(.cancelled)
      throw JobError.cancelled
    }
    state.withLock { state in
      state.priority = Job.Priority(rawValue: priority)
      state.deadline = System.monotonicNanoseconds() &+ timeLimit.wholeNanoseconds
    }
  }

  /// Ends the job in the handler's own transaction, so that its last effects and its end are one. The handler then returns
  /// `.done`.
  ///
  /// - Throws: `JobError.lostRun`: the transaction must be rolled back. `PostgresError`.
  public func complete(in transaction: Transaction) async throws {
    let rows = try await transaction.query(CompletedRun.query([CompletedRun(id: id, token: runToken)], waits: true))
    if rows.isEmpty {
      stop(.lost)
      throw JobError.lostRun
    }
    state.withLock { $0.isCompleted = true }
  }

  // MARK: For the worker

  /// Whether `complete` was part of a transaction. When the handler then returns, that was committed.
  var isCompleted: Bool { state.withLock { $0.isCompleted } }

  var stopReason: StopReason? { state.withLock { $0.stop } }

  /// The first reason stands, except that a lost run is lost whatever else it was.
  func stop(_ reason: StopReason) {
    state.withLock { state in
      if state.stop == nil || reason == .lost { state.stop = reason }
    }
  }

  func isOverdue(at now: UInt64) -> Bool { state.withLock { $0.deadline < now } }
}

extension Duration {
  /// With fractions.
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
