import Postgres

/// The statements every job passes through. They keep to rules that were paid for: written by run token alone (naming the
/// state as well tempts the planner into the small index of running jobs), limited sets as `= ANY (ARRAY(…))` (a join
/// guesses the limit as a tenth of the table), never waiting for a row another session has (`SKIP LOCKED`), each a
/// transaction of its own.
struct ClaimedJob: Sendable {
  let id: Int64
  let token: UUID
  let kind: String
  let subject: String?
  let priority: Job.Priority
  let attempt: Int
  let args: [UInt8]
  let checkpoint: [UInt8]?
  let timeLimit: Duration?

  /// What to claim.
  struct Order: Sendable {
    var worker: UUID
    var limit: Int
    var queue = "default"
    /// Classes taken, most urgent first.
    var priorities = 0...9
    /// Claims start behind this place: what lies before it was taken already, or is the waste of updates that an old
    /// snapshot keeps from being cleaned.
    var after = LowWaterMark.Place.start
    var timeLimit: Duration
  }

  /// Jobs in order; and how many were put aside since their kind is paused, which is a reason to claim again at once.
  static func claim(_ order: Order, in database: Database) async throws(PostgresError) -> (
    jobs: [ClaimedJob], held: Int
  ) {
    let rows = try await database.query(
      """
      WITH next AS MATERIALIZED (
        SELECT j.id, EXISTS (SELECT FROM magpie.queue_pause p WHERE p.kind = j.kind) AS paused
        FROM magpie.job j
        WHERE j.state = 'available' AND j.queue = \(order.queue)
          AND j.priority BETWEEN \(Int16(order.priorities.lowerBound)) AND \(Int16(order.priorities.upperBound))
          AND (j.priority, j.id) > (\(order.after.priority), \(order.after.id))
          AND NOT EXISTS (SELECT FROM magpie.queue_pause p WHERE p.kind = '*')
        ORDER BY j.priority, j.id LIMIT \(order.limit)
        FOR NO KEY UPDATE OF j SKIP LOCKED),
      held AS (
        UPDATE magpie.job j SET state = 'held' WHERE j.id = ANY (ARRAY(SELECT n.id FROM next n WHERE n.paused))
        RETURNING j.id),
      claimed AS (
        UPDATE magpie.job j SET state = 'running', attempt = j.attempt + 1, worker_id = \(order.worker),
          run_token = gen_random_uuid(), started_at = now(), wait_reason = NULL,
          deadline_at = now() + coalesce(j.time_limit, make_interval(secs => \(order.timeLimit.inSeconds)))
        WHERE j.id = ANY (ARRAY(SELECT n.id FROM next n WHERE NOT n.paused))
        RETURNING j.id, j.run_token, j.kind, j.subject, j.priority, j.attempt, j.args::text, j.checkpoint::text,
          extract(epoch FROM j.time_limit)::float8)
      SELECT (SELECT count(*) FROM held), c.* FROM (SELECT) one LEFT JOIN claimed c ON true
      """)
    let held = try rows.first?.decode(Int.self, at: 0) ?? 0
    var jobs: [ClaimedJob] = []
    for row in rows where row[1] != nil { jobs.append(try ClaimedJob(row)) }
    return (jobs.sorted { ($0.priority, $0.id) < ($1.priority, $1.id) }, held)
  }
}

extension ClaimedJob {
  /// - Throws: `PostgresError` of kind `decoding`.
  init(_ row: Row) throws(PostgresError) {
    id = try row.decode(Int64.self, at: 1)
    token = try row.decode(UUID.self, at: 2)
    kind = try row.decode(String.self, at: 3)
    subject = try row.decode(String?.self, at: 4)
    priority = Job.Priority(rawValue: try row.decode(Int.self, at: 5))
    attempt = try row.decode(Int.self, at: 6)
    args = try row.decode([UInt8].self, at: 7)
    checkpoint = try row.decode([UInt8]?.self, at: 8)
    timeLimit = try row.decode(Double?.self, at: 9).map { .seconds($0) }
  }
}
