/// Changing people and lists. Logins may be of hidden people; all throw when nobody is called so.
extension Simulator {
  /// Makes somebody by name, perhaps with a login that was released. Answers the id.
  @discardableResult
  public func add(_ user: Simulator.Configuration.User) throws -> Int64 {
    try engine.world.withLock { try $0.add(user) }
  }

  /// The id of whoever has the login now.
  public func id(of login: String) throws -> Int64 { try engine.withPerson(login) { $1 } }

  /// The present login of somebody. `nil` when the id is nobody's.
  public func login(of id: Int64) -> String? { engine.world.withLock { $0.network.card(id)?.login } }

  /// Ids of everybody in the list of followers, in the order of the pages.
  public func followers(of login: String) throws -> [Int64] { try ids(login, .followers) }

  /// Ids of everybody followed, in the order of the pages.
  public func following(of login: String) throws -> [Int64] { try ids(login, .following) }

  private func ids(_ login: String, _ kind: ListKey.Kind) throws -> [Int64] {
    try engine.withPerson(login) { world, id in
      let list = world.network.list(ListKey(owner: id, kind: kind))
      return (0..<list.count).map { list[$0] }
    }
  }

  /// Lets `follower` follow `owner`, in both lists. `false` when that is so already.
  @discardableResult
  public func follow(_ owner: String, by follower: String) throws -> Bool {
    let follower = try id(of: follower)
    return try engine.withPerson(owner) { $0.network.follow($1, by: follower) }
  }

  /// Ends that, in both lists. `false` when it was not so.
  @discardableResult
  public func unfollow(_ owner: String, by follower: String) throws -> Bool {
    let follower = try id(of: follower)
    return try engine.withPerson(owner) { $0.network.unfollow($1, by: follower) }
  }

  /// Gives somebody another login; the old one is nobody's then.
  public func rename(_ login: String, to newLogin: String) throws {
    try engine.withPerson(login) { try $0.network.rename($1, to: newLogin, at: $0.clock.now) }
  }

  /// Takes somebody away: 404, gone from all lists and counts.
  public func delete(_ login: String) throws { try engine.withPerson(login) { $0.network.set(.deleted, of: $1) } }

  /// Hides somebody: 404, gone from all lists, still counted.
  public func suspend(_ login: String) throws { try engine.withPerson(login) { $0.network.set(.suspended, of: $1) } }

  /// Brings somebody back, unchanged and where they stood.
  public func revive(_ login: String) throws { try engine.withPerson(login) { $0.network.set(.present, of: $1) } }

  /// Makes a profile private or public again: zero counts and empty lists.
  public func setPrivate(_ isPrivate: Bool, _ login: String) throws {
    try engine.withPerson(login) { $0.network.setPrivate(isPrivate, $1) }
  }

  /// Changes what a profile says. `nil` leaves a part as it is, an empty text unsets it.
  public func edit(_ login: String, name: String? = nil, bio: String? = nil, location: String? = nil) throws {
    try engine.withPerson(login) { world, id in
      world.network.edit(id, at: world.clock.now) { profile in
        if let name { profile.name = name.isEmpty ? nil : name }
        if let bio { profile.bio = bio.isEmpty ? nil : bio }
        if let location { profile.location = location.isEmpty ? nil : location }
      }
    }
  }

  /// One change as churn makes them: somebody new follows, and every second time somebody leaves.
  public func churnOnce(_ login: String) throws { try engine.churnOnce(login) }
}
