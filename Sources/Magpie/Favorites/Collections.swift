import Postgres

/// An account's collections of favorites.
public struct Collections: Sendable {
  /// Characters of a name at most.
  public static let maxName = 100
  /// Collections of one account at most; the database holds to it.
  public static let maxCount = 1_000

  /// What a collection is known by; an app may make one up.
  public typealias ID = UUID

  let database: Database

  /// Collections in that database.
  public init(database: Database) { self.database = database }

  /// A collection, ready to be sent.
  public struct Item: Sendable {
    /// Without the number of its favorites.
    public let document: [UInt8]
    /// At its last change of name or place.
    public let version: Int64
    /// How many favorites are in it.
    public let count: Int64
  }

  /// A page of them, by rank, then name, then id.
  public struct Page: Sendable {
    /// In order.
    public let items: [Item]
    /// What `after` must be to go on; `nil` at the end.
    public let next: [String]?
  }

  /// A page; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func page(limit: Int, after: [String]?, token: [UInt8]) async throws -> Page? {
    var beginning: Query = ""
    if let after, after.count == 3 {
      beginning =
        " AND (c.rank, magpie.fold(c.name) COLLATE \"C\", c.id) > (\(after[0])::text, \(after[1])::text, \(after[2])::uuid)"
    }
    let rows = try await database.query(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT c.document, c.version, c.rank, c.name, c.id::text,
             (SELECT count(*) FROM magpie.favorite_collection m WHERE m.account_id = me.account_id AND m.collection_id = c.id)
        FROM me LEFT JOIN LATERAL (
          SELECT c.document, c.version, c.rank, magpie.fold(c.name) COLLATE "C" AS name, c.id FROM magpie.collection c
           WHERE c.account_id = me.account_id\(fragment: beginning)
           ORDER BY c.rank, 4, c.id LIMIT \(limit + 1)) c ON true
       WHERE me.account_id IS NOT NULL
       ORDER BY c.rank, c.name, c.id
      """)
    guard !rows.isEmpty else { return nil }
    var items: [Item] = []
    var next: [String]?
    for row in rows.prefix(limit) {
      let (document, version, rank, name, id, count) = try row.decode(
        (String?, Int64?, String?, String?, String?, Int64).self)
      guard let document, let version, let rank, let name, let id else { continue }
      items.append(Item(document: Array(document.utf8), version: version, count: count))
      next = [rank, name, id]
    }
    return Page(items: items, next: rows.count > limit ? next : nil)
  }

  /// What a read or write of one found.
  public enum Outcome: Sendable {
    case nobody
    case missing
    case found(Item)
    case created(Item)
    case conflict(Item)
  }

  /// One of them.
  ///
  /// - Throws: `PostgresError`.
  public func item(_ id: UUID, token: [UInt8]) async throws -> Outcome {
    let rows = try await database.queryWithKey(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT c.document, c.version,
             (SELECT count(*) FROM magpie.favorite_collection m WHERE m.account_id = me.account_id AND m.collection_id = \(id))
        FROM me LEFT JOIN LATERAL (
          SELECT c.document, c.version FROM magpie.collection c
           WHERE c.account_id = me.account_id AND c.id = \(id) LIMIT 1) c ON true
       WHERE me.account_id IS NOT NULL
      """)
    guard let row = rows.first else { return .nobody }
    let (document, version, count) = try row.decode((String?, Int64?, Int64).self)
    guard let document, let version else { return .missing }
    return .found(Item(document: Array(document.utf8), version: version, count: count))
  }

  /// Makes one. Making the same again gives it as it is; another one of that id is a `conflict`.
  ///
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write and `MG429` when there are too many.
  public func create(_ id: UUID, name: String, rank: String, token: [UInt8]) async throws -> Outcome {
    // In two steps, since a conflict that is left out would raise the account's version.
    let rows = try await database.queryWithKey(
      """
      WITH there AS (
        SELECT c.name FROM magpie.collection c WHERE c.account_id = magpie.current_account() AND c.id = \(id)),
      created AS (
        INSERT INTO magpie.collection (account_id, id, name, rank)
        SELECT magpie.current_account(), \(id), \(name), \(rank)
         WHERE magpie.current_account() IS NOT NULL AND NOT EXISTS (SELECT FROM there)
        ON CONFLICT DO NOTHING RETURNING document, version)
      SELECT magpie.current_account(), c.document, c.version FROM (SELECT) AS one LEFT JOIN created c ON true
      """, after: [Favorites.authenticate(token)])
    let (account, document, version) = try rows[0].decode((Int64?, String?, Int64?).self)
    guard account != nil else { return .nobody }
    if let document, let version {
      return .created(Item(document: Array(document.utf8), version: version, count: 0))
    }
    let found = try await item(id, token: token)
    guard case .found(let item) = found else { return found }
    let same = try await database.queryWithKey(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT 1 FROM me JOIN magpie.collection c
        ON c.account_id = me.account_id AND c.id = \(id) AND c.name = \(name) AND c.rank = \(rank)
      """)
    return same.isEmpty ? .conflict(item) : .found(item)
  }

  /// Changes name or place.
  ///
  /// - Throws: as `create`.
  public func change(
    _ id: UUID, name: String?, rank: String?, expected: [Int64]?, token: [UInt8]
  ) async throws -> Outcome {
    let rows = try await database.write(
      """
      WITH changed AS (
        UPDATE magpie.collection c SET name = coalesce(\(name)::text, c.name), rank = coalesce(\(rank)::text, c.rank)
         WHERE c.account_id = magpie.current_account() AND c.id = \(id)
           AND (\(expected)::bigint[] IS NULL OR ARRAY[c.version, 0] && \(expected)::bigint[])
        RETURNING 1)
      SELECT magpie.current_account(), (SELECT count(*) FROM changed)
      """, after: [Favorites.authenticate(token)])
    return try await outcome(of: rows, id, token)
  }

  /// Removes one; what was in it stays.
  ///
  /// - Returns: `found` when it was there.
  /// - Throws: as `create`.
  public func remove(_ id: UUID, expected: [Int64]?, token: [UInt8]) async throws -> Outcome {
    // Each favorite in it is written anew, which may take longer than a shared connection should be busy.
    let rows = try await database.transaction(retries: 2) { transaction in
      try await transaction.query(
        """
        WITH removed AS (
          DELETE FROM magpie.collection c
           WHERE c.account_id = magpie.current_account() AND c.id = \(id)
             AND (\(expected)::bigint[] IS NULL OR ARRAY[c.version, 0] && \(expected)::bigint[])
          RETURNING c.document, c.version)
        SELECT magpie.current_account(), r.document, r.version FROM (SELECT) AS one LEFT JOIN removed r ON true
        """, after: [Favorites.authenticate(token)])
    }
    let (account, document, version) = try rows[0].decode((Int64?, String?, Int64?).self)
    guard account != nil else { return .nobody }
    if let document, let version { return .found(Item(document: Array(document.utf8), version: version, count: 0)) }
    guard expected != nil, case .found(let item) = try await item(id, token: token) else { return .missing }
    return .conflict(item)
  }

  private func outcome(of rows: Rows, _ id: UUID, _ token: [UInt8]) async throws -> Outcome {
    let (account, count) = try rows[0].decode((Int64?, Int64).self)
    guard account != nil else { return .nobody }
    guard case .found(let item) = try await item(id, token: token) else { return .missing }
    return count > 0 ? .found(item) : .conflict(item)
  }
}
