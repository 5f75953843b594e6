import JSONText
import Postgres

extension Favorites {
  /// A piece of an account, in the order in which an export has them.
  public enum ExportPart: Sendable {
    /// The account itself, as an object, and when that was.
    case account([UInt8], at: String)
    /// A collection.
    case collection([UInt8])
    /// A favorite with everything but its version, and the names of its collections.
    case favorite([UInt8], collections: [String])
    /// What is left of a removed favorite.
    case favoriteTombstone([UInt8])
    /// What is left of a removed collection.
    case collectionTombstone([UInt8])
  }

  /// Rows that are read at once.
  private static let exportBatch = 500

  /// Hands all of an account to `body`, batch by batch, as it was at one moment.
  ///
  /// `body` may take its time as long as it comes back within the database's limit for idle transactions.
  ///
  /// - Returns: `false` when the token is nobody's.
  /// - Throws: `PostgresError`, and what `body` throws.
  public func export(token: [UInt8], _ body: ([ExportPart]) async throws -> Void) async throws -> Bool {
    try await database.transaction(isolation: .repeatableRead) { transaction in
      let accounts = try await transaction.query(
        """
        SELECT format('{"username":%s,"display_name":%s,"locale":%s,"gif_rating":%s,"created_at":"%s"}', to_json(a.username),
                 coalesce(to_json(a.display_name), 'null'), to_json(a.locale), to_json(a.gif_rating), magpie.json_time(a.created_at)),
               magpie.json_time(now())
          FROM magpie.account a WHERE a.id = magpie.current_account()
        """, after: ["SELECT magpie.authenticate(\(token))"])
      guard let row = accounts.first, let account = row[0], let time = row[1] else { return false }
      try await body([.account(Array(account.utf8), at: time)])
      let collections = try await transaction.query(
        """
        SELECT format('{"id":%s,"name":%s,"rank":%s,"created_at":"%s"}', to_json(c.id), to_json(c.name), to_json(c.rank),
                 magpie.json_time(c.created_at)), c.id::text, c.name
          FROM magpie.collection c WHERE c.account_id = magpie.current_account() ORDER BY c.id
        """)
      var names: [String: String] = [:]
      for row in collections { names[row[1] ?? ""] = row[2] ?? "" }
      try await body(collections.map { .collection(Array(($0[0] ?? "").utf8)) })
      try await exportPages(
        in: transaction, "f.document, f.kind, f.subject_id", of: "magpie.favorite"
      ) { document in
        let view = JSONView(checked: Array(document.utf8))
        let ids = view["collections"].map { Array($0.elements) } ?? []
        return .favorite(
          view.removing(members: ["version", "updated_at"]),
          collections: ids.compactMap { $0.string.flatMap { names[$0] } })
      } _: {
        try await body($0)
      }
      try await exportPages(
        in: transaction,
        """
        format('{"kind":%s,"id":%s,"title":%s,"subtitle":%s,"url":%s,"image":%s,"state":%s,"note":%s,"tags":%s,"collections":%s,'
                 '"rank":%s,"added_at":"%s","deleted_at":"%s","snapshot":%s}', to_json(f.kind), to_json(f.subject_id), to_json(f.title),
                 to_json(f.subtitle), to_json(f.url), to_json(f.image), to_json(f.state), to_json(f.note), to_json(f.tags),
                 to_json(f.collections), to_json(f.rank), magpie.json_time(f.added_at), magpie.json_time(f.deleted_at),
                 coalesce(f.snapshot::text, 'null')), f.kind, f.subject_id
        """, of: "magpie.favorite_tombstone"
      ) {
        .favoriteTombstone(Array($0.utf8))
      } _: {
        try await body($0)
      }
      let gone = try await transaction.query(
        """
        SELECT format('{"id":%s,"deleted_at":"%s"}', to_json(t.id), magpie.json_time(t.deleted_at))
          FROM magpie.collection_tombstone t WHERE t.account_id = magpie.current_account() ORDER BY t.id
        """)
      try await body(gone.map { .collectionTombstone(Array(($0[0] ?? "").utf8)) })
      return true
    }
  }

  /// - Parameters:
  ///   - columns: the document, kind and id of a row `f`.
  private func exportPages(
    in transaction: Transaction, _ columns: String, of table: String, _ part: (String) -> ExportPart,
    _ body: ([ExportPart]) async throws -> Void
  ) async throws {
    var last = ("", "")
    while true {
      let rows = try await transaction.query(
        """
        SELECT \(unsafe: columns) FROM \(unsafe: table) f
         WHERE f.account_id = magpie.current_account() AND (f.kind, f.subject_id) > (\(last.0)::text, \(last.1)::text)
         ORDER BY f.kind, f.subject_id LIMIT \(Favorites.exportBatch)
        """)
      try await body(rows.map { part($0[0] ?? "{}") })
      guard rows.count == Favorites.exportBatch else { return }
      last = (rows[rows.count - 1][1] ?? "", rows[rows.count - 1][2] ?? "")
    }
  }
}
