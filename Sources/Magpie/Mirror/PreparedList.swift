import Postgres

/// Reads a part of a list in an order that was prepared after the walk: what it costs depends neither on where in the list the
/// part lies nor on how long the list is.
enum PreparedList {
  /// Prepared pages looked through for one answer at most: 20,000 members.
  static let maxPages = 200
  /// Lists so short that matches are counted.
  static let maxCounted: Int64 = 2_000

  /// The first row tells of the list, then of the order: its number (`nil`: none that shows what the list shows), its members,
  /// the matches if they were counted, and the owner's other list. Then come the members, with places from 0.
  static func query(_ kind: FollowKind, of person: Person, _ filter: ListFilter, token: [UInt8]) -> Query {
    let order = filter.place.order
    return """
      \(fragment: StoredList.head(kind.rawValue, of: person, walk: nil, token: token)),
      other AS MATERIALIZED (
        SELECT x.walk_id, w.members, w.expected, x.generation
          FROM head h JOIN magpie.listing x ON x.owner_id = h.owner_id AND x.kind = \(kind.other.rawValue)
          LEFT JOIN magpie.walk w ON w.id = x.walk_id),
      prepared AS MATERIALIZED (
        SELECT o.id, o.members
          FROM head h CROSS JOIN LATERAL (
            SELECT o.* FROM magpie.list_order o
             WHERE o.listing_id = h.listing_id AND o.relation = \(filter.relation?.rawValue ?? "all") AND o.sort = \(filter.sort.column)
               AND (o.id = \(order) OR (o.replaced_at IS NULL AND o.walk_id = h.walk_id
                 AND (o.other_walk_id IS NULL OR o.other_walk_id = (SELECT x.walk_id FROM other x))))
             ORDER BY o.id = \(order) DESC LIMIT 1) o)
      SELECT \(unsafe: StoredList.headColumn), NULL::bigint, NULL::bigint, NULL::timestamptz,
             (SELECT p.id FROM prepared p), (SELECT p.members FROM prepared p), \(fragment: counted(filter)),
             (SELECT x.members FROM other x), (SELECT x.expected FROM other x), (SELECT x.generation > 0 FROM other x), NULL::text
        FROM head h
      UNION ALL
      SELECT u.summary, m.place, m.id, m.seen, NULL, NULL, m.matches, NULL, NULL, NULL, m.key
        FROM prepared o CROSS JOIN LATERAL (\(fragment: members(filter))) m
        -- One by one: a page is few people, which the planner cannot know.
        LEFT JOIN LATERAL (SELECT p.summary FROM magpie.github_user p WHERE p.id = m.id LIMIT 1) u ON true
      """
  }

  private static func members(_ filter: ListFilter) -> Query {
    let first = filter.place.first
    if !filter.text.isEmpty {
      let found = filter.place.found
      return """
        SELECT coalesce(s.place, 0) AS place, s.id, s.seen, s.key, s.matches
          FROM magpie.search_order(o.id, \(filter.sort.isDescending), \(first), \(found?.key), \(found?.id),
            magpie.fold(\(filter.text)), \(filter.skip), \(filter.count + 1)::int, \(maxPages)::int) s
        """
    }
    let start = first + filter.skip
    let end = start + Int64(filter.count)
    if filter.sort.isDescending {
      return """
        SELECT o.members - 1 - (p.page * 100::bigint + t.n - 1) AS place, t.id, t.seen, NULL::text AS key, NULL::bigint AS matches
          FROM magpie.list_order_page p CROSS JOIN unnest(p.ids, p.seen) WITH ORDINALITY AS t(id, seen, n)
         WHERE p.order_id = o.id AND p.page BETWEEN greatest(o.members - \(end), 0) / 100 AND (o.members - 1 - \(start)) / 100
           AND o.members > \(start) AND o.members - 1 - (p.page * 100::bigint + t.n - 1) BETWEEN \(start) AND \(end - 1)
        """
    }
    return """
      SELECT p.page * 100::bigint + t.n - 1 AS place, t.id, t.seen, NULL::text AS key, NULL::bigint AS matches
        FROM magpie.list_order_page p CROSS JOIN unnest(p.ids, p.seen) WITH ORDINALITY AS t(id, seen, n)
       WHERE p.order_id = o.id AND p.page BETWEEN \(start) / 100 AND \(end - 1) / 100
         AND p.page * 100::bigint + t.n - 1 BETWEEN \(start) AND \(end - 1)
      """
  }

  private static func counted(_ filter: ListFilter) -> Query {
    if filter.text.isEmpty { return "(SELECT p.members FROM prepared p)" }
    return """
      (SELECT CASE WHEN p.members <= \(maxCounted) THEN (
          SELECT count(*) FROM magpie.list_order_page o CROSS JOIN unnest(o.ids) AS m(id) JOIN magpie.github_user u ON u.id = m.id
           WHERE o.order_id = p.id AND u.search LIKE magpie.like_containing(magpie.fold(\(filter.text)))) END FROM prepared p)
      """
  }

  /// What an answer of `query` is about, with the page if there is a prepared order.
  static func read(
    _ rows: Rows, _ filter: ListFilter, _ form: Mirror.ItemForm
  ) throws(PostgresError) -> (StoredList.Reading, FilteredList?) {
    let head = rows.first { $0[1] == nil }
    let reading = StoredList.reading(head?[0])
    guard case .list(var list) = reading, let head, let order = try head.decode(Int64?.self, at: 4) else {
      return (reading, nil)
    }
    let total = try head.decode(Int64?.self, at: 5) ?? 0
    var members: [(place: Int64, id: Int64?, row: Row)] = []
    for row in rows where row[1] != nil {
      members.append((try row.decode(Int64.self, at: 1), try row.decode(Int64?.self, at: 2), row))
    }
    members.sort { $0.place < $1.place }
    // What the index has found, it has counted, too.
    var matches = try head.decode(Int64?.self, at: 6)
    if matches == nil, let first = members.first { matches = try first.row.decode(Int64?.self, at: 6) }
    var page = FilteredList(list: list, matches: matches, next: nil)
    for member in members where member.id != nil && list.ids.count < filter.count {
      list.ids.append(member.id ?? 0)
      list.items.append(Array((member.row[0] ?? "").utf8).withUnsafeBytes { form($0) })
      page.firstSeen.append(try member.row.decode(Instant?.self, at: 3))
    }
    page.list = list
    page.order = order
    page.other = try FilteredList.Other(head, at: 7)
    let start = filter.place.first + (filter.text.isEmpty ? filter.skip : 0)
    let shown = list.ids.count
    if filter.text.isEmpty {
      let next = start + Int64(filter.count)
      if next < total { page.next = ListFilter.Place.at(next, in: order) }
    } else if members.count > shown, members[shown].row[6] == nil {
      // The next match, or the place at which looking stopped.
      page.next = ListFilter.Place.at(members[shown].place, in: order)
    } else if members.count > shown, let last = list.ids.last, let key = members[shown - 1].row[10] {
      page.next = ListFilter.Place.behind(key, last, in: order)
    }
    return (reading, page)
  }
}
