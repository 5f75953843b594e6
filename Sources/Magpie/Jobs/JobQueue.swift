import Postgres

/// The queue as everybody but the worker uses it: asking for jobs, looking at them, giving them up.
public final class JobQueue: Sendable {
  /// The channel on which workers hear of new jobs. The payload is the queue's name.
  public static let requestChannel = "magpie_job"

  private let database: Database
  private let sender: NoticeSender

  /// The database's role must be `magpie_app` or `magpie_worker`, or better.
  public init(database: Database) {
    self.database = database
    sender = NoticeSender(channel: JobQueue.requestChannel, database: database)
  }

  /// Asks for a job: makes it, or joins the unfinished one of the same kind and subject and raises its priority.
  ///
  /// One statement. Workers are told after it is committed, in a statement of its own, at most every 50 ms; should that be
  /// lost they find the job within a second or two by themselves.
  ///
  /// - Parameters:
  ///   - subject: there is one unfinished job of a kind and subject; `nil`: always a new one.
  ///   - args: a JSON document. A job that waits takes the latest; a running one keeps its own, and a run that starts over
  ///     takes those of the request that made it do so.
  ///   - account: who asks, to be shown the job and to count for `withdraw`; `nil` for the server itself.
  ///   - delay: not to be started before that. Does not put off a job that is there already.
  /// - Throws: `PostgresError`. After `connectionLost` and `timeout` the job may be there; asking again does no harm.
  public func request(
    kind: String, subject: String?, args: [UInt8] = Array("{}".utf8), priority: Job.Priority,
    whenRunning: Job.WhenRunning = .join, account: Int64? = nil, delay: Duration = .zero
  ) async throws -> Job.Ticket {
    let again = whenRunning == .startOver
    let rows = try await database.retrying(
      """
      SELECT r.id, r.run, r.outcome FROM magpie.request_job(\(kind), \(subject), \(JSON(args)), \(priority.rawValue)::int,
        \(again), \(account), make_interval(secs => \(delay.inSeconds)), false) r
      """)
    guard let row = rows.first else { throw JobError.noAnswer }
    let (id, run, outcome) = try row.decode((Int64, Int, String).self)
    if delay <= .zero { sender.send("default") }
    return Job.Ticket(id: id, run: run, outcome: Job.RequestOutcome(rawValue: outcome) ?? .merged)
  }

  /// Asks for jobs of one kind about several subjects, in one statement.
  ///
  /// - Returns: the tickets, by subject.
  /// - Throws: as `request`.
  func request(
    kind: String, _ subjects: [Order], priority: Job.Priority, whenRunning: Job.WhenRunning, account: Int64?
  ) async throws -> [String: Job.Ticket] {
    let rows = try await database.retrying(
      JobQueue.orders(kind, subjects, priority, startsOver: whenRunning == .startOver, account, unless: "false"))
    sender.send("default")
    return try JobQueue.tickets(rows)
  }

  /// A subject, and what its job is told.
  typealias Order = (subject: String, args: [UInt8])

  private static func orders(
    _ kind: String, _ subjects: [Order], _ priority: Job.Priority, startsOver: Bool, _ account: Int64?,
    unless condition: Query
  ) -> Query {
    // In one order, so that two who ask for the same subjects do not wait for each other.
    let sorted = subjects.sorted { $0.subject < $1.subject }
    return """
      SELECT s.subject, r.id, r.run, r.outcome
        FROM unnest(\(sorted.map(\.subject)), \(sorted.map { String(decoding: $0.args, as: UTF8.self) })) AS s(subject, args),
          LATERAL magpie.request_job(\(kind), s.subject, s.args::jsonb, \(priority.rawValue)::int, \(startsOver), \(account),
            interval '0', false) r
       WHERE NOT (\(fragment: condition))
      """
  }

  private static func tickets(_ rows: Rows) throws -> [String: Job.Ticket] {
    var tickets: [String: Job.Ticket] = [:]
    for row in rows {
      let (subject, id, run, outcome) = try row.decode((String, Int64, Int, String).self)
      tickets[subject] = Job.Ticket(id: id, run: run, outcome: Job.RequestOutcome(rawValue: outcome) ?? .merged)
    }
    return tickets
  }

  // MARK: Unless it has come meanwhile

  /// Asks for jobs of one kind about several subjects, but for those for which a condition holds. As for a single one, what
  /// runs that end at this moment have made true is seen.
  ///
  /// - Parameter condition: an SQL expression on `s.subject`; not null.
  /// - Returns: the tickets, by subject.
  /// - Throws: as `request`.
  func request(
    kind: String, _ subjects: [Order], priority: Job.Priority, account: Int64?, unless condition: Query
  ) async throws -> [String: Job.Ticket] {
    struct Outdated: Error {}
    var rounds = 0
    while true {
      do {
        let tickets = try await database.transaction(retries: 5) { transaction in
          let tickets = try JobQueue.tickets(
            try await transaction.query(
              JobQueue.orders(kind, subjects, priority, startsOver: false, account, unless: condition)))
          let new = tickets.filter { $0.value.outcome == .inserted }.keys.sorted()
          // Each round leaves out at least one more; an order too many does no harm but to the budget.
          if new.isEmpty || rounds == 3 { return tickets }
          let isOutdated = try await transaction.query(
            "SELECT EXISTS (SELECT FROM unnest(\(new)) AS s(subject) WHERE \(fragment: condition))")
          if try isOutdated[0].decode(Bool.self) { throw Outdated() }
          return tickets
        }
        sender.send("default")
        return tickets
      } catch is Outdated {
        rounds += 1
      }
    }
  }

