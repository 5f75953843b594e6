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
  private let startedAt = System.monotonicNanoseconds()
  let announce: @Sendable (Int64) -> Void
  private let state: Mutex<State>

  private struct State {
    var priority: Job.Priority
    var deadline: UInt64
    /// The most urgent job that waits for a slot, as of the last checkpoint.
    var waiting: Job.Priority?
    var stop: StopReason?
    var isCompleted = false
  }

  /// How long a run goes on although others that are as urgent wait.
  static let turn = Duration.seconds(2)
  /// How long a run that gives way pauses: long enough for the other to get the slot, and shorter than the rests that make
  /// readers give up waiting.
  static let pause = Duration.milliseconds(300)

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

  /// How the handler should end at the next good place, if it should: as with `shouldStop`, or in a moment's `.snooze`, so that
  /// its slot is free for another job. As of the last checkpoint one that is more urgent has waited for a second, or one that
  /// is as urgent while this run has had its turn.
  public var interruption: JobResult? { interruption(at: System.monotonicNanoseconds()) }

  func interruption(at now: UInt64) -> JobResult? {
    state.withLock { state in
      if state.stop != nil { return .yield }
      guard let waiting = state.waiting else { return nil }
      let hadItsTurn = now &- startedAt > RunningJob.turn.wholeNanoseconds
      return waiting < state.priority || waiting == state.priority && hadItsTurn ? .snooze(RunningJob.pause) : nil
    }
  }

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
  /// It also moves the run's time limit on, and takes over a raised priority. A run that has got further than any before it is
  /// like a first one: attempts and crashes are counted from there, so that a walk of thousands of pages outlives more faults
  /// than one request may meet.
  ///
  /// - Throws: `JobError.lostRun` and `JobError.cancelled`: the transaction must be rolled back. `PostgresError`.
  public func checkpoint(
    in transaction: Transaction, _ checkpoint: [UInt8]?, done: Int64? = nil, total: Int64? = nil
  ) async throws {
    let checkpoint: Query = "\(checkpoint.map { JSON($0) })::jsonb"
    try await fenced {
      try await transaction.query(
        "SELECT f.priority, f.waiting FROM \(fragment: fence(checkpoint, done: done, total: total)) AS f")
    }
  }

  /// The same as a part of a statement: a function among its sources, whose row has `priority` and `waiting`.
  ///
  /// - Parameter checkpoint: an expression of type `jsonb`.
  func fence(_ checkpoint: Query, done: Int64?, total: Int64?) -> Query {
    """
    magpie.checkpoint_run(\(id), \(runToken), \(fragment: checkpoint), \(done), \(total), \(timeLimit.inSeconds))
    """
  }

  /// One step that is one statement: without a transaction around it there are two turns less to wait for.
  ///
  /// - Parameter statement: with `fence` as its last part. Its first two columns are the fence's.
  /// - Throws: as `step` does.
  func step(in database: Database, statement: Query) async throws -> Rows {
    try await fenced { try await database.pooledQuery(statement, retries: 5) }
  }

  @discardableResult
  private func fenced(_ body: () async throws -> Rows) async throws -> Rows {
    let rows: Rows
    do {
      rows = try await body()
    } catch let error as PostgresError where error.sqlState == .runIsOver {
      stop(.lost)
      throw JobError.lostRun
    } catch let error as PostgresError where error.sqlState == .runIsCancelled {
      stop(.cancelled)
      throw JobError.cancelled
    }
    guard let row = rows.first else { throw JobError.noAnswer }
    let priority = try row.decode(Int.self, at: 0)
    let waiting = try row.decode(Int?.self, at: 1)
    state.withLock { state in
      state.priority = Job.Priority(rawValue: priority)
      state.waiting = waiting.map(Job.Priority.init(rawValue:))
      state.deadline = System.monotonicNanoseconds() &+ timeLimit.wholeNanoseconds
    }
    return rows
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

extension SQLState {
  /// What `magpie.checkpoint_run` says of a run that is no longer this one's.
  fileprivate static let runIsOver: SQLState = "MG410"
  /// What it says of a job that nobody wants any more.
  fileprivate static let runIsCancelled: SQLState = "MG499"
}

extension Duration {
  /// With fractions.
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
