import Postgres

extension Sync {
  /// Changes in the order of their versions.
  public struct Page: Sendable {
    let rows: Rows
    let head: Head
    /// How many entries there are.
    public let count: Int
    /// What the device has when it has applied the page: the `since` of the next one.
    public let version: Int64
    /// Where the read is to end: the account's version, or what the client has asked for.
    public let until: Int64
    /// Whether there is more up to `until`.
    public let hasMore: Bool

    /// The account's version.
    public var current: Int64 { head.version }
    /// Whose changes they are.
    public var account: Int64 { head.account }
    /// The device that asks.
    public var session: String { head.session }

    /// Lends each entry, a JSON object, with its version.
    public func forEachEntry(_ body: (Int64, UnsafeRawBufferPointer) -> Void) {
      for index in 0..<count {
        guard let version = try? rows.integer(row: index, column: 6) else { continue }
        rows.lend(row: index, column: 7) { if let bytes = $0 { body(version, bytes) } }
      }
    }

    /// What every row says of account and device.
    struct Head: Sendable {
      let account: Int64
      let version: Int64
      let horizon: Int64
      let session: String
      let syncVersion: Int64?
      /// Where the account was when the read of everything began that the cursor is of; `nil` for other cursors.
      let fullRead: Int64?

      init(_ row: Row) throws {
        account = try row.decode(Int64.self, at: 0)
        version = try row.decode(Int64.self, at: 1)
        horizon = try row.decode(Int64.self, at: 2)
        session = row[3] ?? ""
        syncVersion = try row.decode(Int64?.self, at: 4)
        fullRead = try row.decode(Int64?.self, at: 5)
      }
    }

    /// One statement, so one moment: the version and all that is below it. The lateral joins make PostgreSQL authenticate before
    /// it opens the scans that row-level security guards.
    static func query(since: Int64, until: Int64?, limit: Int, token: [UInt8]) -> Query {
      let until = until ?? .max
      return """
        WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
        SELECT me.account_id, a.version, a.horizon_version, s.id, s.sync_version, s.full_read_version,
               c.version, c.document, c.available
          FROM me
          LEFT JOIN LATERAL (
            SELECT a.version, a.horizon_version FROM magpie.account a WHERE a.id = me.account_id LIMIT 1) a ON true
          LEFT JOIN LATERAL (
            SELECT s.id, s.sync_version,
                   CASE WHEN \(since) = ANY (s.full_read_places) THEN s.full_read_version END AS full_read_version
              FROM magpie.session s
             WHERE s.account_id = me.account_id AND s.token_hash = \(token) LIMIT 1) s ON true
          LEFT JOIN LATERAL (
            SELECT w.version, w.document, w.available FROM (
              SELECT u.version, u.document, count(*) OVER () AS available, row_number() OVER (ORDER BY u.version) AS place,
                     sum(octet_length(u.document)) OVER (ORDER BY u.version) - octet_length(u.document) AS bytes_before
                FROM (
                  (SELECT f.version, f.document FROM magpie.favorite f
                    WHERE f.account_id = me.account_id AND f.version > \(since) AND f.version <= \(until)
                    ORDER BY f.version LIMIT \(limit + 1))
                  UNION ALL
                  (SELECT t.version, magpie.deleted_entry(t.kind, t.subject_id, t.version) FROM magpie.favorite_tombstone t
                    WHERE t.account_id = me.account_id AND t.version > \(since) AND t.version <= \(until)
                    ORDER BY t.version LIMIT \(limit + 1))
                  UNION ALL
                  (SELECT l.version, l.document FROM magpie.collection l
                    WHERE l.account_id = me.account_id AND l.version > \(since) AND l.version <= \(until)
                    ORDER BY l.version LIMIT \(limit + 1))
                  UNION ALL
                  (SELECT g.version, magpie.deleted_entry('collection', g.id::text, g.version)
                     FROM magpie.collection_tombstone g
                    WHERE g.account_id = me.account_id AND g.version > \(since) AND g.version <= \(until)
                    ORDER BY g.version LIMIT \(limit + 1))) u) w
             WHERE w.place <= \(limit) AND w.bytes_before < \(Sync.maxPageBytes)
             ORDER BY w.version LIMIT \(limit)) c ON true
         WHERE me.account_id IS NOT NULL
         ORDER BY c.version
        """
    }

    static func read(_ rows: Rows, _ head: Head, since: Int64?, until: Int64?) throws -> Pull {
      let since = since ?? head.version
      if since > head.version { return .refused(.unknownCursor) }
      // A cursor below the horizon is good only within a read of everything that has begun above it: what was deleted before
      // that, the read has never told of.
      if since > 0, since < head.horizon, head.fullRead ?? 0 < head.horizon { return .refused(.expired) }
      let available = try rows[0].decode(Int64?.self, at: 8) ?? 0
      let count = available == 0 ? 0 : rows.count
      let end = min(until ?? head.version, head.version)
      let hasMore = Int64(count) < available
      let last = hasMore ? try rows.integer(row: count - 1, column: 6) ?? since : max(end, since)
      return .page(Page(rows: rows, head: head, count: count, version: last, until: end, hasMore: hasMore))
    }
  }
}
