import JSONText
import Postgres

/// Which favorites are wanted, and in what order.
public struct FavoriteList: Sendable {
  /// Only this kind.
  public var kind: Favorite.Kind?
  /// Only what contains this text in title, subtitle, URL, note or tags, whatever case and accents.
  public var text: String?
  /// Only what has this tag.
  public var tag: String?
  /// Only what is in this collection.
  public var collection: Collections.ID?
  /// The order.
  public var sort = Favorite.Sort.newestFirst
  /// How many, 1 to 200.
  public var limit = 50
  /// Where the page before ended; see `Page.next`.
  public var after: [String]?

  /// Everything, newest first.
  public init() {}

  /// Names the list with its filters, to bind cursors to it.
  public var scope: String {
    var parts = ["favorites", kind?.rawValue ?? "", sort.rawValue, tag ?? "", text ?? ""]
    // Cursors of lists that know no collections stay good.
    if let collection { parts.append(collection.description) }
    for index in parts.indices { parts[index] = "\(parts[index].utf8.count):\(parts[index])" }
    return parts.joined(separator: ",")
  }

  /// A page of ready documents.
  public struct Page: Sendable {
    let rows: Rows
    /// How many items the page has.
    public let count: Int
    /// What `after` must be to go on; `nil` at the end.
    public let next: [String]?

    /// Lends the document of each item in turn.
    public func forEachDocument(_ body: (UnsafeRawBufferPointer) -> Void) {
      for index in 0..<count {
        rows.lend(row: index, column: 0) { if let bytes = $0 { body(bytes) } }
      }
    }
  }

  /// Favorites that are looked at in the list's order before an index is asked for those that the filter lets through.
  static let window = 200
  /// Favorites that are sorted for one page. More of them are met often enough when all are read in order.
  static let maxSorted = 500

  /// The statement behind a page. It finds out who asks and reads in one go: the lateral join makes PostgreSQL
  /// authenticate before it opens the scan that row-level security guards.
  func query(token: [UInt8]) -> Query {
    isFiltered ? filteredQuery(token: token) : plainQuery(token: token)
  }

  private var isFiltered: Bool { kind != nil || text != nil || tag != nil || collection != nil }

