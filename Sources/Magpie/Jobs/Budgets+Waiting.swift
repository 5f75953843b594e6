import Postgres

extension Budgets {
  /// Lets jobs look at the gate that were put off because it was closed: there is another way through it now.
  ///
  /// - Parameter prefix: of the kinds of job that ask this upstream.
  /// - Throws: `PostgresError`.
  func endWaits(ofKinds prefix: String) async throws(PostgresError) {
    // What is due is not met again, so that this ends.
    while true {
      let rows = try await database.retrying(
        """
        UPDATE magpie.job j SET available_at = now()
         WHERE j.id = ANY (ARRAY(
           SELECT x.id FROM magpie.job x
            WHERE x.state = 'scheduled' AND x.wait_reason = 'snooze' AND x.available_at > now() AND starts_with(x.kind, \(prefix))
            ORDER BY x.id LIMIT 1000 FOR UPDATE SKIP LOCKED))
        RETURNING 1
        """)
      if rows.count < 1_000 { return }
    }
  }
}
