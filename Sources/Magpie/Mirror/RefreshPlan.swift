import Postgres

/// What a refresh of a person's data would take, as far as can be said before.
public struct RefreshPlan: Sendable {
  /// Seconds an upstream takes for an answer, about.
  public static let secondsPerRequest = 0.25

  /// Parts that can be refreshed.
  public enum Part: String, CaseIterable, Sendable {
    case profile
    case followers
    case following
    case repositories = "repos"
    case gists

    /// The part of somebody.
    public func subject(of person: Person) -> Subject {
      switch self {
      case .profile: .profile(person)
      case .followers: .list(.followers, person)
      case .following: .list(.following, person)
      case .repositories: .items(.repositories, person)
      case .gists: .items(.gists, person)
      }
    }
  }

  /// The asking account.
  public let account: Int64
  /// What jobs about the person are named by.
  public let person: Person
  /// Whether the person was ever seen.
  public let isKnown: Bool
  private let counts: [Part: Int64]

  /// Requests for a part, if all of it has to be read again; `nil` when nothing tells how long it is.
  public func requests(for part: Part) -> Int64? {
    if part == .profile { return 1 }
    return counts[part].map { max(1, ($0 + 99) / 100) }
  }

  static func query(_ person: Person, token: [UInt8]) -> Query {
    // A counter that is no number tells nothing.
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
    SELECT me.account_id, u.id, u.login_key, coalesce(u.followers, l.followers), coalesce(u.following, l.following),
           coalesce(substring(u.profile::json ->> 'public_repos' FROM '^[0-9]{1,15}$')::bigint, l.repos),
           coalesce(substring(u.profile::json ->> 'public_gists' FROM '^[0-9]{1,15}$')::bigint, l.gists)
      FROM me LEFT JOIN magpie.github_user u ON \(fragment: person.condition)
      LEFT JOIN LATERAL (
        SELECT max(l.member_count) FILTER (WHERE l.kind = 'followers') AS followers,
               max(l.member_count) FILTER (WHERE l.kind = 'following') AS following,
               max(l.member_count) FILTER (WHERE l.kind = 'repos') AS repos,
               max(l.member_count) FILTER (WHERE l.kind = 'gists') AS gists
          FROM magpie.listing l WHERE l.owner_id = u.id AND l.generation > 0) l ON true
     WHERE me.account_id IS NOT NULL
    """
  }

  /// `nil` when the token is nobody's.
  init?(_ rows: Rows, asked: Person) throws(PostgresError) {
    guard let row = rows.first else { return nil }
    let (account, id, login, followers, following, repositories, gists) = try row.decode(
      (Int64, Int64?, String?, Int64?, Int64?, Int64?, Int64?).self)
    self.account = account
    isKnown = id != nil
    person = id.map { Person(storedLogin: login, id: $0) } ?? asked
    var counts: [Part: Int64] = [:]
    counts[.followers] = followers
    counts[.following] = following
    counts[.repositories] = repositories
    counts[.gists] = gists
    self.counts = counts
  }
}

extension RefreshPlan {
  /// What would be left of a budget, and when all would be done.
  public struct Forecast: Sendable, Equatable {
    /// Requests left of the window in which the last request is made.
    public let remaining: Int64
    /// Seconds until the end, waits for new windows included; `nil` when it cannot be asked at all.
    public let seconds: Double?
  }

  /// - Parameters:
  ///   - allowance: what the class of work may ask now.
  ///   - now: in seconds since 1970.
  public static func forecast(requests: Int64, allowance: Budgets.Allowance, window: Int64, now: Int64) -> Forecast {
    let working = Double(requests) * secondsPerRequest
    if requests <= allowance.remaining { return Forecast(remaining: allowance.remaining - requests, seconds: working) }
    guard allowance.limit > 0 else { return Forecast(remaining: 0, seconds: nil) }
    let windows = (requests - allowance.remaining + allowance.limit - 1) / allowance.limit
    let wait = max(0, allowance.reset - now) + (windows - 1) * window
    return Forecast(
      remaining: allowance.remaining + windows * allowance.limit - requests, seconds: max(working, Double(wait)))
  }
}
