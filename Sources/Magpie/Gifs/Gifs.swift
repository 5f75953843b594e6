import Postgres
import Upstream

/// Reads what is stored of GIPHY's answers.
public struct Gifs: Sendable {
  let database: Database

  /// What a read found.
  public enum Reading: Sendable {
    /// The token is nobody's.
    case nobody
    /// Whoever asks is somebody.
    case known(Head, StoredGifs?)
  }

  /// About the asking account and the relay.
  public struct Head: Sendable {
    /// Who asks.
    public let account: Int64
    /// Whether some worker has a key.
    public let isOn: Bool
    /// The question with its rating.
    public let question: Giphy.Question
  }

  /// The answer to a question as it is stored, in one statement with the token's check, the account's rating and its favorites.
  ///
  /// - Throws: `PostgresError`.
  public func read(_ question: GifQuestion, token: [UInt8]) async throws -> Reading {
    let rows = try await database.query(Self.query(question, token: token))
    var head: Int?
    var items: [StoredGifs.Item] = []
    for row in 0..<rows.count {
      if let position = try rows.integer(row: row, column: 1) {
        items.append(StoredGifs.Item(position: position, row: row))
      } else {
        head = row
      }
    }
    guard let head else { return .nobody }
    let row = rows[head]
    let (account, isOn, rating) = try (
      row.decode(Int64.self, at: 3), row.decode(Bool.self, at: 4), row.decode(String.self, at: 5)
    )
    items.sort { $0.position < $1.position }
    return .known(
      Head(account: account, isOn: isOn, question: question.asked(rating: rating)),
      try StoredGifs(rows, row, items))
  }

  /// The first row tells of the answer as a whole, and is there for whoever is somebody; then come the items.
  private static func query(_ question: GifQuestion, token: [UInt8]) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
    asker AS MATERIALIZED (
      SELECT me.account_id, coalesce(\(question.rating)::text, a.gif_rating, 'g') AS rating
        FROM me LEFT JOIN LATERAL (SELECT a.gif_rating FROM magpie.account a WHERE a.id = me.account_id LIMIT 1) a ON true
       WHERE me.account_id IS NOT NULL),
    answer AS MATERIALIZED (
      SELECT g.* FROM asker JOIN magpie.gif_answer g ON g.key = sha256(convert_to(\(question.stem) || asker.rating, 'UTF8'))
       WHERE g.fetched_at > now() - interval '1 hour')
    SELECT CASE WHEN g.shape = 'other' THEN g.documents[1] END, NULL::bigint, NULL::text[], a.account_id,
           EXISTS (SELECT FROM magpie.credential c WHERE c.pool = \(GifQuestion.pool) AND c.seen_at > now() - interval '30 minutes'),
           a.rating, g.status, g.shape, g.total_count, g.item_count, g.item_offset, g.response_id, g.fetched_at,
           extract(epoch FROM now() - g.fetched_at)::float8
      FROM asker a LEFT JOIN answer g ON true
    UNION ALL
    SELECT i.document, i.n, f.tags, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM asker a CROSS JOIN answer g CROSS JOIN LATERAL unnest(g.documents, g.ids) WITH ORDINALITY AS i(document, id, n)
      LEFT JOIN LATERAL (
        SELECT f.tags FROM magpie.favorite f
         WHERE f.account_id = a.account_id AND f.kind = 'gif' AND f.subject_id = i.id LIMIT 1) f ON true
     WHERE g.shape <> 'other'
    """
  }
}

/// A stored answer of GIPHY.
public struct StoredGifs: Sendable {
  /// What `data` is.
  public enum Shape: String, Sendable {
    case list
    case one
    case other
  }

  struct Item: Sendable {
    let position: Int64
    let row: Int
  }

  /// 200 or 404.
  public let status: Int
  /// What `data` is.
  public let shape: Shape
  /// Where a list stands; `nil` for all else.
  public let pagination: (total: Int64, count: Int64, offset: Int64)?
  /// GIPHY's name for the answer.
  public let responseID: String
  /// How old it is.
  public let freshness: Freshness
  /// Of shape `other`: the whole of `data`.
  public let other: [UInt8]

  private let rows: Rows
  private let items: [Item]

  /// How many items there are.
  public var count: Int { items.count }

  /// Lends each item's document, with the asking account's tags if it has starred the item.
  public func forEachItem(_ body: (_ document: UnsafeRawBufferPointer, _ favoriteTags: [String]?) -> Void) {
    for item in items {
      let tags = try? rows[item.row].decode([String]?.self, at: 2)
      rows.lend(row: item.row, column: 0) { if let document = $0 { body(document, tags ?? nil) } }
    }
  }

  /// `nil`: nothing is stored.
  init?(_ rows: Rows, _ head: Row, _ items: [Item]) throws(PostgresError) {
    guard let status = try head.decode(Int?.self, at: 6),
      let shape = try head.decode(String?.self, at: 7).flatMap(Shape.init(rawValue:))
    else { return nil }
    let fetchedAt = try head.decode(Instant?.self, at: 12)
    guard let freshness = Freshness(fetchedAt, fetchedAt, try head.decode(Double?.self, at: 13)) else { return nil }
    self.status = status
    self.shape = shape
    self.freshness = freshness
    if let total = try head.decode(Int64?.self, at: 8), let count = try head.decode(Int64?.self, at: 9),
      let offset = try head.decode(Int64?.self, at: 10)
    {
      pagination = (total, count, offset)
    } else {
      pagination = nil
    }
    responseID = try head.decode(String?.self, at: 11) ?? ""
    other = Array((head[0] ?? "").utf8)
    self.rows = rows
    self.items = items
  }
}

extension Refreshes {
  /// Orders an answer of GIPHY, or joins the job that is fetching it.
  ///
  /// - Throws: `PostgresError`.
  public func request(
    _ question: Giphy.Question, priority: Job.Priority, startsOver: Bool = false, account: Int64
  ) async throws -> Job.Ticket {
    try await queue.request(
      kind: GifQuestion.jobKind, subject: question.subject, args: question.args, priority: priority,
      whenRunning: startsOver ? .startOver : .join, account: account)
  }

  /// Orders an answer of GIPHY of which none is stored that is young enough, or joins the job that is fetching it.
  ///
  /// - Parameters:
  ///   - life: seconds for which an answer counts.
  ///   - absenceLife: the same for the answer that there is no such thing.
  /// - Returns: `nil` when it has been stored meanwhile.
  /// - Throws: `PostgresError`.
  public func requestMissing(
    _ question: Giphy.Question, life: Double, absenceLife: Double, account: Int64
  ) async throws -> Job.Ticket? {
    try await queue.request(
      kind: GifQuestion.jobKind, subject: question.subject, args: question.args, priority: .interactive,
      account: account,
      unless: """
        EXISTS (SELECT FROM magpie.gif_answer g WHERE g.key = \(question.key)
          AND g.fetched_at > now() - make_interval(secs => CASE WHEN g.status = 404 THEN \(absenceLife) ELSE \(life) END))
        """)
  }
}
