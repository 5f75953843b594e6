import Postgres

/// Several people at once, each as far as known: documents that are lent, not copied.
public struct StoredCards: Sendable {
  /// People in one read, at most.
  public static let maxCount = 100

  /// How much is known of somebody.
  public enum State: Sendable, Equatable {
    /// The profile is stored and fresh.
    case fresh
    /// The profile is stored, and its time is over.
    case stale
    /// Only lists have shown this person so far: there is a list item, or not even that.
    case partial
    /// The upstream does not show this person any more; the last that was known is there.
    case gone
    /// The upstream says that there is nobody of this name, and is still to be believed.
    case absent
    /// The login is nobody's now; its owner bears another one.
    case moved(to: String)
    /// Never heard of.
    case unknown
  }

  /// Somebody who was asked for.
  public struct Card: Sendable {
    /// Place in the request, from 0.
    public let position: Int
    /// What is known.
    public let state: State
    /// The numeric id, if it is known.
    public let id: Int64?
    /// Whom a job that fetches the profile must be about; one job for a person, by whatever name they are asked for.
    public let person: Person
    let row: Int
  }

  /// In the order asked, one for each that was asked for, twice for who was asked for twice.
  public let cards: [Card]
  /// The asking account.
  public let account: Int64
  let rows: Rows

  /// Lends a card's document, with the asking account's tags if it has starred the person. Not called when there is none.
  public func withDocument(
    of card: Card, _ body: (_ document: UnsafeRawBufferPointer, _ favoriteTags: [String]?) -> Void
  ) {
    StoredSearch.lend(rows, card.row, body)
  }

  static func query(_ people: [Person], token: [UInt8]) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id),
    asked AS MATERIALIZED (
      SELECT a.key, a.n, CASE WHEN a.key LIKE 'id:%' THEN substr(a.key, 4)::bigint END AS id
        FROM me CROSS JOIN unnest(\(people.map(\.key))::text[]) WITH ORDINALITY AS a(key, n))
    SELECT coalesce(u.profile, u.summary), a.n, u.id, f.tags, me.account_id, u.login_key, u.state, u.profile IS NOT NULL,
           extract(epoch FROM now() - u.profile_validated_at)::float8, extract(epoch FROM now() - x.checked_at)::float8, r.login
      FROM me LEFT JOIN asked a ON true
      LEFT JOIN LATERAL (
        SELECT u.* FROM magpie.github_user u WHERE a.id IS NULL AND u.login_key = a.key
        UNION ALL
        SELECT u.* FROM magpie.github_user u WHERE u.id = a.id) u ON true
      LEFT JOIN magpie.upstream_fact x ON x.subject = 'github-user:' || a.key
      LEFT JOIN LATERAL (
        SELECT p.login FROM magpie.github_login l JOIN magpie.github_user p ON p.id = l.user_id
         WHERE u.id IS NULL AND l.login_key = a.key AND p.login_key <> l.login_key AND p.state <> 'gone'
         ORDER BY l.seen_until DESC LIMIT 1) r ON true
      LEFT JOIN LATERAL (
        SELECT f.tags FROM magpie.favorite f
         WHERE f.account_id = me.account_id AND f.kind = 'github-user' AND f.subject_id = u.id::text LIMIT 1) f ON true
     WHERE me.account_id IS NOT NULL
     ORDER BY a.n
    """
  }

  /// `nil` when the token is nobody's.
  init?(_ rows: Rows, of people: [Person], life: TimeToLive) throws(PostgresError) {
    guard let first = rows.first else { return nil }
    account = try first.decode(Int64.self, at: 4)
    var cards: [Card] = []
    for index in 0..<rows.count {
      guard let place = try rows.integer(row: index, column: 1), place >= 1, place <= people.count else { continue }
      let row = rows[index]
      let position = Int(place) - 1
      guard let id = try row.decode(Int64?.self, at: 2) else {
        let factAge = try row.decode(Double?.self, at: 9)
        let isAbsent = factAge.map { $0 < life.negative } ?? false
        let state: State =
          if let login = try row.decode(String?.self, at: 10), isAbsent { .moved(to: login) } else if isAbsent {
            .absent
          } else { .unknown }
        cards.append(Card(position: position, state: state, id: nil, person: people[position], row: index))
        continue
      }
      let (login, standing, hasProfile, age) = (
        try row.decode(String?.self, at: 5), try row.decode(String.self, at: 6), try row.decode(Bool.self, at: 7),
        try row.decode(Double?.self, at: 8)
      )
      let state: State =
        if standing == "gone" {
          .gone
        } else if !hasProfile {
          .partial
        } else {
          age ?? .infinity <= life.profile ? .fresh : .stale
        }
      cards.append(
        Card(position: position, state: state, id: id, person: Person(storedLogin: login, id: id), row: index))
    }
    self.cards = cards
    self.rows = rows
  }
}
