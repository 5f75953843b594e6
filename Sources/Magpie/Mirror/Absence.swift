import Postgres

/// Why something may not be stored: what the upstream said, where the person went, how the job that should fetch it fares.
public struct Absence: Sendable {
  /// The upstream's word that it is not there, while it is still to be believed.
  public struct Fact: Sendable {
    /// 404, 409, 410 or 451; of repositories also 403, and 301 for a name that leads elsewhere.
    public let status: Int
    /// The upstream's reason, such as `dmca`; empty when it gave none.
    public let reason: String
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
  /// The login the person has now, if it was asked for by an old one; the id of a repository that was.
  public let movedTo: String?
  /// `nil` when nobody has asked for it, or the job is done.
  public let job: Job?

  /// A read that needs no account: callers have been authenticated by the read before.
  static func query(_ subject: Subject) -> Query {
    if let repository = subject.repository { return query(subject, of: repository) }
    let key = subject.key
    return """
      SELECT f.status, extract(epoch FROM now() - f.checked_at)::float8, r.login,
             j.id, j.state::text, j.last_error, greatest(0, extract(epoch FROM j.available_at - now()))::float8,
             coalesce(j.wait_reason = 'retry', false), f.message
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

  /// The same for something of a repository: what was said of it by this name, by its id, or of this part alone.
  private static func query(_ subject: Subject, of repository: RepositoryKey) -> Query {
    """
    SELECT f.status, extract(epoch FROM now() - f.checked_at)::float8, n.repo_id::text,
           j.id, j.state::text, j.last_error, greatest(0, extract(epoch FROM j.available_at - now()))::float8,
           coalesce(j.wait_reason = 'retry', false), f.message
      FROM (SELECT) AS one
      LEFT JOIN magpie.github_repo r ON \(fragment: repository.condition)
      LEFT JOIN LATERAL (
        SELECT f.* FROM magpie.upstream_fact f
         WHERE f.subject IN ('github-repo:' || \(repository.key), 'github-repo:id:' || r.id,
                             \(subject.jobKind + ":" + subject.key))
         ORDER BY f.checked_at DESC LIMIT 1) f ON true
      LEFT JOIN LATERAL (
        SELECT n.repo_id FROM magpie.github_repo_name n JOIN magpie.github_repo m ON m.id = n.repo_id
         WHERE n.name_key = \(repository.key) AND r.id IS NULL AND m.state <> 'gone'
         ORDER BY n.seen_until DESC LIMIT 1) n ON true
      LEFT JOIN magpie.job j ON j.kind = \(subject.jobKind) AND j.subject = \(subject.key)
    """
  }

  init(_ row: Row, life: (_ status: Int) -> Double) throws(PostgresError) {
    let fields = try row.decode((Int?, Double?, String?, Int64?, String?, String?, Double?, Bool, String?).self)
    fact = fields.0.flatMap { status in
      fields.1.flatMap { age in
        age < life(status) ? Fact(status: status, reason: fields.8 ?? "", age: max(0, age)) : nil
      }
    }
    movedTo = fields.2
    job = fields.3.map {
      Job(id: $0, state: fields.4 ?? "", lastError: fields.5, wait: fields.6 ?? 0, isRetry: fields.7)
    }
  }
}
