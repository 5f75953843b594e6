import Postgres

extension Budgets {
  /// One budget as it stands.
  public struct Line: Sendable {
    /// The credential's id.
    public let credential: String
    /// The upstream's name for the budget.
    public let resource: String
    /// Requests in a window.
    public let limit: Int
    /// Requests left in it.
    public let remaining: Int
    /// Until the window ends; `nil` when none is running.
    public let reset: Duration?
    /// Until the credential may be used again; `nil` when it may.
    public let blockedFor: Duration?
    /// Whether the upstream refused the credential for good.
    public let isDisabled: Bool
  }

  /// The budgets of the credentials that some process has announced within the last half hour.
  ///
  /// - Throws: `PostgresError`.
  public func lines(pool: String) async throws(PostgresError) -> [Line] {
    let rows = try await database.query(
      """
      SELECT b.credential, b.resource, b.window_limit,
        CASE WHEN b.reset_at > now() THEN b.remaining ELSE b.window_limit END,
        CASE WHEN b.reset_at > now() THEN extract(epoch FROM b.reset_at - now())::float8 END,
        CASE WHEN c.blocked_until > now() THEN extract(epoch FROM c.blocked_until - now())::float8 END,
        c.disabled_at IS NOT NULL
      FROM magpie.credential c JOIN magpie.budget b ON b.credential = c.id
      WHERE c.pool = \(pool) AND c.seen_at > now() - interval '30 minutes'
      ORDER BY b.credential, b.resource
      """)
    var lines: [Line] = []
    for row in rows {
      let (credential, resource, limit, remaining, reset, blocked, isDisabled) = try row.decode(
        (String, String, Int, Int, Double?, Double?, Bool).self)
      lines.append(
        Line(
          credential: credential, resource: resource, limit: limit, remaining: remaining,
          reset: reset.map { .seconds($0) }, blockedFor: blocked.map { .seconds($0) }, isDisabled: isDisabled))
    }
    return lines
  }

  /// Whether a job of this priority could ask the upstream now, without asking. For those who would otherwise wait in vain.
  ///
  /// - Returns: `nil`: yes. Otherwise why not, and until when if that is known.
  /// - Throws: `PostgresError`.
  public func outlook(
    pool: String, resource: String, priority: Job.Priority
  ) async throws(PostgresError) -> (refusal: Refusal, opensIn: Duration?)? {
    let rows = try await database.query(
      """
      SELECT g.reason, CASE WHEN g.opens_at < 'infinity' THEN extract(epoch FROM g.opens_at - now())::float8 END
      FROM magpie.credential c JOIN magpie.budget b ON b.credential = c.id AND b.resource = \(resource),
        magpie.budget_gate(c, b, \(priority.rawValue)::int, 1, clock_timestamp()) g
      WHERE c.pool = \(pool) AND c.seen_at > now() - interval '30 minutes'
      ORDER BY g.opens_at LIMIT 1
      """)
    guard let row = rows.first else { return (.none, nil) }
    let (reason, seconds) = try row.decode((String?, Double?).self)
    guard let reason else { return nil }
    let refusal = Refusal(rawValue: reason) ?? .busy
    return refusal == .paced || refusal == .busy ? nil : (refusal, seconds.map { .seconds($0) })
  }
}
