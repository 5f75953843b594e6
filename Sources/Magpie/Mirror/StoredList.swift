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

/// A part of a list as it is stored: documents that are lent, not copied.
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
  let rows: Rows
  let members: [Member]

  /// Where in the answer a member's document stands.
  struct Member {
    let position: Int64
    let id: Int64
    let row: Int
  }

  /// Members in this part.
  public var count: Int { members.count }

  /// Lends each member's document, with the asking account's tags if it has starred the member.
  @inline(__always)
  public func forEachMember(_ body: (_ document: UnsafeRawBufferPointer, _ favoriteTags: [String]?) -> Void) {
    let tags = starred?.tags ?? [:]
    for member in members {
      rows.lend(row: member.row, column: 0) { document in
        if let document { body(document, tags.isEmpty ? nil : tags[member.id]) }
      }
    }
  }

  /// What a read begins with: who asks, whose list it is, and which walk.
  static func head(_ kind: FollowKind, of person: Person, walk pinned: Int64?, token: [UInt8]) -> Query {
    let walk: Query =
      if let pinned {
        """
        LEFT JOIN LATERAL (SELECT w.* FROM magpie.walk w
          WHERE w.listing_id = l.id AND (w.id = l.walk_id OR w.id = \(pinned) AND w.state = 'complete')
          ORDER BY w.id = \(pinned) DESC LIMIT 1) w ON true
        """
      } else {
        "LEFT JOIN magpie.walk w ON w.id = l.walk_id"
      }
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
          LEFT JOIN magpie.listing l ON l.owner_id = u.id AND l.kind = \(kind.rawValue)
          \(fragment: walk)
         WHERE me.account_id IS NOT NULL)
      """
  }

  /// The head in one column, so that the rows of members, which are many, need not carry its columns.
  static let headColumn = """
    json_build_array(h.account_id, h.version, h.owner_id, h.login_key, h.state, h.walk_id, h.generation, h.members, h.expected,
      (extract(epoch FROM h.fetched_at) * 1000000)::bigint, (extract(epoch FROM h.validated_at) * 1000000)::bigint,
      extract(epoch FROM now() - h.validated_at)::float8)::text
    """

  /// The first row has no position and tells of the list; then come the members with their documents. Positions come along, so
  /// nothing is sorted here.
  static func query(_ kind: FollowKind, of person: Person, _ range: ListRange, token: [UInt8]) -> Query {
    let end = range.first + Int64(range.count)
    return """
      \(fragment: head(kind, of: person, walk: range.walk, token: token))
      SELECT \(unsafe: headColumn), NULL::bigint, NULL::bigint FROM head h
      UNION ALL
      SELECT u.summary, p.first + t.n, t.id
        FROM head h
        JOIN magpie.walk_page p ON p.walk_id = h.walk_id AND p.first > \(range.first) - 100 AND p.first < \(end)
        CROSS JOIN LATERAL unnest(p.members[greatest(\(range.first) - p.first, 0) + 1:\(end) - p.first])
          WITH ORDINALITY AS t(id, n)
        JOIN magpie.github_user u ON u.id = t.id
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

  static func read(_ rows: Rows) throws(PostgresError) -> Reading {
    var head: [JSONView] = []
    var members: [Member] = []
    members.reserveCapacity(rows.count)
    var isSorted = true
    for index in 0..<rows.count {
      guard let position = try rows.integer(row: index, column: 1), let id = try rows.integer(row: index, column: 2)
      else {
        head = Array(JSONView(checked: Array((rows[index][0] ?? "[]").utf8)).elements)
        continue
      }
      if let last = members.last, last.position > position { isSorted = false }
      members.append(Member(position: position, id: id, row: index))
    }
    guard head.count == 12, let account = head[0].int else { return .nobody }
    guard let owner = head[2].int else { return .unknown(account: account) }
    if !isSorted { members.sort { $0.position < $1.position } }
    let stored = head[7].int ?? 0
    return .list(
      StoredList(
        ownerID: owner, owner: Person(storedLogin: head[3].string, id: owner), ownerState: head[4].string ?? "ok",
        walk: head[5].int, isComplete: head[6].int ?? 0 > 0, stored: stored, expected: head[8].int ?? stored,
        freshness: Freshness(
          head[9].int.map(Instant.init(microseconds:)), head[10].int.map(Instant.init(microseconds:)), head[11].double),
        account: account, favoritesVersion: head[1].int ?? 0, starred: nil, rows: rows, members: members))
  }

  /// The same with fewer members.
  func limited(to count: Int) -> StoredList {
    StoredList(
      ownerID: ownerID, owner: owner, ownerState: ownerState, walk: walk, isComplete: isComplete, stored: stored,
      expected: expected, freshness: freshness, account: account, favoritesVersion: favoritesVersion, starred: starred,
      rows: rows, members: Array(members.prefix(count)))
  }
}
