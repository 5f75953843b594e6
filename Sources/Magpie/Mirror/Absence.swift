import Postgres

/// Why something may not be stored: what the upstream said, where the person went, how the job that should fetch it fares.
public struct Absence: Sendable {
  /// The upstream's word that it is not there, while it is still to be believed.
  public struct Fact: Sendable {
    /// 404, 409, 410 or 451.
    public let status: Int
    /// Seconds since it was said.
    public let age: Double
  }

  /// The job of the subject.
  public struct Job: Sendable {
    /// Names it under `/v1/jobs`.
    public let id: Int64
    /// `scheduled`, `available`, `held` or `running`.
    public let state: String
    /// What stopped it the last time, such as `upstream/offline: …`; `nil` when nothing has.
    public let lastError: String?
    /// Seconds until it is tried (again).
    public let wait: Double
    /// Whether it waits because its last attempt failed, and not for a budget.
    let isRetry: Bool

    /// The stable code at the beginning of `lastError`, if it waits because of the upstream. A job whose worker died, or lost
    /// its database, goes on in a moment.
    public var obstacle: String? {
      guard state == "scheduled", isRetry, wait > 0, let lastError, lastError.hasPrefix("upstream/") else { return nil }
      return lastError.prefix { $0 != ":" && $0 != " " }.description
    }
  }

  /// `nil` when nothing is known, or what was known is too old.
  public let fact: Fact?
  /// The login the person has now, if it was asked for by an old one.
  public let movedTo: String?
  /// `nil` when nobody has asked for it, or the job is done.
  public let job: Job?

  /// A read that needs no account: callers have been authenticated by the read before.
  static func query(_ subject: Subject) -> Query {
    let key = subject.person.key
    return """
      SELECT f.status, extract(epoch FROM now() - f.checked_at)::float8, r.login,
             j.id, j.state::text, j.last_error, greatest(0, extract(epoch FROM j.available_at - now()))::float8,
             coalesce(j.wait_reason = 'retry', false)
        FROM (SELECT) AS one
        LEFT JOIN magpie.upstream_fact f ON f.subject = \("github-user:" + key)
        LEFT JOIN LATERAL (
          SELECT u.login FROM magpie.github_login l JOIN magpie.github_user u ON u.id = l.user_id
           WHERE l.login_key = \(key) AND u.login_key <> l.login_key AND u.state <> 'gone'
             AND NOT EXISTS (SELECT FROM magpie.github_user o WHERE o.login_key = l.login_key)
           ORDER BY l.seen_until DESC LIMIT 1) r ON true
        LEFT JOIN magpie.job j ON j.kind = \(subject.jobKind) AND j.subject = \(key)
      """
  }

  init(_ row: Row, negativeLife: Double) throws(PostgresError) {
    let fields = try row.decode((Int?, Double?, String?, Int64?, String?, String?, Double?, Bool).self)
    fact = fields.0.flatMap { status in
      fields.1.flatMap { $0 < negativeLife ? Fact(status: status, age: max(0, $0)) : nil }
    }
    movedTo = fields.2
    job = fields.3.map {
      Job(id: $0, state: fields.4 ?? "", lastError: fields.5, wait: fields.6 ?? 0, isRetry: fields.7)
    }
  }
}