  /// Asks for a job of a subject unless a condition holds: what a run that ends at this moment has made true is seen, and is
  /// not asked for again.
  ///
  /// The condition is looked at after the request and in its transaction. A new job can only be made when the run before is
  /// committed, so that the next statement sees what it did; and until the transaction ends no worker sees the new job.
  ///
  /// - Parameter condition: an SQL expression; not null.
  /// - Returns: `nil` when the condition holds.
  /// - Throws: as `request`.
  func request(
    kind: String, subject: String, args: [UInt8], priority: Job.Priority, account: Int64?, unless condition: Query
  ) async throws -> Job.Ticket? {
    struct NotNeeded: Error {}
    do {
      let ticket = try await database.transaction(retries: 5) { transaction in
        let rows = try await transaction.query(
          """
          SELECT r.id, r.run, r.outcome FROM magpie.request_job(\(kind), \(subject), \(JSON(args)), \(priority.rawValue)::int,
            false, \(account), interval '0', false) r
          """)
        if try await transaction.query("SELECT \(fragment: condition)")[0].decode(Bool.self) { throw NotNeeded() }
        let (id, run, outcome) = try rows[0].decode((Int64, Int, String).self)
        return Job.Ticket(id: id, run: run, outcome: Job.RequestOutcome(rawValue: outcome) ?? .merged)
      }
      sender.send("default")
      return ticket
    } catch is NotNeeded {
      return nil
    }
  }

  /// How a job stands; `nil` when it does not exist (any more).
  ///
  /// - Throws: `PostgresError`.
  public func status(_ id: Int64) async throws(PostgresError) -> Job.Status? {
    guard let row = try await database.query(Job.Status.query([id])).first else { return nil }
    return try Job.Status(row)
  }

  /// The same for an account: `nil` unless it has asked for the job.
  ///
  /// - Throws: `PostgresError`.
  public func status(_ id: Int64, account: Int64) async throws(PostgresError) -> Job.Status? {
    let asked = try await database.query(
      "SELECT FROM magpie.job_asker a WHERE a.job_id = \(id) AND a.account_id = \(account)")
    return asked.isEmpty ? nil : try await status(id)
  }

  /// What came of giving up a job.
  public enum Withdrawal: String, Sendable {
    /// The account had not asked for it, or has withdrawn before.
    case unknown
    /// Others still want it, or it has ended already.
    case withdrawn
    /// Nobody is left; it has not started and never will.
    case cancelled
    /// Nobody is left; the run ends at its next checkpoint.
    case cancelling
  }

  /// An account no longer wants a job. The job ends when nobody is left who does.
  ///
  /// - Throws: `PostgresError`.
  public func withdraw(_ account: Int64, from id: Int64) async throws(PostgresError) -> Withdrawal {
    let rows = try await database.retrying("SELECT magpie.withdraw_from_job(\(id), \(account))")
    return Withdrawal(rawValue: try rows.first?.decode(String.self) ?? "") ?? .unknown
  }

  /// Ends a job, whoever wants it: at once when it waits, at its next checkpoint when it runs.
  ///
  /// - Returns: whether there was an unfinished job.
  /// - Throws: `PostgresError`; `JobError.locked`.
  @discardableResult
  public func cancel(_ id: Int64) async throws -> Bool {
    // The function leaves out rows that are locked at this moment: a checkpoint's lock passes.
    for _ in 0..<20 {
      if try await !database.retrying("SELECT c.id FROM magpie.cancel_jobs(\([id])) c").isEmpty { return true }
      guard let status = try await status(id), !status.state.isFinished else { return false }
      await Doorbell().wait(upTo: .milliseconds(50))
    }
    throw JobError.locked
  }
}

extension Database {
  /// Runs a statement that may safely be run twice, again after a deadlock or a lock timeout: `SKIP LOCKED` makes waiting
  /// rare, not impossible.
  @discardableResult
  func retrying(_ query: Query) async throws(PostgresError) -> Rows {
    var attempt = 1
    while true {
      do throws(PostgresError) {
        return try await self.query(query)
      } catch {
        guard error.isRetryable, attempt < 5 else { throw error }
        await Doorbell().wait(upTo: .milliseconds(Int.random(in: 5...(20 * attempt))))
        attempt += 1
      }
    }
  }
}
