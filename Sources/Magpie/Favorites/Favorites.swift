import JSONText
import Postgres

/// Reads and writes favorites. Every call names the caller by the hash of a token; `nil` and `false` answers for "nobody".
public struct Favorites: Sendable {
  /// Favorites of one account at most; the database holds to it.
  public static let maxCount = 100_000

  let database: Database

  /// Favorites in that database.
  public init(database: Database) { self.database = database }

  /// Collections of the same database.
  public var collections: Collections { Collections(database: database) }

  /// What apps count, in the same database.
  public var activity: Activity { Activity(database: database) }

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
    let rows = try await database.queryWithKey(
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

  /// The same item was added and removed by others over and over meanwhile.
  public struct Contention: Error {}

  /// Runs before a write in the same transaction, so that row-level security knows the account when the write begins.
  static func authenticate(_ token: [UInt8]) -> Query { "SELECT magpie.authenticate(\(token), 'write')" }
}
