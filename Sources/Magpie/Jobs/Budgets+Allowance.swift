import Postgres

extension Budgets {
  /// What a class of work may still ask of one of an upstream's resources, over all credentials together.
  public struct Allowance: Sendable, Equatable {
    /// As the upstream calls it, such as `core` or `search`.
    public let resource: String
    /// Requests in a window, without what the class must leave to others.
    public let limit: Int64
    /// Requests left now; 0 while the upstream wants to be left alone.
    public let remaining: Int64
    /// Seconds since 1970 at which more can be asked, by the database's clock.
    public let reset: Int64

    /// What is left of a resource.
    public init(resource: String, limit: Int64, remaining: Int64, reset: Int64) {
      self.resource = resource
      self.limit = limit
      self.remaining = remaining
      self.reset = reset
    }
  }

  /// What a class may ask, by resource; `nil` when the token is nobody's. One statement.
  ///
  /// Credentials that the upstream has refused, or that no process has announced for half an hour, do not count.
  ///
  /// - Throws: `PostgresError`.
  public func allowances(pool: String, priority: Job.Priority, token: [UInt8]) async throws -> [Allowance]? {
    let rows = try await database.query(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
      line AS (
        SELECT b.resource, b.window_limit - k.kept AS size, b.reset_at > now() AS runs,
               greatest(0, b.remaining - k.kept) AS left_over, b.reset_at, b.window_span, c.blocked_until
          FROM magpie.credential c JOIN magpie.budget b ON b.credential = c.id,
               LATERAL (SELECT ceil(b.window_limit * g.reserve / 100.0)::bigint AS kept FROM magpie.budget_class g
                         WHERE g.class = \(min(priority.rawValue, 3))::int) k
         WHERE c.pool = \(pool) AND c.disabled_at IS NULL AND c.seen_at > now() - interval '30 minutes')
      SELECT me.account_id, l.resource, sum(l.size)::bigint,
             sum(CASE WHEN l.blocked_until > now() THEN 0 WHEN l.runs THEN l.left_over ELSE l.size END)::bigint,
             min(ceil(extract(epoch FROM greatest(l.blocked_until,
               CASE WHEN l.runs THEN l.reset_at ELSE now() + l.window_span END))))::bigint
        FROM me LEFT JOIN line l ON true
       WHERE me.account_id IS NOT NULL
       GROUP BY me.account_id, l.resource ORDER BY l.resource
      """)
    if rows.isEmpty { return nil }
    return try rows.compactMap { row in
      let (_, resource, limit, remaining, reset) = try row.decode((Int64, String?, Int64?, Int64?, Int64?).self)
      guard let resource, let limit, let remaining, let reset else { return nil }
      return Allowance(resource: resource, limit: limit, remaining: remaining, reset: reset)
    }
  }
}
