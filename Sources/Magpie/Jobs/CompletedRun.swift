import Postgres

/// A run whose work is done, on its way out of the queue.
struct CompletedRun: Hashable, Sendable {
  let id: Int64
  let token: UUID

  /// What became of it.
  enum Outcome: String, Sendable {
    /// The job is finished.
    case completed
    /// Somebody had asked again: the job starts over.
    case rerun
    /// A request has the row at this moment; to be tried again.
    case busy
  }

  /// The usual case, one run and no request in between. No row: ask with the general form.
  var query: Query {
    """
    WITH gone AS (
      DELETE FROM magpie.job j WHERE j.id = \(id) AND j.run_token = \(token) AND NOT j.rerun RETURNING j.*)
    \(fragment: CompletedRun.intoHistory)
    """
  }

  /// Moves out any number of runs. A run that is not in the answer was lost, or completed by an earlier attempt whose answer
  /// never came.
  ///
  /// - Parameter waits: for rows that others have locked, which only a single run may do: a batch that waits in its order
  ///   for a transaction that takes the same rows in another would never end.
  static func query(_ runs: [CompletedRun], waits: Bool = false) -> Query {
    let ids = runs.map(\.id)
    let tokens = runs.map(\.token)
    return """
      WITH input AS (SELECT * FROM unnest(\(ids), \(tokens)) AS t (id, token)),
      mine AS MATERIALIZED (
        SELECT j.id, j.rerun FROM magpie.job j JOIN input i ON i.id = j.id WHERE j.run_token = i.token
        FOR UPDATE OF j \(unsafe: waits ? "" : "SKIP LOCKED")),
      gone AS (
        DELETE FROM magpie.job j WHERE j.id = ANY (ARRAY(SELECT m.id FROM mine m WHERE NOT m.rerun)) RETURNING j.*),
      kept AS (\(fragment: intoHistory)),
      again AS (
        UPDATE magpie.job j SET state = 'available', rerun = false, runs = j.runs + 1, available_at = now(),
          args = coalesce(j.rerun_args, j.args), rerun_args = NULL, attempt = 0, crashes = 0, snoozes = 0,
          queue = 'default', cancel_requested = false, run_token = NULL, worker_id = NULL, deadline_at = NULL,
          checkpoint = NULL, progress_done = NULL, progress_total = NULL, progress_most = 0
        WHERE j.id = ANY (ARRAY(SELECT m.id FROM mine m WHERE m.rerun)) RETURNING j.id)
      SELECT k.id, 'completed' FROM kept k
      UNION ALL SELECT a.id, 'rerun' FROM again a
      UNION ALL SELECT j.id, 'busy' FROM magpie.job j JOIN input i ON i.id = j.id
        WHERE j.run_token = i.token AND j.id NOT IN (SELECT m.id FROM mine m)
      """
  }

  private static let intoHistory: Query = """
    INSERT INTO magpie.job_done (id, state, created_at, started_at, worker_id, run_token, attempt, max_attempts, crashes,
      priority, unattended, kind, subject, args, progress_done, progress_total, last_error, errors)
    SELECT g.id, 'completed', g.created_at, g.started_at, g.worker_id, g.run_token, g.attempt, g.max_attempts, g.crashes,
      g.priority, g.unattended, g.kind, g.subject, g.args, g.progress_done, g.progress_total, g.last_error, g.errors
    FROM gone g RETURNING job_done.id
    """
}
