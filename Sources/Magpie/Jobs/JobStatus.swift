import Postgres

extension Job {
  /// A job as others may see it.
  public struct Status: Sendable {
    /// The job.
    public let id: Int64
    /// What its handler is registered for.
    public let kind: String
    /// What it is about.
    public let subject: String?
    /// Where it stands.
    public let state: State
    /// Runs that ended before the present one, because somebody had asked again.
    public let runs: Int
    /// Starts since the last success.
    public let attempt: Int
    /// As raised by the most urgent request.
    public let priority: Priority
    /// Units of work that are done and stored, such as pages.
    public let done: Int64?
    /// Units expected, when known.
    public let total: Int64?
    /// Until it may be started; `nil` unless it is scheduled.
    public let startsIn: Duration?
    /// Whether it has been told to stop.
    public let isCancelling: Bool
    /// First request.
    public let createdAt: Instant
    /// Start of the present or last run.
    public let startedAt: Instant?
    /// End, when it is finished.
    public let finishedAt: Instant?
    /// What went wrong last, without secrets.
    public let lastError: String?

    /// Seconds until its end, by its pace so far; `nil` when it is finished, or nothing tells how much is left.
    public func secondsLeft(at now: Instant) -> Double? {
      guard !state.isFinished, let total else { return nil }
      let left = Double(max(0, total - (done ?? 0)))
      guard state == .running, let startedAt, let done, done > 0 else {
        let wait = startsIn.map { Double($0.components.seconds) } ?? 0
        return wait + left * RefreshPlan.secondsPerRequest
      }
      let elapsed = Double(max(0, now.microseconds - startedAt.microseconds)) / 1e6
      return left * elapsed / Double(done)
    }

    /// Whether the request behind the ticket has been answered, well or not.
    public func answers(_ ticket: Ticket) -> Bool { state.isFinished || runs >= ticket.run }
  }
}

extension Job.Status {
  /// Jobs by id, finished or not. Ids that do not exist are missing from the answer.
  static func query(_ ids: [Int64]) -> Query {
    """
    SELECT j.id, j.kind, j.subject, j.state::text, j.runs, j.attempt, j.priority, j.progress_done, j.progress_total,
      CASE WHEN j.state = 'scheduled' THEN greatest(0, extract(epoch FROM j.available_at - now())::float8) END,
      j.cancel_requested, j.created_at, j.started_at, NULL::timestamptz, j.last_error
    FROM magpie.job j WHERE j.id = ANY (\(ids))
    UNION ALL
    SELECT d.id, d.kind, d.subject, d.state::text, 0, d.attempt, d.priority, d.progress_done, d.progress_total,
      NULL, false, d.created_at, d.started_at, d.finished_at, d.last_error
    FROM magpie.job_done d WHERE d.id = ANY (\(ids))
    """
  }

  /// - Throws: `PostgresError` of kind `decoding`.
  init(_ row: Row) throws(PostgresError) {
    id = try row.decode(Int64.self, at: 0)
    kind = try row.decode(String.self, at: 1)
    subject = try row.decode(String?.self, at: 2)
    state = Job.State(rawValue: try row.decode(String.self, at: 3)) ?? .running
    runs = try row.decode(Int.self, at: 4)
    attempt = try row.decode(Int.self, at: 5)
    priority = Job.Priority(rawValue: try row.decode(Int.self, at: 6))
    done = try row.decode(Int64?.self, at: 7)
    total = try row.decode(Int64?.self, at: 8)
    startsIn = try row.decode(Double?.self, at: 9).map { .seconds($0) }
    isCancelling = try row.decode(Bool.self, at: 10)
    createdAt = try row.decode(Instant.self, at: 11)
    startedAt = try row.decode(Instant?.self, at: 12)
    finishedAt = try row.decode(Instant?.self, at: 13)
    lastError = try row.decode(String?.self, at: 14)
  }
}
