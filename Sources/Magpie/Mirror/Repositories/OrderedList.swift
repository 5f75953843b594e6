import Postgres

/// Lists of repositories in orders that were made ready when the list was published.
enum OrderedList {
  /// As `StoredList.query`, but in an order: the ids and digests of a range in one row. A descending range is an ascending one
  /// seen from the end.
  static func query(
    _ kind: ItemKind, of person: Person, _ range: ListRange, _ order: RepositoryOrder, token: [UInt8]
  ) -> Query {
    let end = range.first + Int64(range.count)
    let isDescending = order.direction == .descending
    let direction = isDescending ? " DESC" : ""
    let bounds: Query =
      isDescending
      ? "greatest(h.members - \(end), 0) AS low, greatest(h.members - \(range.first), 0) AS high"
      : "\(range.first)::bigint AS low, \(end)::bigint AS high"
    return """
      \(fragment: StoredList.head(kind.rawValue, of: person, walk: range.walk, token: token))
      SELECT h.account_id, h.version, h.owner_id, h.login_key, h.state, h.walk_id, h.generation, h.members, h.expected,
             h.fetched_at, h.validated_at, extract(epoch FROM now() - h.validated_at)::float8,
             0::bigint, NULL::bigint, coalesce(p.ids, '{}'), coalesce(p.digests, '{}')
        FROM head h
        CROSS JOIN LATERAL (
          SELECT array_agg(r.id ORDER BY o.first + t.n\(unsafe: direction)) AS ids,
                 array_agg(r.digest ORDER BY o.first + t.n\(unsafe: direction)) AS digests
            FROM (SELECT \(fragment: bounds)) b
            JOIN magpie.walk_order o ON o.walk_id = h.walk_id AND o.sort = \(order.sort.rawValue)
                                    AND o.first > b.low - 100 AND o.first < b.high
            CROSS JOIN LATERAL unnest(o.members[greatest(b.low - o.first, 0) + 1:b.high - o.first])
              WITH ORDINALITY AS t(id, n)
            JOIN magpie.github_repo r ON r.id = t.id AND r.digest IS NOT NULL) p
      """
  }

  /// The documents of repositories, which are the latest list items whatever the order is made of.
  static func documentsQuery(_ ids: [Int64]) -> Query {
    "SELECT r.summary, r.id, r.digest FROM magpie.github_repo r WHERE r.id = ANY (\(ids))"
  }

  /// Those that match, in the order, from where the page before ended.
  static func query(
    _ kind: ItemKind, of person: Person, _ filter: ItemFilter, _ order: RepositoryOrder, token: [UInt8]
  ) -> Query {
    let isDescending = order.direction == .descending
    let direction = isDescending ? " DESC" : ""
    var conditions: Query = "true"
    if !filter.text.isEmpty {
      conditions = "\(fragment: conditions) AND r.search LIKE magpie.like_containing(magpie.fold(\(filter.text)))"
    }
    if let language = filter.language {
      conditions = "\(fragment: conditions) AND lower(r.language) = lower(\(language))"
    }
    var position: Query = "true"
    if let after = filter.after { position = isDescending ? "m.place < \(after)" : "m.place > \(after)" }
    return """
      \(fragment: StoredList.head(kind.rawValue, of: person, walk: filter.walk, token: token)),
      matching AS MATERIALIZED (
        SELECT r.id, o.first + t.n AS place
          FROM head h
          JOIN magpie.walk_order o ON o.walk_id = h.walk_id AND o.sort = \(order.sort.rawValue)
          CROSS JOIN LATERAL unnest(o.members) WITH ORDINALITY AS t(id, n)
          JOIN magpie.github_repo r ON r.id = t.id
         WHERE r.summary IS NOT NULL AND \(fragment: conditions)),
      part AS MATERIALIZED (
        SELECT m.id, m.place FROM matching m WHERE \(fragment: position)
         ORDER BY m.place\(unsafe: direction) OFFSET \(filter.skip) LIMIT \(filter.count + 1))
      SELECT \(unsafe: StoredList.headColumn), NULL::bigint, NULL::bigint, (SELECT count(*) FROM matching)::text, NULL::timestamptz,
             NULL::bigint, NULL::bigint, NULL::boolean FROM head h
      UNION ALL
      SELECT r.summary, \(unsafe: isDescending ? "-" : "")p.place, r.id, p.place::text, NULL, NULL, NULL, NULL
        FROM part p JOIN magpie.github_repo r ON r.id = p.id
      """
  }
}

extension Mirror {
  /// A part of a person's list of things.
  ///
  /// - Parameter order: for repositories; `nil` is the order in which the upstream was read.
  /// - Throws: `PostgresError`; `Contention`.
  public func items(
    _ kind: ItemKind, of person: Person, _ range: ListRange, _ order: RepositoryOrder?, token: [UInt8]
  ) async throws -> Read<StoredList> {
    for _ in 0..<Mirror.readings {
      let reading: StoredList.Reading
      let keys: [ItemMemory.Key]
      if let order {
        let query = OrderedList.query(kind, of: person, range, order, token: token)
        let (list, pieces) = try StoredList.read(await database.query(query))
        (reading, keys) = (list, pieces.flatMap(\.keys))
      } else {
        (reading, keys) = try await part(kind.rawValue, of: person, range, token: token)
      }
      switch reading {
      case .nobody: return .nobody
      case .unknown(let account): return .unknown(account: account)
      case .list(var list):
        let ids = keys.map(\.id)
        let walk = list.walk ?? 0
        let items = try await items(keys, space: kind.space) {
          order == nil ? StoredList.documentsQuery(walk, range) : OrderedList.documentsQuery(ids)
        }
        guard let items else { continue }
        list.ids = ids
        list.digests = keys.map(\.digest)
        list.items = items
        list.starred = try await starred(among: list, ids, kind, token: token)
        return .found(list, account: list.account)
      }
    }
    throw Contention()
  }

  /// A part of those things of a person's whole list that match a filter.
  ///
  /// - Parameter order: of repositories, by name if there is none; gists keep the upstream's.
  /// - Throws: `PostgresError`.
  public func items(
    _ kind: ItemKind, of person: Person, matching filter: ItemFilter, _ order: RepositoryOrder?, token: [UInt8]
  ) async throws -> Read<FilteredList> {
    let query =
      kind == .gists
      ? ChangedGists.query(of: person, filter, token: token)
      : OrderedList.query(kind, of: person, filter, order ?? RepositoryOrder(), token: token)
    let rows = try await database.query(query)
    let (reading, page) = try FilteredList.read(rows, count: filter.count, form)
    switch reading {
    case .nobody: return .nobody
    case .unknown(let account): return .unknown(account: account)
    case .list(let list):
      guard var page else { return .unknown(account: list.account) }
      page.list.starred = try await starred(among: list, page.list.ids, kind, token: token)
      return .found(page, account: list.account)
    }
  }

  private func starred(
    among list: StoredList, _ ids: [Int64], _ kind: ItemKind, token: [UInt8]
  ) async throws -> StarredPeople? {
    guard let favorite = kind.favoriteKind else { return nil }
    return try await starredPeople(among: list, ids, kind: favorite, token: token)
  }
}
