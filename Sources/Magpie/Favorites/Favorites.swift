import JSONText
import Postgres

/// Reads and writes favorites. Every call names the caller by the hash of a token; `nil` and `false` answers for "nobody".
public struct Favorites: Sendable {
  let database: Database

  /// Favorites in that database.
  public init(database: Database) { self.database = database }

  /// A page of a list; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func page(of list: FavoriteList, token: [UInt8]) async throws -> FavoriteList.Page? {
    let rows = try await database.query(list.query(token: token))
    return rows.isEmpty ? nil : list.page(rows)
  }

  /// What to expect of an item that only has to be there (`If-Match: *`). No item has this version.
  public static let anyVersion: [Int64] = [0]

  /// What one item's read found.
  public enum Item: Sendable {
    case nobody
    case missing
    case found(document: [UInt8], version: Int64)
  }

  /// One item.
  ///
  /// - Throws: `PostgresError`.
  public func item(_ kind: Favorite.Kind, _ id: String, token: [UInt8]) async throws -> Item {
    let rows = try await database.query(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT f.document, f.version
        FROM me LEFT JOIN LATERAL (
          SELECT f.document, f.version FROM magpie.favorite f
           WHERE f.account_id = me.account_id AND f.kind = \(kind.rawValue) AND f.subject_id = \(id) LIMIT 1) f ON true
       WHERE me.account_id IS NOT NULL
      """)
    guard let first = rows.first else { return .nobody }
    let (document, version) = try first.decode((String?, Int64?).self)
    guard let document, let version else { return .missing }
    return .found(document: Array(document.utf8), version: version)
  }

  /// Adds an item or changes what `change` names; doing it again is the same as doing it once.
  ///
  /// - Parameter expected: the versions the client has seen, from `If-Match`; `nil` for unconditional writes.
  /// - Returns: `nil` when the token is nobody's.
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write, and class 22 or 23 for values beyond limits.
  public func put(
    _ kind: Favorite.Kind, _ id: String, _ change: Favorite.Change, expected: [Int64]?, token: [UInt8]
  ) async throws -> Favorite.Outcome? {
    // A second try meets what a simultaneous first PUT of the same item has inserted.
    for _ in 0..<2 {
      let rows = try await database.query(
        Favorites.write(kind, id, change, expected: expected), after: [Favorites.authenticate(token)])
      let fields = try rows[0].decode((Int64?, String?, Int64?, Bool?).self)
      if fields.0 == nil { return nil }
      if let document = fields.1, let version = fields.2, let created = fields.3 {
        let bytes = Array(document.utf8)
        return created ? .created(document: bytes, version: version) : .kept(document: bytes, version: version)
      }
      if expected != nil {
        switch try await item(kind, id, token: token) {
        case .nobody: return nil
        case .missing: return .conflict(document: nil, version: nil)
        case .found(let document, let version): return .conflict(document: document, version: version)
        }
      }
    }
    throw Contention()
  }

  /// The same item was added and removed by others over and over meanwhile.
  public struct Contention: Error {}

  /// What a DELETE did.
  public enum Removal: Sendable {
    case nobody
    case missing
    case removed
    case conflict(document: [UInt8], version: Int64)
  }

  /// Removes an item; a tombstone stays.
  ///
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write.
  public func remove(_ kind: Favorite.Kind, _ id: String, expected: [Int64]?, token: [UInt8]) async throws -> Removal {
    let rows = try await database.query(
      """
      WITH removed AS (
        DELETE FROM magpie.favorite f
         WHERE f.account_id = magpie.current_account() AND f.kind = \(kind.rawValue) AND f.subject_id = \(id)
           AND (\(expected)::bigint[] IS NULL OR ARRAY[f.version, 0] && \(expected)::bigint[])
        RETURNING 1)
      SELECT magpie.current_account(), (SELECT count(*) FROM removed)
      """, after: [Favorites.authenticate(token)])
    let (account, removed) = try rows[0].decode((Int64?, Int64).self)
    guard account != nil else { return .nobody }
    if removed > 0 { return .removed }
    if expected == nil { return .missing }
    switch try await item(kind, id, token: token) {
    case .nobody: return .nobody
    case .missing: return .missing
    case .found(let document, let version): return .conflict(document: document, version: version)
    }
  }

  /// Runs before a write in the same transaction, so that row-level security knows the account when the write begins.
  private static func authenticate(_ token: [UInt8]) -> Query { "SELECT magpie.authenticate(\(token), 'write')" }

  /// Not `ON CONFLICT DO UPDATE`: that would fire the insert trigger, and with it raise the account's version, even when
  /// nothing changes.
  private static func write(
    _ kind: Favorite.Kind, _ id: String, _ change: Favorite.Change, expected: [Int64]?
  ) -> Query {
    let snapshot = change.snapshot
    let document = snapshot.flatMap { $0.document.isEmpty ? nil : JSON($0.document) }
    return """
      WITH changed AS (
        UPDATE magpie.favorite f
           SET note = coalesce(\(change.note)::text, f.note), tags = coalesce(\(change.tags)::text[], f.tags),
               rank = coalesce(\(change.rank)::text, f.rank),
               added_at = least(f.added_at, \(change.addedAt)::timestamptz),
               title = CASE WHEN f.title = '' THEN coalesce(\(snapshot?.title)::text, '') ELSE f.title END,
               subtitle = CASE WHEN f.subtitle = '' THEN coalesce(\(snapshot?.subtitle)::text, '') ELSE f.subtitle END,
               url = CASE WHEN f.url = '' THEN coalesce(\(snapshot?.url)::text, '') ELSE f.url END,
               image = CASE WHEN f.image = '' THEN coalesce(\(snapshot?.image)::text, '') ELSE f.image END,
               snapshot = coalesce(f.snapshot, \(document)::jsonb)
         WHERE f.account_id = magpie.current_account() AND f.kind = \(kind.rawValue) AND f.subject_id = \(id)
           AND (\(expected)::bigint[] IS NULL OR ARRAY[f.version, 0] && \(expected)::bigint[])
        RETURNING f.document, f.version, false AS is_new),
      source AS (
        SELECT u.login, coalesce(u.name, '') AS name, u.avatar_url, u.state, d.document,
               CASE WHEN octet_length(d.document::text) <= 40000 THEN d.document END AS snapshot
          FROM magpie.github_user u CROSS JOIN LATERAL (SELECT coalesce(u.profile, u.summary)::jsonb AS document) AS d WHERE u.id = \(kind == .githubUser ? Int64(id) : nil)),
      created AS (
        INSERT INTO magpie.favorite (account_id, kind, subject_id, title, subtitle, url, image, state, note, tags, rank, added_at, snapshot)
        SELECT magpie.current_account(), \(kind.rawValue), \(id),
               left(coalesce(s.login, \(snapshot?.title)::text, ''), 500), left(coalesce(s.name, \(snapshot?.subtitle)::text, ''), 500),
               left(coalesce(s.document ->> 'html_url', \(snapshot?.url)::text, ''), 2000),
               left(coalesce(s.avatar_url, \(snapshot?.image)::text, ''), 2000),
               coalesce(s.state, 'ok'), coalesce(\(change.note)::text, ''), coalesce(\(change.tags)::text[], '{}'),
               coalesce(\(change.rank)::text, ''), coalesce(\(change.addedAt)::timestamptz, now()),
               coalesce(\(document)::jsonb, s.snapshot)
          FROM (SELECT) AS one LEFT JOIN source s ON true
         WHERE magpie.current_account() IS NOT NULL AND \(expected)::bigint[] IS NULL AND NOT EXISTS (SELECT FROM changed)
            AND NOT EXISTS (SELECT FROM magpie.favorite f WHERE f.account_id = magpie.current_account()
                               AND f.kind = \(kind.rawValue) AND f.subject_id = \(id))
        ON CONFLICT DO NOTHING
        RETURNING document, version, true AS is_new)
      SELECT magpie.current_account(), w.* FROM (SELECT) AS one
        LEFT JOIN (SELECT * FROM changed UNION ALL SELECT * FROM created) AS w ON true
      """
  }
}
