import Postgres

extension Favorites {
  /// Adds an item or changes what `change` names; doing it again is the same as doing it once.
  ///
  /// - Parameters:
  ///   - id: of GitHub's kinds also `@login` or `@owner/repo`, which waits for its id.
  ///   - expected: the versions the client has seen, from `If-Match`; `nil` for unconditional writes.
  /// - Returns: `nil` when the token is nobody's.
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write, `MG424` for a collection that is not there,
  ///   `MG429` when the account is full, and class 22 or 23 for values beyond limits.
  public func put(
    _ kind: Favorite.Kind, _ id: String, _ change: Favorite.Change, expected: [Int64]?, token: [UInt8]
  ) async throws -> Favorite.Outcome? {
    let key = Favorites.key(kind, id)
    // A second try meets what a simultaneous first PUT of the same item has inserted.
    for _ in 0..<2 {
      let rows = try await database.write(
        Favorites.write(kind, id, change, expected: expected), after: [Favorites.authenticate(token)])
      let fields = try rows[0].decode((Int64?, String?, Int64?, Bool?).self)
      if fields.0 == nil { return nil }
      if let document = fields.1, let version = fields.2, let created = fields.3 {
        let bytes = Array(document.utf8)
        return created ? .created(document: bytes, version: version) : .kept(document: bytes, version: version)
      }
      if expected != nil {
        switch try await item(kind, key, token: token) {
        case .nobody: return nil
        case .missing: return .conflict(document: nil, version: nil)
        case .found(let document, let version): return .conflict(document: document, version: version)
        }
      }
    }
    throw Contention()
  }

  /// What a change of one item did.
  public enum Edit: Sendable {
    case nobody
    case missing
    case changed(document: [UInt8], version: Int64)
    case conflict(document: [UInt8], version: Int64)
  }

  /// Changes what `change` names of an item that is there.
  ///
  /// - Throws: as `put`.
  public func change(
    _ kind: Favorite.Kind, _ id: String, _ change: Favorite.Change, expected: [Int64]?, token: [UInt8]
  ) async throws -> Edit {
    let rows = try await database.write(
      """
      WITH changed AS (\(fragment: Favorites.edit(kind, id, change, expected: expected)) RETURNING f.document, f.version)
      SELECT magpie.current_account(), c.document, c.version FROM (SELECT) AS one LEFT JOIN changed c ON true
      """, after: [Favorites.authenticate(token)])
    let (account, document, version) = try rows[0].decode((Int64?, String?, Int64?).self)
    guard account != nil else { return .nobody }
    if let document, let version { return .changed(document: Array(document.utf8), version: version) }
    guard expected != nil else { return .missing }
    switch try await item(kind, id, token: token) {
    case .nobody: return .nobody
    case .missing: return .missing
    case .found(let document, let version): return .conflict(document: document, version: version)
    }
  }

