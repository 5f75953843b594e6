import Postgres

/// What an account's apps have done with things, counted, and the little that a widget shows.
public struct Activity: Sendable {
  /// What can be told.
  public enum Kind: String, CaseIterable, Sendable {
    case copied
    case shared
    case opened
  }

  let database: Database

  /// Activity in that database.
  public init(database: Database) { self.database = database }

  /// Counts one; answers how many there are now, or `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write.
  public func record(_ kind: Kind, of subject: String, token: [UInt8]) async throws -> Int64? {
    let rows = try await database.queryWithKey(
      """
      INSERT INTO magpie.activity AS a (account_id, kind, count, subject)
      SELECT magpie.current_account(), \(kind.rawValue), 1, \(subject) WHERE magpie.current_account() IS NOT NULL
      ON CONFLICT (account_id, kind) DO UPDATE SET count = a.count + 1, subject = EXCLUDED.subject, last_at = now()
      RETURNING a.count
      """, after: [Favorites.authenticate(token)])
    return try rows.first?.decode(Int64.self)
  }

  /// What a widget shows.
  public struct Summary: Sendable {
    /// How many favorites there are.
    public let favorites: Int64
    /// How often something was copied.
    public let copied: Int64
    /// The newest favorite, its texts cut to what fits; `nil` when there is none.
    public let latest: Latest?
  }

  /// The newest favorite, as far as a small screen shows it.
  public struct Latest: Sendable {
    /// Of the favorite.
    public let kind, id, title, subtitle, url, image, addedAt: String
  }

  /// `nil` when the token is nobody's. Texts have at most 60 characters; an address is left out when it is long.
  ///
  /// - Throws: `PostgresError`.
  public func summary(token: [UInt8]) async throws -> Summary? {
    let rows = try await database.query(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT a.favorite_count, c.count, f.kind, f.subject_id, left(f.title, 60), left(f.subtitle, 60),
             CASE WHEN octet_length(f.url) <= 300 THEN f.url ELSE '' END,
             CASE WHEN octet_length(f.image) <= 300 THEN f.image ELSE '' END, magpie.json_time(f.added_at)
        FROM me JOIN LATERAL (SELECT a.favorite_count FROM magpie.account a WHERE a.id = me.account_id OFFSET 0) a ON true
        LEFT JOIN LATERAL (
          SELECT c.count FROM magpie.activity c WHERE c.account_id = me.account_id AND c.kind = 'copied' OFFSET 0) c ON true
        LEFT JOIN LATERAL (
          SELECT f.* FROM magpie.favorite f WHERE f.account_id = me.account_id
           ORDER BY f.added_at DESC, f.kind, f.subject_id LIMIT 1) f ON true
       WHERE me.account_id IS NOT NULL
      """)
    guard let row = rows.first else { return nil }
    let fields = try row.decode(
      (Int64, Int64?, String?, String?, String?, String?, String?, String?, String?).self)
    var latest: Latest?
    if let kind = fields.2, let id = fields.3 {
      latest = Latest(
        kind: kind, id: id, title: fields.4 ?? "", subtitle: fields.5 ?? "", url: fields.6 ?? "",
        image: fields.7 ?? "", addedAt: fields.8 ?? "")
    }
    return Summary(favorites: fields.0, copied: fields.1 ?? 0, latest: latest)
  }
}
