import JSONText
import Postgres

/// Which part of a stored list is wanted, in the upstream's order.
public struct ListRange: Sendable {
  /// Position of the first member, from 0.
  public var first: Int64
  /// How many, at most 100.
  public var count: Int
  /// The walk that an earlier page was read from, so that a reader sees one list from beginning to end; the latest one is
  /// taken when it is not kept any more.
  public var walk: Int64?

  /// A part of the latest list.
  public init(first: Int64, count: Int, walk: Int64? = nil) {
    self.first = first
    self.count = count
    self.walk = walk
  }
}

/// A part of a list, its items in the form they are answered in.
public struct StoredList: Sendable {
  /// The owner's numeric id.
  public let ownerID: Int64
  /// What jobs about the owner are named by; see `Person.init(storedLogin:id:)`.
  public let owner: Person
  /// `ok`, `gone` or `restricted`.
  public let ownerState: String
  /// The walk that was read; `nil` when the list was never walked.
  public let walk: Int64?
  /// Whether a walk has ever come to its end, so that the list is whole.
  public let isComplete: Bool
  /// Members stored.
  public let stored: Int64
  /// Members there should be; equal to `stored` when the list is complete.
  public let expected: Int64
  /// When a complete walk last confirmed the list; `nil` before the first is complete.
  public let freshness: Freshness?

  /// The account that asks.
  let account: Int64
  /// Of the asking account's favorites.
  let favoritesVersion: Int64
  var starred: StarredPeople?
  /// The members of this part, in order, and an item for each.
  public internal(set) var ids: [Int64] = []
  /// What the items were when they were stored, one digest each: whoever knows these and the ids knows the items. Empty when
  /// that is not known.
  public internal(set) var digests: [Int64] = []
  var items: [[UInt8]] = []

  /// Members in this part.
  public var count: Int { items.count }
  /// Bytes of all items.
  public var size: Int { items.reduce(0) { $0 + $1.count } }

  /// The asking account's tags for those members it has starred, by their place in this part.
  public var favoriteTags: [(index: Int, tags: StarTags)] {
    guard let tags = starred?.tags, !tags.isEmpty else { return [] }
    return ids.indices.compactMap { index in tags[ids[index]].map { (index, $0) } }
  }

  /// Lends each member's item, with the asking account's tags if it has starred the member.
  @inline(__always)
  public func forEachMember(_ body: (_ item: [UInt8], _ favoriteTags: [String]?) -> Void) {
    forEachStarredMember { body($0, $1?.tags) }
  }

  /// The same, with the tags as JSON beside them.
  @inline(__always)
  public func forEachStarredMember(_ body: (_ item: [UInt8], _ favoriteTags: StarTags?) -> Void) {
    guard let tags = starred?.tags, !tags.isEmpty else {
      for item in items { body(item, nil) }
      return
    }
    for index in items.indices { body(items[index], tags[ids[index]]) }
  }

  /// The walk that readers see, or the one they have pinned, if it is still there.
  private static func walk(_ pinned: Int64?) -> Query {
    guard let pinned else { return "LEFT JOIN magpie.walk w ON w.id = l.walk_id" }
    return """
      LEFT JOIN LATERAL (SELECT w.* FROM magpie.walk w
        WHERE w.listing_id = l.id AND (w.id = l.walk_id OR w.id = \(pinned) AND w.state = 'complete')
        ORDER BY w.id = \(pinned) DESC LIMIT 1) w ON true
      """
  }

  /// What a read begins with: who asks, whose list it is, and which walk.
  static func head(_ kind: String, of person: Person, walk pinned: Int64?, token: [UInt8]) -> Query {
    // The lateral join with its limit is opened only when the account is known to row-level security.
    return """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
      head AS MATERIALIZED (
        SELECT me.account_id, a.version, u.id AS owner_id, u.login_key, u.state, l.id AS listing_id, l.generation,
               l.fetched_at, l.validated_at, w.id AS walk_id, w.members, w.expected,
               CASE WHEN l.generation = 0 THEN l.last_generation ELSE l.generation END AS visible
          FROM me
          LEFT JOIN LATERAL (SELECT a.version FROM magpie.account a WHERE a.id = me.account_id LIMIT 1) a ON true
          LEFT JOIN magpie.github_user u ON \(fragment: person.condition)
          LEFT JOIN magpie.listing l ON l.owner_id = u.id AND l.kind = \(kind)
          \(fragment: walk(pinned))
         WHERE me.account_id IS NOT NULL)
      """
  }

  /// The head in one column, so that the rows of members, which are many, need not carry its columns.
  static let headColumn = """
    json_build_array(h.account_id, h.version, h.owner_id, h.login_key, h.state, h.walk_id, h.generation, h.members, h.expected,
      (extract(epoch FROM h.fetched_at) * 1000000)::bigint, (extract(epoch FROM h.validated_at) * 1000000)::bigint,
      extract(epoch FROM now() - h.validated_at)::float8)::text
    """

