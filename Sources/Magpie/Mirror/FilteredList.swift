import Postgres

/// A page of a filtered list.
public struct FilteredList: Sendable {
  /// How far the owner's other list is known.
  public struct Other: Sendable {
    /// Members stored, and members there should be.
    public let stored: Int64, expected: Int64
    /// Whether it has been seen whole: a relation to less than that says nothing.
    public let isComplete: Bool

    /// `nil` when it was never looked at.
    init?(_ row: Row, at column: Int) throws(PostgresError) {
      guard let stored = try row.decode(Int64?.self, at: column) else { return nil }
      self.stored = stored
      expected = try row.decode(Int64?.self, at: column + 1) ?? stored
      isComplete = try row.decode(Bool?.self, at: column + 2) ?? false
    }
  }

  /// The list it is a part of; its own members are this page's.
  public internal(set) var list: StoredList
  /// Members of the whole stored list that match; `nil` when it would have taken too long to count them.
  public let matches: Int64?
  /// What `after` must be to go on; `nil` at the end.
  public internal(set) var next: [String]?
  /// The prepared order it was read from.
  public internal(set) var order: Int64?
  /// When each member was first seen in the list.
  public internal(set) var firstSeen: [Instant?] = []
  /// The owner's other list.
  public internal(set) var other: Other?

  init(list: StoredList, matches: Int64?, next: [String]?) {
    self.list = list
    self.matches = matches
    self.next = next
  }

  private static func order(_ sort: ListFilter.Sort) -> (key: String, type: String) {
    switch sort {
    case .login, .loginDescending: (#"coalesce(u.login_key, '') COLLATE "C""#, "text")
    case .firstSeen, .firstSeenDescending: ("coalesce(e.first_seen_at, u.first_seen_at)", "timestamptz")
    case .upstream: ("m.place", "bigint")
    }
  }

  /// Sorts the pages that readers see: those of the last complete walk, or, before there is one, those that the first walk has
  /// read so far. For lists whose orders are not prepared yet.
  ///
  /// OFFSET 0 has each member looked up: a planner that does not know yet how long the list is would go through all of it for
  /// each of them.
  static func query(_ kind: FollowKind, of person: Person, _ filter: ListFilter, token: [UInt8]) -> Query {
    let order = order(filter.sort)
    let direction = filter.sort.isDescending ? " DESC" : ""
    var position: Query = ""
    var skip = filter.skip
    if let last = filter.lastKey {
      let comparison = filter.sort.isDescending ? "<" : ">"
      position = """
         WHERE x.key \(unsafe: comparison) \(last.key)::\(unsafe: order.type)
            OR (x.key = \(last.key)::\(unsafe: order.type) AND x.id \(unsafe: comparison) \(last.id))
        """
    } else if filter.text.isEmpty {
      skip += filter.place.first
    } else if filter.place.first > 0 {
      // A place in the order counts those, too, that do not have the text.
      position = " WHERE x.rank > \(filter.place.first)"
    }
    var hit: Query = "true"
    if !filter.text.isEmpty { hit = "u.search LIKE magpie.like_containing(magpie.fold(\(filter.text)))" }
    var condition: Query = ""
    if let relation = filter.relation {
      condition = """
        \(fragment: condition) AND coalesce(magpie.is_member(o.listing_id, o.generation, m.id), false) = \(relation == .mutual)
        """
    }
    return """
      \(fragment: StoredList.head(kind.rawValue, of: person, walk: nil, token: token)),
      other AS MATERIALIZED (
        SELECT x.id AS listing_id, w.members, w.expected, x.generation
          FROM head h JOIN magpie.listing x ON x.owner_id = h.owner_id AND x.kind = \(kind.other.rawValue)
          LEFT JOIN magpie.walk w ON w.id = x.walk_id),
      ranked AS MATERIALIZED (
        SELECT u.id, \(unsafe: order.key) AS key, coalesce(e.first_seen_at, u.first_seen_at) AS seen, \(fragment: hit) AS hit,
               row_number() OVER (ORDER BY \(unsafe: order.key)\(unsafe: direction), u.id\(unsafe: direction)) AS rank
          FROM head h LEFT JOIN other o ON true
          CROSS JOIN LATERAL (
            SELECT t.id, min(p.page * 100000::bigint + t.n) AS place
              FROM magpie.walk_page p, unnest(p.members) WITH ORDINALITY AS t(id, n) WHERE p.walk_id = h.walk_id GROUP BY t.id) m
          CROSS JOIN LATERAL (
            SELECT u.id, u.login_key, u.first_seen_at, u.search FROM magpie.github_user u WHERE u.id = m.id OFFSET 0) u
          LEFT JOIN LATERAL (
            SELECT e.first_seen_at FROM magpie.follow_edge e
             WHERE e.listing_id = h.listing_id AND e.member_id = m.id AND e.gone_generation IS NULL OFFSET 0) e ON true
         WHERE true\(fragment: condition)),
      matching AS MATERIALIZED (SELECT * FROM ranked r WHERE r.hit),
      part AS MATERIALIZED (
        SELECT x.id, x.key, x.seen, row_number() OVER (ORDER BY x.key\(unsafe: direction), x.id\(unsafe: direction)) AS n
          FROM matching x\(fragment: position)
         ORDER BY x.key\(unsafe: direction), x.id\(unsafe: direction) OFFSET \(skip) LIMIT \(filter.count + 1))
      SELECT \(unsafe: StoredList.headColumn), NULL::bigint, NULL::bigint, (SELECT count(*) FROM matching)::text, NULL::timestamptz,
             (SELECT x.members FROM other x), (SELECT x.expected FROM other x), (SELECT x.generation > 0 FROM other x) FROM head h
      UNION ALL
      SELECT u.summary, m.n, m.id, m.key::text, m.seen, NULL, NULL, NULL FROM part m JOIN magpie.github_user u ON u.id = m.id
      """
  }

  /// What an answer of `query` is about, with this page's members. A list that has no times and no other list beside it has
  /// NULLs in the last four columns.
  static func read(
    _ rows: Rows, count: Int, _ form: Mirror.ItemForm
  ) throws(PostgresError) -> (StoredList.Reading, FilteredList?) {
    let head = rows.first { $0[1] == nil }
    let reading = StoredList.reading(head?[0])
    guard case .list(var list) = reading, let head else { return (reading, nil) }
    var members: [(position: Int64, id: Int64, row: Int)] = []
    for index in 0..<rows.count {
      guard let position = try rows.integer(row: index, column: 1), let id = try rows.integer(row: index, column: 2)
      else { continue }
      members.append((position, id, index))
    }
    members.sort { $0.position < $1.position }
    var firstSeen: [Instant?] = []
    for member in members.prefix(count) {
      list.ids.append(member.id)
      rows.lend(row: member.row, column: 0) {
        list.items.append(form($0 ?? UnsafeRawBufferPointer(start: nil, count: 0)))
      }
      firstSeen.append(try rows[member.row].decode(Instant?.self, at: 4))
    }
    var next: [String]?
    if members.count > count {
      let last = members[count - 1]
      next = [rows[last.row][3] ?? "", String(last.id)]
    }
    // The row that tells of the list has the number of matches where the others have their keys.
    var page = FilteredList(list: list, matches: head[3].flatMap { Int64($0) } ?? 0, next: next)
    page.firstSeen = firstSeen
    page.other = try Other(head, at: 5)
    return (reading, page)
  }
}
