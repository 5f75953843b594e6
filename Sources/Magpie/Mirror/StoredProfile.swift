import Postgres

/// What a read of a profile found. The document is the upstream's, as it came.
public struct StoredProfile: Sendable {
  /// The numeric id.
  public let id: Int64
  /// What jobs about this person are named by; see `Person.init(storedLogin:id:)`.
  public let person: Person
  /// `ok`, `gone` or `restricted`.
  public let state: String
  /// `nil` when only lists have shown this person so far.
  public let document: [UInt8]?
  /// `nil` when there is no document.
  public let freshness: Freshness?
  /// When any list or profile first showed this person.
  public let firstSeenAt: Instant
  /// The asking account's tags if it has starred the person, else `nil`.
  public let favoriteTags: [String]?

  static func query(_ person: Person, token: [UInt8]) -> Query {
    return """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT u.id, u.login_key, u.state, u.profile, u.profile_fetched_at, u.profile_validated_at,
             extract(epoch FROM now() - u.profile_validated_at)::float8, u.first_seen_at, f.tags, me.account_id
        FROM me LEFT JOIN magpie.github_user u ON \(fragment: person.condition)
        LEFT JOIN LATERAL (
          SELECT f.tags FROM magpie.favorite f
           WHERE f.account_id = me.account_id AND f.kind = 'github-user' AND f.subject_id = u.id::text LIMIT 1) f ON true
       WHERE me.account_id IS NOT NULL
      """
  }

  init?(_ row: Row) throws(PostgresError) {
    guard row[0] != nil else { return nil }
    let fields = try row.decode(
      (Int64, String?, String, String?, Instant?, Instant?, Double?, Instant, [String]?, Int64).self)
    id = fields.0
    person = Person(storedLogin: fields.1, id: fields.0)
    state = fields.2
    document = fields.3.map { Array($0.utf8) }
    freshness = Freshness(fields.4, fields.5, fields.6)
    firstSeenAt = fields.7
    favoriteTags = fields.8
  }
}
