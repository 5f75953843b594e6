import Postgres

/// Reads what is stored of the upstreams. Never asks an upstream: that is the workers' part.
public struct Mirror: Sendable {
  let database: Database
  private let starred = StarredPeopleCache()
  /// How long stored data is fresh.
  public let timeToLive: TimeToLive

  /// The mirror kept in a database.
  public init(database: Database, timeToLive: TimeToLive) {
    self.database = database
    self.timeToLive = timeToLive
  }

  /// What a read found.
  public enum Read<Value: Sendable>: Sendable {
    /// The token is nobody's.
    case nobody
    /// This person was never seen. Asked for by this account.
    case unknown(account: Int64)
    /// This is stored. Asked for by this account.
    case found(Value, account: Int64)
  }

  /// A person's profile.
  ///
  /// - Throws: `PostgresError`.
  public func profile(of person: Person, token: [UInt8]) async throws -> Read<StoredProfile> {
    let rows = try await database.query(StoredProfile.query(person, token: token))
    guard let row = rows.first else { return .nobody }
    let account = try row.decode(Int64.self, at: 9)
    return try StoredProfile(row).map { .found($0, account: account) } ?? .unknown(account: account)
  }

  /// A part of a person's list in the upstream's order.
  ///
  /// - Throws: `PostgresError`.
  public func list(
    _ kind: FollowKind, of person: Person, _ range: ListRange, token: [UInt8]
  ) async throws -> Read<StoredList> {
    switch try StoredList.read(await database.query(StoredList.query(kind, of: person, range, token: token))) {
    case .nobody: return .nobody
    case .unknown(let account): return .unknown(account: account)
    case .list(var list):
      list.starred = try await starredPeople(among: list, token: token)
      return .found(list, account: list.account)
    }
  }

  /// A part of those members of a person's whole list that match a filter.
  ///
  /// - Throws: `PostgresError`.
  public func list(
    _ kind: FollowKind, of person: Person, matching filter: ListFilter, token: [UInt8]
  ) async throws -> Read<FilteredList> {
    switch try StoredList.read(await database.query(FilteredList.query(kind, of: person, filter, token: token))) {
    case .nobody: return .nobody
    case .unknown(let account): return .unknown(account: account)
    case .list(let whole):
      var filtered = FilteredList(whole, count: filter.count)
      filtered.list.starred = try await starredPeople(among: filtered.list, token: token)
      return .found(filtered, account: whole.account)
    }
  }

  /// Whom of a page the asking account has starred: mostly remembered, else one more statement.
  private func starredPeople(among list: StoredList, token: [UInt8]) async throws -> StarredPeople? {
    if list.favoritesVersion == 0 || list.members.isEmpty { return nil }
    var people = starred.people(of: list.account, at: list.favoritesVersion)
    let authentication: Query = "SELECT magpie.authenticate(\(token))"
    if people == nil {
      people = try await StarredPeople(database.query(StarredPeople.query, after: [authentication]))
      if let people { starred.keep(people, of: list.account) }
    }
    if let people, people.tags == nil {
      return try await StarredPeople(
        database.query(StarredPeople.query(among: list.members.map(\.id)), after: [authentication]))
    }
    return people
  }

  /// Why a subject may be missing.
  ///
  /// - Throws: `PostgresError`.
  public func absence(of subject: Subject) async throws -> Absence {
    let rows = try await database.query(Absence.query(subject))
    return try Absence(rows[0], negativeLife: timeToLive.negative)
  }
}
