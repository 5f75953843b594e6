import Postgres

/// How old stored data is, by the database's clock.
public struct Freshness: Sendable {
  /// When the content last changed.
  public let fetchedAt: Instant
  /// When the upstream last confirmed it, by 200 or 304.
  public let validatedAt: Instant
  /// Seconds since `validatedAt`.
  public let age: Double

  /// Both moments and the seconds since the second.
  public init(fetchedAt: Instant, validatedAt: Instant, age: Double) {
    self.fetchedAt = fetchedAt
    self.validatedAt = validatedAt
    self.age = age
  }

  init?(_ fetchedAt: Instant?, _ validatedAt: Instant?, _ age: Double?) {
    guard let fetchedAt, let validatedAt, let age else { return nil }
    self.init(fetchedAt: fetchedAt, validatedAt: validatedAt, age: max(0, age))
  }
}

/// Seconds until stored data is stale, per kind of data.
public struct TimeToLive: Sendable {
  /// For people.
  public var profile = 600.0
  /// For lists of followers and followed, of repositories, gists and organizations.
  public var list = 3600.0
  /// For single repositories and their languages.
  public var repository = 900.0
  /// For a repository's latest commits.
  public var commits = 300.0
  /// For the answers of a search.
  public var search = 600.0
  /// For what the upstream says is not there.
  public var negative = 60.0
  /// For photos and albums: what the service itself says of its answers.
  public var photos = 43_200.0
  /// For answers of GIPHY, whose media addresses do not last.
  public var gifs = 600.0

  /// The defaults.
  public init() {}
}
