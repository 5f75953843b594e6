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

  /// The statement behind a page. It finds out who asks and reads in one go: the lateral join makes PostgreSQL
  /// authenticate before it opens the scan that row-level security guards.
  func query(token: [UInt8]) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
    SELECT f.document\(unsafe: sort == .title ? ", f.place" : "")
      FROM me LEFT JOIN LATERAL (
        SELECT f.document\(unsafe: sort == .title ? ", f.title_key AS place" : "")
          FROM magpie.favorite f
         WHERE f.account_id = me.account_id\(fragment: filters)
         ORDER BY \(unsafe: order.column)\(unsafe: order.direction), f.kind, f.subject_id
         LIMIT \(limit + 1)) f ON true
     WHERE me.account_id IS NOT NULL
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

  private var filters: Query {
    var filters: Query = ""
    if let kind { filters = "\(fragment: filters) AND f.kind = \(kind.rawValue)" }
    if let tag { filters = "\(fragment: filters) AND \(tag)::text = ANY (f.tags)" }
    if let text { filters = "\(fragment: filters) AND f.search LIKE magpie.like_containing(magpie.fold(\(text)))" }
    if let after, after.count == 3 {
      let comparison = sort == .newestFirst ? "<" : ">"
      // The first condition lets the index begin at the right place; the second settles ties.
      filters = """
        \(fragment: filters) AND \(unsafe: order.column) \(unsafe: comparison)= \(after[0])::\(unsafe: order.type)
                 AND (\(unsafe: order.column) \(unsafe: comparison) \(after[0])::\(unsafe: order.type)
                      OR (f.kind, f.subject_id) > (\(after[1])::text, \(after[2])::text))
        """
    }
    return filters
  }
}
