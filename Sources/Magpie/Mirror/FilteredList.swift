import Postgres

/// A filter over a whole stored list, ordered by login, page by page from where the one before ended.
public struct ListFilter: Sendable {
  /// Orders of a filtered list; ties by id.
  public enum Sort: String, CaseIterable, Sendable {
    case login
    case loginDescending = "-login"
    case firstSeen = "first_seen"
    case firstSeenDescending = "-first_seen"
  }

  /// Part of the login or name, whatever the case and the accents; empty for all.
  public var text = ""
  /// The order.
  public var sort = Sort.login
  /// How many, at most 100.
  public var count = 30
  /// Members to pass over; for clients that ask by page number.
  public var skip: Int64 = 0
  /// Sort key and id of the last member of the page before.
  public var after: [String]?

  /// All, by login.
  public init() {}
}

/// A page of a filtered list.
public struct FilteredList: Sendable {
  /// The list it is a part of; its own members are this page's.
  public internal(set) var list: StoredList
  /// Members of the whole stored list that match.
  public let matches: Int64
  /// What `after` must be to go on; `nil` at the end.
  public let next: [String]?

  private static func order(_ sort: ListFilter.Sort) -> (key: String, descending: Bool, type: String) {
    switch sort {
    case .login: ("coalesce(u.login_key, '')", false, "text")
    case .loginDescending: ("coalesce(u.login_key, '')", true, "text")
    case .firstSeen: ("coalesce(e.first_seen_at, u.first_seen_at)", false, "timestamptz")
    case .firstSeenDescending: ("coalesce(e.first_seen_at, u.first_seen_at)", true, "timestamptz")
    }
  }

  /// Works on the pages that readers see: those of the last complete walk, or, before there is one, those that the first walk
  /// has read so far.
  static func query(_ kind: FollowKind, of person: Person, _ filter: ListFilter, token: [UInt8]) -> Query {
    let order = order(filter.sort)
    let direction = order.descending ? " DESC" : ""
    var position: Query = ""
    if let after = filter.after, after.count == 2, let id = Int64(after[1]) {
      let comparison = order.descending ? "<" : ">"
      position = """
         WHERE x.key \(unsafe: comparison) \(after[0])::\(unsafe: order.type)
            OR (x.key = \(after[0])::\(unsafe: order.type) AND x.id \(unsafe: comparison) \(id))
        """
    }
    var text: Query = ""
    if !filter.text.isEmpty {
      text = " AND u.search LIKE magpie.like_containing(magpie.fold(\(filter.text)))"
    }
    return """
      \(fragment: StoredList.head(kind.rawValue, of: person, walk: nil, token: token)),
      matching AS MATERIALIZED (
        SELECT u.id, \(unsafe: order.key) AS key
          FROM head h
          CROSS JOIN LATERAL (
            SELECT DISTINCT m.id FROM magpie.walk_page p, unnest(p.members) AS m(id) WHERE p.walk_id = h.walk_id) m
          JOIN magpie.github_user u ON u.id = m.id
          LEFT JOIN magpie.follow_edge e ON e.listing_id = h.listing_id AND e.member_id = m.id AND e.gone_generation IS NULL
         WHERE true\(fragment: text)),
      part AS MATERIALIZED (
        SELECT x.id, x.key, row_number() OVER (ORDER BY x.key\(unsafe: direction), x.id\(unsafe: direction)) AS n
          FROM matching x\(fragment: position)
         ORDER BY x.key\(unsafe: direction), x.id\(unsafe: direction) OFFSET \(filter.skip) LIMIT \(filter.count + 1))
      SELECT \(unsafe: StoredList.headColumn), NULL::bigint, NULL::bigint, (SELECT count(*) FROM matching)::text FROM head h
      UNION ALL
      SELECT u.summary, m.n, m.id, m.key::text FROM part m JOIN magpie.github_user u ON u.id = m.id
      """
  }

  /// What an answer of `query` is about, with this page's members.
  static func read(
    _ rows: Rows, count: Int, _ form: Mirror.ItemForm
  ) throws(PostgresError) -> (StoredList.Reading, FilteredList?) {
    var head: Row?
    var members: [(position: Int64, id: Int64, row: Int)] = []
    for index in 0..<rows.count {
      guard let position = try rows.integer(row: index, column: 1), let id = try rows.integer(row: index, column: 2)
      else {
        head = rows[index]
        continue
      }
      members.append((position, id, index))
    }
    let reading = StoredList.reading(head?[0])
    guard case .list(var list) = reading else { return (reading, nil) }
    members.sort { $0.position < $1.position }
    for member in members.prefix(count) {
      list.ids.append(member.id)
      rows.lend(row: member.row, column: 0) {
        list.items.append(form($0 ?? UnsafeRawBufferPointer(start: nil, count: 0)))
      }
    }
    var next: [String]?
    if members.count > count {
      let last = members[count - 1]
      next = [rows[last.row][3] ?? "", String(last.id)]
    }
    // The row that tells of the list has the number of matches where the others have their keys.
    let matches = head?[3].flatMap { Int64($0) } ?? 0
    return (reading, FilteredList(list: list, matches: matches, next: next))
  }
}