  private func plainQuery(token: [UInt8]) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
    SELECT f.document\(unsafe: sort == .title ? ", f.place" : "")
      FROM me LEFT JOIN LATERAL (
        SELECT f.document\(unsafe: sort == .title ? ", f.title_key AS place" : "")
          FROM magpie.favorite f
         WHERE f.account_id = me.account_id\(fragment: beginning)
         ORDER BY \(unsafe: order.column)\(unsafe: order.direction), f.kind, f.subject_id
         LIMIT \(limit + 1)) f ON true
     WHERE me.account_id IS NOT NULL
    """
  }

  /// What a filter lets through may be everywhere or nowhere. The list's next few hundred are looked at first. If they do not
  /// fill the page, an index tells which the filter lets through: few are sorted, and many are met soon in order.
  private func filteredQuery(token: [UInt8]) -> Query {
    let place = "\(order.column) AS place, f.kind, f.subject_id"
    let sorted = "place\(order.direction), kind, subject_id"
    return """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
      near AS MATERIALIZED (
        SELECT f.* FROM me CROSS JOIN LATERAL (
          SELECT f.document, f.tags, f.collections, f.search, \(unsafe: place)
            FROM magpie.favorite f
           WHERE f.account_id = me.account_id\(fragment: beginning)
           ORDER BY \(unsafe: order.column)\(unsafe: order.direction), f.kind, f.subject_id
           LIMIT \(FavoriteList.window)) f),
      hit AS MATERIALIZED (
        SELECT f.document, f.place, f.kind, f.subject_id FROM near f WHERE true\(fragment: filters)
         ORDER BY \(unsafe: sorted) LIMIT \(limit + 1)),
      near_end AS MATERIALIZED (
        SELECT (SELECT count(*) FROM hit) > \(limit) OR (SELECT count(*) FROM near) < \(FavoriteList.window) AS is_it),
      found AS MATERIALIZED (
        SELECT c.kind, c.subject_id FROM near_end CROSS JOIN LATERAL magpie.favorite_candidates(\(kind?.rawValue), \(tag),
          \(text), \(collection), CASE WHEN near_end.is_it THEN 0 ELSE \(FavoriteList.maxSorted + 1)::int END) AS c),
      few AS MATERIALIZED (SELECT count(*) <= \(FavoriteList.maxSorted) AS are_they FROM found)
      SELECT p.document\(unsafe: sort == .title ? ", p.place" : "")
        FROM me LEFT JOIN LATERAL (
          SELECT h.document, h.place, h.kind, h.subject_id FROM hit h WHERE (SELECT n.is_it FROM near_end n)
          UNION ALL (
            SELECT f.document, \(unsafe: place)
              FROM found c JOIN magpie.favorite f
                ON f.account_id = me.account_id AND f.kind = c.kind AND f.subject_id = c.subject_id
             WHERE NOT (SELECT n.is_it FROM near_end n) AND (SELECT w.are_they FROM few w)\(fragment: beginning)\(fragment: filters)
             ORDER BY \(unsafe: sorted) LIMIT \(limit + 1))
          UNION ALL (
            SELECT f.document, \(unsafe: place)
              FROM magpie.favorite f
             WHERE NOT (SELECT n.is_it FROM near_end n) AND NOT (SELECT w.are_they FROM few w)
               AND f.account_id = me.account_id\(fragment: beginning)\(fragment: filters)
             ORDER BY \(unsafe: order.column)\(unsafe: order.direction), f.kind, f.subject_id LIMIT \(limit + 1))) p ON true
       WHERE me.account_id IS NOT NULL
       ORDER BY \(unsafe: sorted)
      """
  }

  private var order: (column: String, direction: String, type: String) {
    switch sort {
    case .newestFirst: ("f.added_at", " DESC", "timestamptz")
    case .oldestFirst: ("f.added_at", "", "timestamptz")
    case .title: ("f.title_key", "", "text")
    case .rank: ("f.rank", "", "text")
    }
  }

  /// Makes a page of what `query` has answered, at least one row. Where it ends is read from its last document, so that no row
  /// carries more than that; only how PostgreSQL folds a title, it has to tell itself.
  func page(_ rows: Rows) -> Page {
    let isEmpty = rows.count == 1 && rows[0].withBytes(0) { $0 == nil }
    let count = isEmpty ? 0 : min(rows.count, limit)
    guard rows.count > limit else { return Page(rows: rows, count: count, next: nil) }
    let last = JSONView(checked: Array((rows[count - 1][0] ?? "{}").utf8))
    let place =
      switch sort {
      case .newestFirst, .oldestFirst: last["added_at"]?.string
      case .rank: last["rank"]?.string
      case .title: rows[count - 1][1]
      }
    return Page(
      rows: rows, count: count, next: [place ?? "", last["kind"]?.string ?? "", last["id"]?.string ?? ""])
  }

  /// What the filter lets through, of a row `f`.
  var filters: Query {
    var filters: Query = ""
    if let kind { filters = "\(fragment: filters) AND f.kind = \(kind.rawValue)" }
    if let tag { filters = "\(fragment: filters) AND \(tag)::text = ANY (f.tags)" }
    if let collection { filters = "\(fragment: filters) AND \(collection) = ANY (f.collections)" }
    // In a query of its own, which is run once and not for each row.
    if let text {
      filters = "\(fragment: filters) AND f.search LIKE (SELECT magpie.like_containing(magpie.fold(\(text))))"
    }
    return filters
  }

  /// What comes after the page before.
  private var beginning: Query {
    guard let after, after.count == 3 else { return "" }
    let comparison = sort == .newestFirst ? "<" : ">"
    // The first condition lets the index begin at the right place; the second settles ties.
    return """
       AND \(unsafe: order.column) \(unsafe: comparison)= \(after[0])::\(unsafe: order.type)
             AND (\(unsafe: order.column) \(unsafe: comparison) \(after[0])::\(unsafe: order.type)
                  OR (f.kind, f.subject_id) > (\(after[1])::text, \(after[2])::text))
      """
  }
}