  /// Brings a removed item back as it was: with note, tags, collections, place, and the time it was added.
  ///
  /// - Returns: `nil` when the token is nobody's; `kept` when the item is there; `conflict` without a document when there is
  ///   nothing to bring back.
  /// - Throws: as `put`.
  public func restore(_ kind: Favorite.Kind, _ id: String, token: [UInt8]) async throws -> Favorite.Outcome? {
    let rows = try await database.queryWithKey(
      """
      WITH restored AS (
        INSERT INTO magpie.favorite (account_id, kind, subject_id, state, added_at)
        SELECT t.account_id, t.kind, t.subject_id, t.state, t.added_at FROM magpie.favorite_tombstone t
         WHERE t.account_id = magpie.current_account() AND t.kind = \(kind.rawValue) AND t.subject_id = \(id)
        ON CONFLICT DO NOTHING
        RETURNING document, version)
      SELECT magpie.current_account(), r.document, r.version FROM (SELECT) AS one LEFT JOIN restored r ON true
      """, after: [Favorites.authenticate(token)])
    let (account, document, version) = try rows[0].decode((Int64?, String?, Int64?).self)
    guard account != nil else { return nil }
    if let document, let version { return .created(document: Array(document.utf8), version: version) }
    switch try await item(kind, id, token: token) {
    case .nobody: return nil
    case .missing: return .conflict(document: nil, version: nil)
    case .found(let document, let version): return .kept(document: document, version: version)
    }
  }

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
    let rows = try await database.write(
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

  /// How an id is stored: names make no difference between capitals and small letters.
  static func key(_ kind: Favorite.Kind, _ id: String) -> String {
    switch kind {
    case .githubUser, .githubRepository: id.hasPrefix("@") ? id.lowercased() : id
    case .gif, .photo: id
    }
  }

  static func edit(_ kind: Favorite.Kind, _ id: String, _ change: Favorite.Change, expected: [Int64]?) -> Query {
    """
    UPDATE magpie.favorite f
       SET note = coalesce(\(change.note)::text, f.note), tags = coalesce(\(change.tags)::text[], f.tags),
           collections = coalesce(\(change.collections)::uuid[], f.collections),
           rank = coalesce(\(change.rank)::text, f.rank)
     WHERE f.account_id = magpie.current_account() AND f.kind = \(kind.rawValue) AND f.subject_id = \(id)
       AND (\(expected)::bigint[] IS NULL OR ARRAY[f.version, 0] && \(expected)::bigint[])
    """
  }

  /// Not `ON CONFLICT DO UPDATE`: that would fire the insert trigger, and with it raise the account's version, even when
  /// nothing changes. What the mirror knows of a new item, the trigger fills in.
  private static func write(
    _ kind: Favorite.Kind, _ id: String, _ change: Favorite.Change, expected: [Int64]?
  ) -> Query {
    let snapshot = change.snapshot
    let document = snapshot.flatMap { $0.document.isEmpty ? nil : JSON($0.document) }
    let key = key(kind, id)
    return """
      WITH changed AS (
        UPDATE magpie.favorite f
           SET note = coalesce(\(change.note)::text, f.note), tags = coalesce(\(change.tags)::text[], f.tags),
               collections = coalesce(\(change.collections)::uuid[], f.collections),
               rank = coalesce(\(change.rank)::text, f.rank),
               added_at = least(f.added_at, \(change.addedAt)::timestamptz),
               title = CASE WHEN f.title = '' THEN coalesce(\(snapshot?.title)::text, '') ELSE f.title END,
               subtitle = CASE WHEN f.subtitle = '' THEN coalesce(\(snapshot?.subtitle)::text, '') ELSE f.subtitle END,
               url = CASE WHEN f.url = '' THEN coalesce(\(snapshot?.url)::text, '') ELSE f.url END,
               image = CASE WHEN f.image = '' THEN coalesce(\(snapshot?.image)::text, '') ELSE f.image END,
               snapshot = coalesce(f.snapshot, \(document)::jsonb)
         WHERE f.account_id = magpie.current_account() AND f.kind = \(kind.rawValue) AND f.subject_id = \(key)
           AND (\(expected)::bigint[] IS NULL OR ARRAY[f.version, 0] && \(expected)::bigint[])
        RETURNING f.document, f.version, false AS is_new),
      created AS (
        INSERT INTO magpie.favorite (account_id, kind, subject_id, title, subtitle, url, image, note, tags, collections, rank,
          added_at, snapshot)
        SELECT magpie.current_account(), \(kind.rawValue), \(id), coalesce(\(snapshot?.title)::text, ''),
               coalesce(\(snapshot?.subtitle)::text, ''), coalesce(\(snapshot?.url)::text, ''),
               coalesce(\(snapshot?.image)::text, ''), coalesce(\(change.note)::text, ''),
               coalesce(\(change.tags)::text[], '{}'), coalesce(\(change.collections)::uuid[], '{}'),
               coalesce(\(change.rank)::text, ''), coalesce(\(change.addedAt)::timestamptz, now()), \(document)::jsonb
         WHERE magpie.current_account() IS NOT NULL AND \(expected)::bigint[] IS NULL AND NOT EXISTS (SELECT FROM changed)
            AND NOT EXISTS (SELECT FROM magpie.favorite f WHERE f.account_id = magpie.current_account()
                               AND f.kind = \(kind.rawValue) AND f.subject_id = \(key))
        ON CONFLICT DO NOTHING
        RETURNING document, version, true AS is_new)
      SELECT magpie.current_account(), w.* FROM (SELECT) AS one
        LEFT JOIN (SELECT * FROM changed UNION ALL SELECT * FROM created) AS w ON true
      """
  }
}
