import EventLoop
import Postgres
import Upstream

/// Reads what is stored of the photo service.
///
/// The items are kept in memory as they are answered, one generation of them, since all of them are asked for together; PostgreSQL
/// says with every read which generation it is.
public final class Photos: Sendable {
  private let database: Database
  private let tables = Lock<[Form: Loading]>([:])

  init(database: Database) { self.database = database }

  /// What the items are answered as.
  public struct Form: Hashable, Sendable {
    let collection: PhotoCollection
    /// Base of this server's own placeholder pictures; `nil` leaves the service's addresses, which lead nowhere.
    let pictures: String?

    /// Items as they came, or with addresses of pictures that are there.
    public init(_ collection: PhotoCollection, pictures: String?) {
      self.collection = collection
      self.pictures = pictures
    }
  }

  /// All items in one form.
  public struct Edition: Sendable {
    /// Grows with every change.
    public let generation: Int64
    /// The items.
    public let table: JSONTable
    /// The same for the same bytes; 32 hexadecimal digits.
    public let name: String
  }

  private struct Loading: Sendable {
    let generation: Int64
    let task: Task<Edition, any Error>
  }

  // MARK: What is stored

  /// What a read found.
  public enum Reading: Sendable {
    /// The token is nobody's.
    case nobody
    /// Nothing was ever fetched.
    case empty(account: Int64?)
    /// There are items.
    case stored(Head)
  }

  /// About all items.
  public struct Head: Sendable {
    /// Who asks; `nil` without a token.
    public let account: Int64?
    /// Which items they are.
    public let generation: Int64
    /// How old they are.
    public let freshness: Freshness
    /// Tags of those photos that the account has starred, by id.
    public let starred: [Int64: [String]]
  }

  /// Which generation is stored, and what the account has starred, in one statement.
  ///
  /// - Parameters:
  ///   - id: only this item matters.
  ///   - token: `nil` for whoever has none.
  /// - Throws: `PostgresError`.
  public func read(_ collection: PhotoCollection, id: String? = nil, token: [UInt8]?) async throws -> Reading {
    let rows = try await database.query(Self.query(collection, id: id, token: token))
    guard let first = rows.first else { return .nobody }
    let (account, generation, fetchedAt, validatedAt, age, _, _) = try first.decode(
      (Int64?, Int64, Instant?, Instant?, Double?, String?, [String]?).self)
    guard generation > 0, let freshness = Freshness(fetchedAt, validatedAt, age) else {
      return .empty(account: account)
    }
    var starred: [Int64: [String]] = [:]
    for row in rows {
      if let id = row[5].flatMap({ Int64($0) }), let tags = try row.decode([String]?.self, at: 6) { starred[id] = tags }
    }
    return .stored(Head(account: account, generation: generation, freshness: freshness, starred: starred))
  }

  private static func query(_ collection: PhotoCollection, id: String?, token: [UInt8]?) -> Query {
    guard let token else {
      return """
        SELECT NULL::bigint, s.generation, s.fetched_at, s.validated_at, extract(epoch FROM now() - s.validated_at)::float8,
               NULL::text, NULL::text[]
          FROM magpie.photo_set s WHERE s.name = \(collection.rawValue)
        """
    }
    return """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT me.account_id, s.generation, s.fetched_at, s.validated_at, extract(epoch FROM now() - s.validated_at)::float8,
             f.subject_id, f.tags
        FROM me JOIN magpie.photo_set s ON s.name = \(collection.rawValue)
        LEFT JOIN LATERAL (
          SELECT f.subject_id, f.tags FROM magpie.favorite f
           WHERE f.account_id = me.account_id AND f.kind = 'photo' AND \(collection == .photos)
             AND (\(id)::text IS NULL OR f.subject_id = \(id)) LIMIT \(PhotoService.Whole.maxItems)) f ON true
       WHERE me.account_id IS NOT NULL
      """
  }

  // MARK: The items

  /// The items, from memory if the generation is the one that is remembered. However many ask, they are loaded once.
  ///
  /// - Throws: `PostgresError`.
  public func edition(_ form: Form, generation: Int64) async throws -> Edition {
    let task = tables.withLock { tables in
      // A later one is as good: it was stored since the caller looked.
      if let known = tables[form], known.generation >= generation { return known.task }
      let task = Task { [database] in try await Self.load(form, database) }
      tables[form] = Loading(generation: generation, task: task)
      return task
    }
    do {
      return try await task.value
    } catch {
      tables.withLock { if $0[form]?.task == task { $0[form] = nil } }
      throw error
    }
  }

  /// Items read at once: all of them would be in memory three times for a moment, and most of that would stay with the process.
  private static let slice = 500

  /// Not on a loop: to prepare five thousand items takes some 20 ms.
  private static func load(_ form: Form, _ database: Database) async throws -> Edition {
    try await database.transaction(isolation: .repeatableRead, retries: 3) { transaction in
      let size = try await transaction.query(
        """
        SELECT s.generation, count(i.id), coalesce(sum(octet_length(i.document)), 0)::bigint
          FROM magpie.photo_set s LEFT JOIN \(unsafe: form.collection.table) i ON true
         WHERE s.name = \(form.collection.rawValue) GROUP BY s.generation
        """
      )[0].decode((Int64, Int64, Int64).self)
      var builder = builder(form)
      builder.reserve(items: Int(size.1), bytes: Int(size.2))
      var last: Int32 = -1
      while true {
        let rows = try await transaction.query(
          """
          SELECT i.position, i.id, i.document FROM \(unsafe: form.collection.table) i
           WHERE i.position > \(last) ORDER BY i.position LIMIT \(Int64(slice))
          """)
        for row in 0..<rows.count {
          last = Int32(clamping: try rows.integer(row: row, column: 0) ?? 0)
          let id = try rows.integer(row: row, column: 1) ?? 0
          rows.lend(row: row, column: 2) { if let bytes = $0 { builder.append(id: id, Array(bytes)) } }
        }
        if rows.count < slice { break }
      }
      let table = builder.finish()
      return Edition(generation: size.0, table: table, name: Digest.name(of: table.document))
    }
  }

  private static func builder(_ form: Form) -> JSONTable.Builder {
    let pictures = form.pictures
    return JSONTable.Builder { name, text in
      guard let pictures, name == "url" || name == "thumbnailUrl", let address = PlaceholderAddress(text) else {
        return nil
      }
      return "\(pictures)/\(address.size)/\(address.color).png"
    }
  }
}

extension Digest {
  /// The first half of the SHA-256 as 32 hexadecimal digits.
  static func name(of bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".unicodeScalars)
    var name = ""
    for byte in sha256(bytes).prefix(16) {
      name.unicodeScalars.append(digits[Int(byte >> 4)])
      name.unicodeScalars.append(digits[Int(byte & 15)])
    }
    return name
  }
}
