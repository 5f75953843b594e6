import Postgres

/// Reads what is stored of the upstreams. Never asks an upstream: that is the workers' part.
public struct Mirror: Sendable {
  let database: Database
  private let starred = StarredPeopleCache()
  private let starredRepositories = StarredPeopleCache()
  private let memory = ItemMemory()
  private let parts = PartMemory()
  let form: ItemForm
  /// How long stored data is fresh.
  public let timeToLive: TimeToLive
  /// Photos and albums.
  public let photos: Photos
  /// Answers of GIPHY.
  public let gifs: Gifs

  /// Makes of a stored item of a list, which is a JSON object, what is kept to be answered.
  public typealias ItemForm = @Sendable (_ document: UnsafeRawBufferPointer) -> [UInt8]

  /// The mirror kept in a database.
  public init(database: Database, timeToLive: TimeToLive, form: @escaping ItemForm) {
    self.database = database
    self.timeToLive = timeToLive
    self.form = form
    photos = Photos(database: database)
    gifs = Gifs(database: database)
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
    for _ in 0..<Mirror.readings {
      let (reading, keys) = try await part(kind.rawValue, of: person, range, token: token)
      switch reading {
      case .nobody: return .nobody
      case .unknown(let account): return .unknown(account: account)
      case .list(var list):
        guard let walk = list.walk ?? (keys.isEmpty ? 0 : nil),
          let items = try await items(keys, { StoredList.documentsQuery(walk, range) })
        else { continue }
        list.ids = keys.map(\.id)
        list.digests = keys.map(\.digest)
        list.items = items
        list.starred = try await starredPeople(among: list, list.ids, token: token)
        return .found(list, account: list.account)
      }
    }
    throw Contention()
  }

  /// What a part of a list is about, and what its items are known by.
  func part(
    _ kind: String, of person: Person, _ range: ListRange, token: [UInt8]
  ) async throws -> (StoredList.Reading, [ItemMemory.Key]) {
    let name = PartMemory.Name(kind: kind, person: person, first: range.first, count: range.count)
    let known = parts.pieces(name)
    let digests = known.map(\.digest)
    let (reading, pieces) = try StoredList.read(
      await database.query(StoredList.query(kind, of: person, range, known: digests, token: token)), known: known)
    if pieces.map(\.digest) != digests { parts.keep(pieces, name) }
    return (reading, pieces.count == 1 ? pieces[0].keys : pieces.flatMap(\.keys))
  }

  /// A list that was replaced each time between the two statements of a read.
  public struct Contention: Error {}

  /// How often a part is read when the walk it belongs to is removed, or reads a page again, between two statements.
  static let readings = 5

  /// The items of a part: mostly remembered, else one more statement. `nil` when they have changed since the keys were read.
  ///
  /// - Parameters:
  ///   - space: keeps the ids of one kind of thing apart from those of others.
  ///   - documents: brings document, id and digest of all of them.
  func items(
    _ plainKeys: [ItemMemory.Key], space: ItemSpace = .people, _ documents: () -> Query
  ) async throws -> [[UInt8]]? {
    let keys = space == .people ? plainKeys : plainKeys.map { space.key($0.id, $0.digest) }
    if let items = memory.allItems(keys) { return items }
    let remembered = memory.items(keys)
    let rows = try await database.query(documents())
    var found: [ItemMemory.Key: [UInt8]] = [:]
    for row in 0..<rows.count {
      guard let id = try rows.integer(row: row, column: 1), let digest = try rows.integer(row: row, column: 2) else {
        continue
      }
      rows.lend(row: row, column: 0) { document in
        if let document { found[space.key(id, digest)] = form(document) }
      }
    }
    memory.keep(found.map { ($0.key, $0.value) })
    let all = zip(keys, remembered).compactMap { key, item in item ?? found[key] }
    return all.count == keys.count ? all : nil
  }

