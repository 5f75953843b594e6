import Postgres

/// Gists of a person's list that were changed of late: few people have so many that looking at each would take long.
enum ChangedGists {
  /// The gists of the list that were changed at a time or later, in the upstream's order, from where the page before ended.
  ///
  /// Times are compared as the texts that GitHub writes, in whole seconds: a cast would stop at a document whose time is none.
  static func query(of person: Person, _ filter: ItemFilter, token: [UInt8]) -> Query {
    """
    \(fragment: StoredList.head(ItemKind.gists.rawValue, of: person, walk: filter.walk, token: token)),
    matching AS MATERIALIZED (
      SELECT d.id, (array_agg(d.document ORDER BY p.first + d.n))[1] AS document, min(p.first + d.n) AS place
        FROM head h
        JOIN magpie.walk_page p ON p.walk_id = h.walk_id
        CROSS JOIN LATERAL unnest(p.documents, p.members) WITH ORDINALITY AS d(document, id, n)
       WHERE (d.document::json ->> 'updated_at') COLLATE "C" >=
             to_char(date_trunc('second', \(filter.updatedSince) + interval '999999 us') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
       GROUP BY d.id),
    part AS MATERIALIZED (
      SELECT m.id, m.document, m.place FROM matching m WHERE m.place > \(filter.after ?? 0)
       ORDER BY m.place OFFSET \(filter.skip) LIMIT \(filter.count + 1))
    SELECT \(unsafe: StoredList.headColumn), NULL::bigint, NULL::bigint, (SELECT count(*) FROM matching)::text, NULL::timestamptz,
           NULL::bigint, NULL::bigint, NULL::boolean FROM head h
    UNION ALL
    SELECT p.document, p.place, p.id, p.place::text, NULL, NULL, NULL, NULL FROM part p
    """
  }
}