  /// A row for each of the upstream's pages that the part touches, with members and digests, but not the documents: what is not
  /// remembered is asked for once more. What tells of the list stands in each of the few rows, which costs less than a row of
  /// its own.
  ///
  /// - Parameters:
  ///   - kind: as `magpie.listing` names it.
  ///   - known: digests of pages whose members need not be sent.
  static func query(
    _ kind: String, of person: Person, _ range: ListRange, known: [Int64] = [], token: [UInt8]
  ) -> Query {
    let end = range.first + Int64(range.count)
    return """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT me.account_id, a.version, u.id, u.login_key, u.state, w.id, l.generation, w.members, w.expected, l.fetched_at,
             l.validated_at, extract(epoch FROM now() - l.validated_at)::float8,
             p.first, p.digest,
             CASE WHEN p.digest <> ALL (\(known)::bigint[]) THEN p.members[greatest(\(range.first) - p.first, 0) + 1:\(end) - p.first] END,
             CASE WHEN p.digest <> ALL (\(known)::bigint[]) THEN p.digests[greatest(\(range.first) - p.first, 0) + 1:\(end) - p.first] END
        FROM me
        LEFT JOIN LATERAL (SELECT a.version FROM magpie.account a WHERE a.id = me.account_id LIMIT 1) a ON true
        LEFT JOIN magpie.github_user u ON \(fragment: person.condition)
        LEFT JOIN magpie.listing l ON l.owner_id = u.id AND l.kind = \(kind)
        \(fragment: walk(range.walk))
        LEFT JOIN magpie.walk_page p ON p.walk_id = w.id AND p.first > \(range.first) - 100 AND p.first < \(end)
       WHERE me.account_id IS NOT NULL
      """
  }

  /// The documents of the same part.
  static func documentsQuery(_ walk: Int64, _ range: ListRange) -> Query {
    let end = range.first + Int64(range.count)
    return """
      SELECT d.document, d.id, d.digest
        FROM magpie.walk_page p CROSS JOIN LATERAL unnest(p.documents, p.members, p.digests) AS d(document, id, digest)
       WHERE p.walk_id = \(walk) AND p.first > \(range.first) - 100 AND p.first < \(end)
      """
  }
}

extension StoredList {
  /// What an answer of `query` is about.
  enum Reading {
    /// The token is nobody's.
    case nobody
    case unknown(account: Int64)
    case list(StoredList)
  }

  /// What an answer of `query` is about, and the pieces of the part in their order.
  ///
  /// - Parameter known: the pieces whose digests the query was told.
  static func read(
    _ rows: Rows, known: [PartMemory.Piece] = []
  ) throws(PostgresError) -> (Reading, [PartMemory.Piece]) {
    guard let row = rows.first else { return (.nobody, []) }
    let account = try row.decode(Int64.self, at: 0)
    guard let owner = try rows.integer(row: 0, column: 2) else { return (.unknown(account: account), []) }
    let stored = try rows.integer(row: 0, column: 7) ?? 0
    let list = StoredList(
      ownerID: owner, owner: Person(storedLogin: row[3], id: owner), ownerState: row[4] ?? "ok",
      walk: try rows.integer(row: 0, column: 5), isComplete: try rows.integer(row: 0, column: 6) ?? 0 > 0,
      stored: stored,
      expected: try rows.integer(row: 0, column: 8) ?? stored,
      freshness: Freshness(
        try row.decode(Instant?.self, at: 9), try row.decode(Instant?.self, at: 10),
        try row.decode(Double?.self, at: 11)),
      account: account, favoritesVersion: try rows.integer(row: 0, column: 1) ?? 0)
    var pieces: [PartMemory.Piece] = []
    for index in 0..<rows.count {
      guard let first = try rows.integer(row: index, column: 12) else { continue }
      let digest = try rows.integer(row: index, column: 13)
      if let digest, let piece = known.first(where: { $0.digest == digest }) {
        pieces.append(piece)
        continue
      }
      let ids = try rows.integers(row: index, column: 14)
      let digests = try rows.integers(row: index, column: 15)
      let keys = zip(ids, digests).map { ItemMemory.Key(id: $0, digest: $1) }
      pieces.append(PartMemory.Piece(first: first, digest: digest ?? 0, keys: keys))
    }
    pieces.sort { $0.first < $1.first }
    return (.list(list), pieces)
  }

  /// Reads `headColumn`.
  static func reading(_ head: String?) -> Reading {
    let head = head.map { Array(JSONView(checked: Array($0.utf8)).elements) } ?? []
    guard head.count == 12, let account = head[0].int else { return .nobody }
    guard let owner = head[2].int else { return .unknown(account: account) }
    let stored = head[7].int ?? 0
    return .list(
      StoredList(
        ownerID: owner, owner: Person(storedLogin: head[3].string, id: owner), ownerState: head[4].string ?? "ok",
        walk: head[5].int, isComplete: head[6].int ?? 0 > 0, stored: stored, expected: head[8].int ?? stored,
        freshness: Freshness(
          head[9].int.map(Instant.init(microseconds:)), head[10].int.map(Instant.init(microseconds:)), head[11].double),
        account: account, favoritesVersion: head[1].int ?? 0))
  }
}
