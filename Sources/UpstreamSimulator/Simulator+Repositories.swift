import HTTP

/// Making and changing repositories. All throw when nobody is called so, or the repository is not there.
extension Simulator {
  /// What can be changed of a repository; `nil` leaves it as it is.
  public struct RepositoryChange: Sendable {
    /// The stars.
    public var stars: Int64?
    /// What it is about.
    public var description: String?
    /// The main language; an empty text unsets it.
    public var language: String?
    /// Bytes of each language.
    public var languages: [String: Int64]?
    /// Commits on the default branch.
    public var commits: Int?
    /// Seconds since 1970 of the last change. Left alone by the other members.
    public var updatedAt: Int64?

    /// No change.
    public init() {}
  }

  /// Whether and how a repository can be seen.
  public enum RepositoryState: String, Sendable, CaseIterable {
    /// As usual.
    case present
    /// 451.
    case takenDown = "taken-down"
    /// 403 with a block object.
    case blocked
    /// 404, and in no list.
    case deleted
  }

  /// Makes a repository with one commit, perhaps under a name that was given up. Answers the id.
  @discardableResult
  public func addRepository(_ name: String, of login: String) throws -> Int64 {
    try engine.withPerson(login) { world, owner in
      try world.repositories.make(name, owner: owner, at: world.clock.now)
    }
  }

  /// The id of `login/name`.
  public func repositoryID(_ name: String, of login: String) throws -> Int64 {
    try engine.withRepository(login, name) { $1 }
  }

  /// Ids of somebody's repositories in an order that GitHub knows: `created`, `updated`, `pushed` or `full_name`.
  public func repositories(of login: String, sort: String, descending: Bool) throws -> [Int64] {
    try engine.withPerson(login) { world, owner in
      var query = Target.Query()
      query.set("sort", to: sort)
      query.set("direction", to: descending ? "desc" : "asc")
      return world.repositories(of: owner, query).map(\.id)
    }
  }

  /// The present name of a repository without its owner; `nil` when there is none with that id.
  public func repositoryName(_ id: Int64) -> String? { engine.world.withLock { $0.repositories[id]?.name } }

  /// Something is pushed: one more commit, and the times move on to the clock's.
  public func push(to name: String, of login: String) throws {
    try engine.withRepository(login, name) { world, id in
      let now = world.clock.now
      world.repositories.edit(id) { repository in
        repository.commits += 1
        repository.pushedAt = max(now, repository.pushedAt + 1)
        repository.updatedAt = max(now, repository.updatedAt + 1)
      }
    }
  }

  /// Changes a repository.
  public func change(_ name: String, of login: String, _ change: RepositoryChange) throws {
    try engine.withRepository(login, name) { world, id in
      world.repositories.edit(id) { repository in
        if let stars = change.stars { repository.stars = stars }
        if let text = change.description { repository.description = text }
        if let language = change.language { repository.language = language.isEmpty ? nil : language }
        if let languages = change.languages { repository.languages = languages.map { ($0.key, $0.value) } }
        if let commits = change.commits { repository.commits = max(0, commits) }
        if let time = change.updatedAt { repository.updatedAt = time }
      }
    }
  }

  /// Blocks, deletes or restores a repository.
  public func set(_ state: RepositoryState, _ name: String, of login: String) throws {
    try engine.withRepository(login, name) { world, id in
      world.repositories.edit(id) { $0.state = Repository.State(state) }
    }
  }

  /// Brings a deleted repository back under a name.
  public func restore(_ id: Int64, _ name: String) {
    engine.world.withLock { world in
      world.repositories.edit(id) { $0.state = .present }
      if let owner = world.repositories[id]?.owner { try? world.repositories.move(id, to: owner, name: name) }
    }
  }

  /// Gives a repository another name, or another owner. The old name redirects until somebody takes it.
  public func move(_ name: String, of login: String, to newName: String, of newOwner: String? = nil) throws {
    let owner = try newOwner.map { try self.id(of: $0) }
    try engine.withRepository(login, name) { world, id in
      guard let present = world.repositories[id]?.owner else { return }
      try world.repositories.move(id, to: owner ?? present, name: newName)
    }
  }
}

extension Repository.State {
  init(_ state: Simulator.RepositoryState) {
    switch state {
    case .present: self = .present
    case .takenDown: self = .takenDown
    case .blocked: self = .blocked
    case .deleted: self = .deleted
    }
  }
}

extension Engine {
  /// Looks at or changes a repository by its present name.
  func withRepository<R>(_ login: String, _ name: String, _ body: (inout World, Int64) throws -> R) throws -> R {
    try withPerson(login) { world, owner in
      guard let id = world.repositories.id(owner: owner, name: name) else {
        throw Network.Refusal(description: "\(login) has no repository called \(name)")
      }
      return try body(&world, id)
    }
  }
}
