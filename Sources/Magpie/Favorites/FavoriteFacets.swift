import Postgres

/// How many of a list's favorites there are of each kind and with each tag.
public struct FavoriteFacets: Sendable {
  /// Tags that are told, those with most favorites first.
  public static let maxTags = 200

  /// Kinds that there are, by name.
  public let kinds: [(name: String, count: Int64)]
  /// Tags, the most frequent first; ties by name.
  public let tags: [(name: String, count: Int64)]

  /// Of everything that the list's filters let through, whatever page is asked for.
  static func query(_ list: FavoriteList, token: [UInt8]) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
    item AS MATERIALIZED (
      SELECT f.kind, f.tags FROM me CROSS JOIN LATERAL (
        SELECT f.kind, f.tags FROM magpie.favorite f WHERE f.account_id = me.account_id\(fragment: list.filters) OFFSET 0) f),
    tag AS (
      SELECT t.name COLLATE "C" AS name, count(*) AS n FROM item i CROSS JOIN LATERAL unnest(i.tags) AS t(name)
       GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT \(maxTags))
    SELECT 0 AS place, NULL AS name, me.account_id AS n FROM me WHERE me.account_id IS NOT NULL
    UNION ALL SELECT * FROM (SELECT 1, i.kind, count(*) FROM item i GROUP BY i.kind ORDER BY i.kind) AS k
    UNION ALL SELECT 2, t.name, t.n FROM tag t
    """
  }

  /// `nil` when the token was nobody's.
  init?(_ rows: Rows) throws(PostgresError) {
    var isSomebody = false
    var kinds: [(name: String, count: Int64)] = []
    var tags: [(name: String, count: Int64)] = []
    for row in rows {
      let (place, name, count) = try row.decode((Int, String?, Int64).self)
      switch place {
      case 1: kinds.append((name ?? "", count))
      case 2: tags.append((name ?? "", count))
      default: isSomebody = true
      }
    }
    guard isSomebody else { return nil }
    self.kinds = kinds
    self.tags = tags
  }
}

extension Favorites {
  /// Counts what a list's filters let through; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func facets(of list: FavoriteList, token: [UInt8]) async throws -> FavoriteFacets? {
    try FavoriteFacets(try await database.query(FavoriteFacets.query(list, token: token)))
  }
}
