import Postgres

/// A page of a search as the upstream has answered it.
public struct StoredSearch: Sendable {
  /// Everything that matches by the upstream's count, also beyond what it shows.
  public let totalCount: Int64
  /// The upstream ran out of time.
  public let isIncomplete: Bool
  /// A query the upstream does not take: `{"message": …, "errors": […]}`. `nil` for a page.
  public let refusal: [UInt8]?
  /// How old it is.
  public let freshness: Freshness

  let rows: Rows
  let items: [Item]

  /// Where in the rows an item stands.
  struct Item: Sendable {
    let id: Int64
    let position: Int64
    let row: Int
  }

  /// Seconds for which it is an answer. What the upstream had no time to end is soon asked anew, as is what it has refused.
  public func life(_ timeToLive: TimeToLive) -> Double {
    if refusal != nil { return timeToLive.negative }
    return isIncomplete ? StoredSearch.incompleteLife(timeToLive) : timeToLive.search
  }

  private static func incompleteLife(_ timeToLive: TimeToLive) -> Double { min(timeToLive.negative, timeToLive.search) }

  /// An SQL expression: whether an answer is stored that lives, as `life` says, and is no older than `maxAge`.
  static func isStored(_ query: SearchQuery, _ timeToLive: TimeToLive, maxAge: Double?) -> Query {
    """
    EXISTS (SELECT FROM magpie.search_page s
      WHERE s.search_key = \(query.key) AND s.page = \(Int32(query.page))
        AND s.validated_at > now() - make_interval(secs => least(\(maxAge), CASE
          WHEN s.status = 422 THEN \(timeToLive.negative)
          WHEN s.is_incomplete THEN \(incompleteLife(timeToLive))
          ELSE \(timeToLive.search) END)))
    """
  }

  /// Items on the page, without those that an earlier page has shown.
  public var ids: [Int64] { items.map(\.id) }

  /// Lends each item's document, with the asking account's tags if it has starred the item.
  public func forEachItem(_ body: (_ document: UnsafeRawBufferPointer, _ favoriteTags: [String]?) -> Void) {
    for item in items { StoredSearch.lend(rows, item.row, body) }
  }

  static func lend(_ rows: Rows, _ row: Int, _ body: (UnsafeRawBufferPointer, [String]?) -> Void) {
    let tags = try? rows[row].decode([String]?.self, at: 3)
    rows.lend(row: row, column: 0) { document in
      if let document { body(document, tags ?? nil) }
    }
  }

  /// The first row tells of the page, and is there for whoever is somebody; then come the items. An item that stands on an
  /// earlier page which is still fresh is left out: the upstream's order changes between requests.
  static func query(_ query: SearchQuery, favorites kind: String, _ timeToLive: TimeToLive, token: [UInt8]) -> Query {
    let key = query.key
    let page = Int32(query.page)
    return """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
      answer AS MATERIALIZED (
        SELECT s.* FROM me CROSS JOIN LATERAL (
          SELECT s.* FROM magpie.search_page s
           WHERE me.account_id IS NOT NULL AND s.search_key = \(key) AND s.page = \(page) LIMIT 1) s),
      earlier AS MATERIALIZED (
        SELECT i AS id FROM magpie.search_page s, unnest(s.ids) AS i
         WHERE s.search_key = \(key) AND s.page < \(page) AND s.validated_at > now() - make_interval(secs =>
           CASE WHEN s.is_incomplete THEN \(incompleteLife(timeToLive)) ELSE \(timeToLive.search) END))
      SELECT a.refusal, NULL::bigint, NULL::bigint, NULL::text[], me.account_id, a.status, a.total_count, a.is_incomplete,
             a.fetched_at, a.validated_at, extract(epoch FROM now() - a.validated_at)::float8
        FROM me LEFT JOIN answer a ON true WHERE me.account_id IS NOT NULL
      UNION ALL
      SELECT i.document, i.n, i.id, f.tags, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM me CROSS JOIN answer a CROSS JOIN LATERAL unnest(a.documents, a.ids) WITH ORDINALITY AS i(document, id, n)
        LEFT JOIN LATERAL (
          SELECT f.tags FROM magpie.favorite f
           WHERE f.account_id = me.account_id AND f.kind = \(kind) AND f.subject_id = i.id::text LIMIT 1) f ON true
       WHERE NOT EXISTS (SELECT FROM earlier e WHERE e.id = i.id)
      """
  }

  /// What an answer of `query` is about.
  static func read(_ rows: Rows) throws -> Mirror.Read<StoredSearch> {
    var head: Int?
    var items: [Item] = []
    for index in 0..<rows.count {
      guard let position = try rows.integer(row: index, column: 1), let id = try rows.integer(row: index, column: 2)
      else {
        head = index
        continue
      }
      items.append(Item(id: id, position: position, row: index))
    }
    guard let head else { return .nobody }
    let row = rows[head]
    let account = try row.decode(Int64.self, at: 4)
    guard let status = try row.decode(Int?.self, at: 5),
      let freshness = Freshness(
        try row.decode(Instant?.self, at: 8), try row.decode(Instant?.self, at: 9), try row.decode(Double?.self, at: 10)
      )
    else { return .unknown(account: account) }
    items.sort { $0.position < $1.position }
    return .found(
      StoredSearch(
        totalCount: try row.decode(Int64.self, at: 6), isIncomplete: try row.decode(Bool.self, at: 7),
        refusal: status == 422 ? Array((row[0] ?? "{}").utf8) : nil, freshness: freshness, rows: rows, items: items),
      account: account)
  }
}

