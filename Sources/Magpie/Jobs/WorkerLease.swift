import Postgres

/// The statements that keep a worker process known as alive, and find those that are not.
enum WorkerLease {
  static func register(_ id: UUID, _ configuration: Worker.Configuration, process: Int32) -> Query {
    """
    INSERT INTO magpie.worker (id, lease, hostname, pid, version)
    VALUES (\(id), make_interval(secs => \(configuration.lease.inSeconds)), \(configuration.hostname), \(process)::int,
      \(configuration.version))
    ON CONFLICT (id) DO NOTHING
    """
  }

  /// What a beat brings back.
  struct Report {
    /// Whether we are still taken for alive.
    let isAlive: Bool
    /// Jobs that were ours in the table and unknown here: a claim whose answer was lost, a task that vanished. They are
    /// scheduled again.
    let leaked: Int
    /// Runs that we know and the table does not.
    let lost: [UUID]
  }

  /// One beat for the process, and a comparison of what it runs with what the table says it runs, both ways.
  ///
  /// - Parameter timeout: for the answer. From then on the connection counts as silent, and the next beat takes another.
  static func beat(
    _ id: UUID, tokens: [UUID], grace: Duration, timeout: Duration, in database: Database
  ) async throws -> Report {
    let rows = try await database.query(
      """
      WITH alive AS (
        UPDATE magpie.worker w SET heartbeat_at = clock_timestamp() WHERE w.id = \(id) AND w.state <> 'dead' RETURNING w.id),
      known AS (SELECT unnest(\(tokens)) AS token),
      ours AS (SELECT j.id, j.run_token, j.started_at FROM magpie.job j WHERE j.worker_id = \(id) AND j.state = 'running'),
      stray AS MATERIALIZED (
        SELECT j.id FROM magpie.job j
        WHERE j.id = ANY (ARRAY(SELECT o.id FROM ours o
            WHERE o.started_at < now() - make_interval(secs => \(grace.inSeconds))
              AND NOT EXISTS (SELECT FROM known k WHERE k.token = o.run_token)))
          AND j.worker_id = \(id)
        FOR NO KEY UPDATE SKIP LOCKED),
      freed AS (
        UPDATE magpie.job j SET state = 'scheduled', wait_reason = 'rescue', run_token = NULL, worker_id = NULL,
          deadline_at = NULL, available_at = now() + make_interval(secs => 1 + random()),
          last_error = 'leaked by its worker', errors = magpie.add_error(j.errors, j.attempt, 'leaked by its worker')
        WHERE j.id = ANY (ARRAY(SELECT s.id FROM stray s)) RETURNING j.id)
      SELECT EXISTS (SELECT FROM alive), (SELECT count(*) FROM freed),
        ARRAY(SELECT k.token FROM known k WHERE NOT EXISTS (SELECT FROM ours o WHERE o.run_token = k.token))
      """, timeout: timeout)
    guard let row = rows.first else { throw JobError.noAnswer }
    let (isAlive, leaked, lost) = try row.decode((Bool, Int, [UUID]).self)
    return Report(isAlive: isAlive, leaked: leaked, lost: lost)
  }

  /// The last sign of life of a process that is not known to be dead.
  struct Beat {
    let id: UUID
    let at: Instant
    let lease: Duration
  }

  static func beats(in database: Database) async throws(PostgresError) -> [Beat] {
    let rows = try await database.query(
      "SELECT w.id, w.heartbeat_at, extract(epoch FROM w.lease)::float8 FROM magpie.worker w WHERE w.state <> 'dead'")
    var beats: [Beat] = []
    for (id, at, lease) in try rows.decode((UUID, Instant, Double).self) {
      beats.append(Beat(id: id, at: at, lease: .seconds(lease)))
    }
    return beats
  }

  /// Only if it has not beaten in between.
  static func bury(_ beat: Beat) -> Query {
    """
    UPDATE magpie.worker w SET state = 'dead' WHERE w.id = \(beat.id) AND w.heartbeat_at = \(beat.at) AND w.state <> 'dead'
    RETURNING w.id
    """
  }
}