  /// A part of those members of a person's whole list that match a filter.
  ///
  /// - Throws: `PostgresError`.
  public func list(
    _ kind: FollowKind, of person: Person, matching filter: ListFilter, token: [UInt8]
  ) async throws -> Read<FilteredList> {
    var reading = StoredList.Reading.nobody
    var page: FilteredList?
    // A page that was sorted by itself goes on by itself.
    if filter.after?.count != 2 {
      let rows = try await database.query(PreparedList.query(kind, of: person, filter, token: token))
      (reading, page) = try PreparedList.read(rows, filter, form)
      switch reading {
      case .nobody: return .nobody
      case .unknown(let account): return .unknown(account: account)
      case .list: break
      }
    }
    if page == nil {
      let rows = try await database.query(FilteredList.query(kind, of: person, filter, token: token))
      (reading, page) = try FilteredList.read(rows, count: filter.count, form)
    }
    switch reading {
    case .nobody: return .nobody
    case .unknown(let account): return .unknown(account: account)
    case .list(let list):
      guard var page else { return .unknown(account: list.account) }
      page.list.starred = try await starredPeople(among: list, page.list.ids, token: token)
      return .found(page, account: list.account)
    }
  }

  /// Whom of a page the asking account has starred: mostly remembered, else one more statement.
  ///
  /// - Parameter kind: the kind of favorite that the members would be.
  func starredPeople(
    among list: StoredList, _ ids: [Int64], kind: String = "github-user", token: [UInt8]
  ) async throws -> StarredPeople? {
    if list.favoritesVersion == 0 || ids.isEmpty { return nil }
    let starred = kind == "github-repo" ? starredRepositories : starred
    var people = starred.people(of: list.account, at: list.favoritesVersion)
    let authentication: Query = "SELECT magpie.authenticate(\(token))"
    if people == nil {
      people = try await StarredPeople(database.query(StarredPeople.query(kind), after: [authentication]))
      if let people { starred.keep(people, of: list.account) }
    }
    if let people, people.tags == nil {
      return try await StarredPeople(
        database.query(StarredPeople.query(kind, among: ids), after: [authentication]))
    }
    return people
  }

  /// What a refresh of a person's data would take; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func refreshPlan(of person: Person, token: [UInt8], isOrder: Bool) async throws -> RefreshPlan? {
    let rights: [Query] = isOrder ? ["SELECT magpie.authenticate(\(token), 'write')"] : []
    return try RefreshPlan(
      await database.query(RefreshPlan.query(person, token: token), after: rights), asked: person)
  }

  /// Up to a hundred people at once; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func cards(of people: [Person], maxAge: Double? = nil, token: [UInt8]) async throws -> StoredCards? {
    var life = timeToLive
    life.profile = min(life.profile, maxAge ?? life.profile)
    return try StoredCards(await database.query(StoredCards.query(people, token: token)), of: people, life: life)
  }

  /// A page of a search, if the upstream has answered it.
  ///
  /// - Throws: `PostgresError`.
  public func search(_ query: SearchQuery, token: [UInt8]) async throws -> Read<StoredSearch> {
    let favorites = query.kind == .users ? "github-user" : "github-repo"
    return try StoredSearch.read(
      await database.query(
        StoredSearch.query(query, favorites: favorites, timeToLive, token: token)))
  }

  /// What is stored and begins with what a search is for; `nil` when the search is no plain text.
  ///
  /// - Throws: `PostgresError`.
  public func localMatches(_ query: SearchQuery, token: [UInt8]) async throws -> LocalMatches? {
    guard query.page == 1, let text = query.plainText else { return nil }
    return LocalMatches(
      rows: try await database.query(LocalMatches.query(query.kind, text, limit: query.perPage, token: token)))
  }

  /// Why a subject may be missing.
  ///
  /// - Throws: `PostgresError`.
  public func absence(of subject: Subject) async throws -> Absence {
    let rows = try await database.query(Absence.query(subject))
    // A block is not lifted within a minute, and a name that leads elsewhere does so for long.
    let life = timeToLive
    return try Absence(rows[0]) { [301, 403].contains($0) ? max(life.repository, life.negative) : life.negative }
  }
}