/// What is stored and begins with a text, people by login or name and repositories by name or owner and name: an answer while the
/// upstream's is under way.
public struct LocalMatches: Sendable {
  let rows: Rows

  /// How many.
  public var count: Int { rows.count }

  /// Lends each document, with the asking account's tags if it has starred what it is about.
  ///
  /// - Parameter known: these are left out.
  public func forEachItem(
    without known: Set<Int64> = [], limit: Int,
    _ body: (_ document: UnsafeRawBufferPointer, _ favoriteTags: [String]?) -> Void
  ) {
    var left = limit
    for index in 0..<rows.count where left > 0 {
      guard let id = try? rows.integer(row: index, column: 1), !known.contains(id) else { continue }
      left -= 1
      StoredSearch.lend(rows, index, body)
    }
  }

  /// Both ways are walked in the order of an index and no further than the page is long, whatever the text is and however
  /// many are stored. The bounds are plain comparisons, since a pattern that is a parameter uses no index.
  static func query(_ kind: SearchQuery.Kind, _ text: String, limit: Int, token: [UInt8]) -> Query {
    switch kind {
    case .users: people(text, limit: limit, token: token)
    case .repositories: repositories(text, limit: limit, token: token)
    }
  }

  private static func repositories(_ text: String, limit: Int, token: [UInt8]) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
    word AS MATERIALIZED (
      SELECT magpie.fold(\(text)) AS low, magpie.fold(\(text)) || chr(1114111) AS high,
             lower(\(text)) COLLATE "C" AS key_low, (lower(\(text)) || chr(1114111)) COLLATE "C" AS key_high),
    found AS MATERIALIZED (
      (SELECT r.id, 0 AS tier, row_number() OVER (ORDER BY magpie.fold(r.name) USING ~<~) AS n FROM magpie.github_repo r
        WHERE magpie.fold(r.name) ~>=~ (SELECT w.low FROM word w) AND magpie.fold(r.name) ~<~ (SELECT w.high FROM word w)
          AND r.state <> 'gone'
        ORDER BY magpie.fold(r.name) USING ~<~ LIMIT \(limit))
      UNION ALL
      (SELECT r.id, 1, row_number() OVER (ORDER BY r.name_key) FROM magpie.github_repo r
        WHERE r.name_key >= (SELECT w.key_low FROM word w) AND r.name_key < (SELECT w.key_high FROM word w) AND r.state <> 'gone'
        ORDER BY r.name_key LIMIT \(limit))),
    best AS (SELECT f.id, min(f.tier) AS tier, min(f.n) AS n FROM found f GROUP BY f.id)
    SELECT coalesce(r.summary, r.document), r.id, b.n, f.tags
      FROM me CROSS JOIN best b JOIN magpie.github_repo r ON r.id = b.id
      LEFT JOIN LATERAL (
        SELECT f.tags FROM magpie.favorite f
         WHERE f.account_id = me.account_id AND f.kind = 'github-repo' AND f.subject_id = r.id::text LIMIT 1) f ON true
     WHERE me.account_id IS NOT NULL AND coalesce(r.summary, r.document) IS NOT NULL
     ORDER BY b.tier, b.n LIMIT \(limit)
    """
  }

  private static func people(_ text: String, limit: Int, token: [UInt8]) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
    word AS MATERIALIZED (SELECT magpie.fold(\(text)) AS low, magpie.fold(\(text)) || chr(1114111) AS high),
    found AS MATERIALIZED (
      (SELECT u.id, 0 AS tier, row_number() OVER (ORDER BY u.login_key USING ~<~) AS n FROM magpie.github_user u
        WHERE u.login_key ~>=~ (SELECT w.low FROM word w) AND u.login_key ~<~ (SELECT w.high FROM word w) AND u.state <> 'gone'
        ORDER BY u.login_key USING ~<~ LIMIT \(limit))
      UNION ALL
      (SELECT u.id, 1, row_number() OVER (ORDER BY magpie.fold(u.name) USING ~<~) FROM magpie.github_user u
        WHERE u.name IS NOT NULL AND magpie.fold(u.name) ~>=~ (SELECT w.low FROM word w)
          AND magpie.fold(u.name) ~<~ (SELECT w.high FROM word w) AND u.state <> 'gone'
        ORDER BY magpie.fold(u.name) USING ~<~ LIMIT \(limit))),
    best AS (SELECT f.id, min(f.tier) AS tier, min(f.n) AS n FROM found f GROUP BY f.id)
    SELECT coalesce(u.summary, u.profile), u.id, b.n, f.tags
      FROM me CROSS JOIN best b JOIN magpie.github_user u ON u.id = b.id
      LEFT JOIN LATERAL (
        SELECT f.tags FROM magpie.favorite f
         WHERE f.account_id = me.account_id AND f.kind = 'github-user' AND f.subject_id = u.id::text LIMIT 1) f ON true
     WHERE me.account_id IS NOT NULL AND coalesce(u.summary, u.profile) IS NOT NULL
     ORDER BY b.tier, b.n LIMIT \(limit)
    """
  }
}
