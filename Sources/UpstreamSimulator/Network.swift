/// Everybody and who follows whom: seeded people and lists, and on top of them what happened since.
struct Network: Sendable {
  /// Whether somebody can be seen.
  enum Presence: Sendable {
    /// As usual.
    case present
    /// Hidden and still counted; may come back.
    case suspended
    /// Gone from lists and counts; may come back, too.
    case deleted
  }

  /// Somebody cannot be found, or cannot be made.
  struct Refusal: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  private struct Named {
    var login: String
    var followers: Int
    var following: Int
    var gists = 0
    var organizations = 0
  }

  let population: Population
  private let newestFirst: Bool

  /// People made by name, beside the population.
  private var named: [Int64: Named] = [:]
  /// Lowered logins that are not found by arithmetic: named people, and new names of renamed ones.
  private var idsByLogin: [String: Int64] = [:]
  private var newLogins: [Int64: String] = [:]
  /// Lowered logins that were given up, and by whom; their repositories are found by them still.
  private(set) var formerLogins: [String: Int64] = [:]
  private var profiles: [Int64: Profile] = [:]
  private var privateProfiles: Set<Int64> = []
  private var suspended: Set<Int64> = []
  private var deleted: Set<Int64> = []

  private var changes: [ListKey: ListChanges] = [:]
  /// Finished views; all of them end when somebody is hidden or shown again.
  private var lists: [ListKey: FollowList] = [:]
  private static let maxLists = 512

  /// Grows with every change that can be seen in a list or profile.
  private(set) var version = 0

  init(_ configuration: Simulator.Configuration) throws(Refusal) {
    population = Population(seed: configuration.seed)
    newestFirst = configuration.newestFirst
    for user in configuration.users { try add(user) }
  }

  // MARK: Reading

  /// Whoever has the login now, hidden people included.
  func id(ofLogin login: String) -> Int64? {
    let login = login.lowercased()
    if let id = idsByLogin[login] { return id }
    guard let number = population.number(ofLogin: login) else { return nil }
    let id = population.id(of: number)
    return newLogins[id] == nil ? id : nil
  }

  /// Whoever has the login and can be seen.
  func visibleID(ofLogin login: String) -> Int64? { id(ofLogin: login).flatMap { isVisible($0) ? $0 : nil } }

  /// Whether the id is somebody's who can be seen.
  func isVisible(_ id: Int64) -> Bool { card(id) != nil && !suspended.contains(id) && !deleted.contains(id) }

  func isPrivate(_ id: Int64) -> Bool { privateProfiles.contains(id) }

  /// `nil` when the id is nobody's.
  func card(_ id: Int64) -> Card? {
    if let named = named[id] { return Card(id: id, login: newLogins[id] ?? named.login, kind: .user) }
    guard let number = population.number(ofID: id) else { return nil }
    return Card(id: id, login: newLogins[id] ?? population.login(of: number), kind: population.kind(of: number))
  }

  /// Visible people whose login has the text in it, whatever its case: the named ones by login, then the first of the others.
  func people(whoseLoginContains text: String, depth: Int) -> [Int64] {
    func matches(_ id: Int64) -> Bool { isVisible(id) && card(id)?.login.lowercased().contains(text) == true }
    let special = Set(named.keys).union(newLogins.keys)
    let first = special.filter(matches).sorted { (card($0)?.login ?? "") < (card($1)?.login ?? "") }
    let others = (0..<min(depth, Population.size)).lazy.map { population.id(of: $0) }
    return first + others.filter { !special.contains($0) && matches($0) }
  }

  func profile(_ card: Card) -> Profile { profiles[card.id] ?? Profile(card, seed: population.seed) }

  /// The list as it is now; empty for private profiles.
  mutating func list(_ key: ListKey) -> FollowList {
    if let list = lists[key] { return list }
    let list = FollowList(
      seeded(key), changes[key] ?? ListChanges(), population: population, newestFirst: newestFirst,
      deleted: deleted, suspended: suspended)
    if lists.count >= Network.maxLists { lists = [:] }
    lists[key] = list
    return list
  }

  /// Whether one of the two lists says so: those of people nobody named do not agree with each other.
  func follows(_ owner: Int64, by follower: Int64) -> Bool {
    contains(follower, in: ListKey(owner: owner, kind: .followers))
      || contains(owner, in: ListKey(owner: follower, kind: .following))
  }

  private func contains(_ person: Int64, in key: ListKey) -> Bool {
    let changes = changes[key] ?? ListChanges()
    return changes.added.contains(person) || (isSeeded(person, in: key) && !changes.removed.contains(person))
  }

  private func seeded(_ key: ListKey) -> SeededList {
    let counts = counts(key.owner)
    return SeededList(key, followers: counts.followers, following: counts.following, seed: population.seed)
  }

  /// Lengths of the seeded lists: a few dozen for most people.
  private func counts(_ id: Int64) -> (followers: Int, following: Int) {
    if let named = named[id] { return (named.followers, named.following) }
    let dice = population.seed.number(.counts, UInt64(bitPattern: id))
    return (Int(dice % 8) * Int(dice >> 8 % 8), Int(dice >> 16 % 40))
  }

  /// Gists and memberships of somebody named; `nil` for everybody else, who has none.
  func itemCounts(_ id: Int64) -> (gists: Int, organizations: Int)? { named[id].map { ($0.gists, $0.organizations) } }

  /// Organizations somebody is in: some of the population, whatever their kind is there.
  func organizations(of id: Int64) -> [Card] {
    let count = itemCounts(id)?.organizations ?? 0
    return (0..<count).compactMap { card(person(Seed.mix(UInt64(bitPattern: id) &+ UInt64($0)))) }
  }

  // MARK: Changing

  /// Makes somebody by name. A released login may be taken by somebody new.
  @discardableResult
  mutating func add(_ user: Simulator.Configuration.User) throws(Refusal) -> Int64 {
    guard Network.isLogin(user.login) else { throw Refusal(description: "not a login: \(user.login)") }
    guard user.followers >= 0, user.following >= 0, user.followers + user.following <= Population.size else {
      throw Refusal(description: "at most \(Population.size) followers and followed people, not fewer than none")
    }
    if let holder = id(ofLogin: user.login), !deleted.contains(holder) {
      throw Refusal(description: "the login is taken: \(user.login)")
    }
    var id = user.id ?? Network.ownID(user.login)
    if user.id == nil { while card(id) != nil { id += 1 } }
    guard id > 0, card(id) == nil else { throw Refusal(description: "the id is taken: \(id)") }
    named[id] = Named(
      login: user.login, followers: user.followers, following: user.following, gists: user.gists,
      organizations: user.organizations)
    formerLogins[user.login.lowercased()] = nil
    idsByLogin[user.login.lowercased()] = id
    version += 1
    return id
  }

  /// Gives somebody another login. The old one is nobody's until somebody takes it.
  mutating func rename(_ id: Int64, to login: String, at now: Int64) throws(Refusal) {
    guard let card = card(id) else { throw Refusal(description: "nobody has the id \(id)") }
    guard Network.isLogin(login) else { throw Refusal(description: "not a login: \(login)") }
    if let holder = self.id(ofLogin: login), holder != id {
      throw Refusal(description: "the login is taken: \(login)")
    }
    if idsByLogin[card.login.lowercased()] == id { idsByLogin[card.login.lowercased()] = nil }
    newLogins[id] = login
    formerLogins[card.login.lowercased()] = id
    formerLogins[login.lowercased()] = nil
    idsByLogin[login.lowercased()] = id
    touch(id, at: now)
  }

  /// Lets `follower` follow `owner`, in both lists. `false` when that is so already.
  @discardableResult
  mutating func follow(_ owner: Int64, by follower: Int64) -> Bool {
    let new = append(follower, to: ListKey(owner: owner, kind: .followers))
    return append(owner, to: ListKey(owner: follower, kind: .following)) || new
  }

  /// Ends that, in both lists. `false` when it was not so.
  @discardableResult
  mutating func unfollow(_ owner: Int64, by follower: Int64) -> Bool {
    let left = remove(follower, from: ListKey(owner: owner, kind: .followers))
    return remove(owner, from: ListKey(owner: follower, kind: .following)) || left
  }

  mutating func set(_ presence: Presence, of id: Int64) {
    suspended.remove(id)
    deleted.remove(id)
    switch presence {
    case .present: break
    case .suspended: suspended.insert(id)
    case .deleted: deleted.insert(id)
    }
    lists = [:]
    version += 1
  }

  mutating func setPrivate(_ isPrivate: Bool, _ id: Int64) {
    if isPrivate { privateProfiles.insert(id) } else { privateProfiles.remove(id) }
    version += 1
  }

  /// Changes what a profile says; moves its time of change.
  mutating func edit(_ id: Int64, at now: Int64, _ body: (inout Profile) -> Void) {
    guard let card = card(id) else { return }
    var profile = profile(card)
    body(&profile)
    profile.updatedAt = max(now, profile.updatedAt + 1)
    profiles[id] = profile
    version += 1
  }

  private mutating func touch(_ id: Int64, at now: Int64) { edit(id, at: now) { _ in } }

  private mutating func append(_ person: Int64, to key: ListKey) -> Bool {
    var changes = changes[key] ?? ListChanges()
    // Coming back means coming anew, at the end where new ones stand.
    guard !changes.added.contains(person) else { return false }
    if isSeeded(person, in: key), !changes.removed.contains(person) { return false }
    changes.added.append(person)
    store(changes, key)
    return true
  }

  private mutating func remove(_ person: Int64, from key: ListKey) -> Bool {
    var changes = changes[key] ?? ListChanges()
    if let index = changes.added.firstIndex(of: person) {
      changes.added.remove(at: index)
    } else if isSeeded(person, in: key), !changes.removed.contains(person) {
      changes.removed.insert(person)
    } else {
      return false
    }
    store(changes, key)
    return true
  }

  private mutating func store(_ changes: ListChanges, _ key: ListKey) {
    self.changes[key] = changes
    lists[key] = nil
    version += 1
  }

  private func isSeeded(_ person: Int64, in key: ListKey) -> Bool {
    population.number(ofID: person).map { seeded(key).position(of: $0) != nil } ?? false
  }

  // MARK: Names

  /// Ids of named people lie above everybody else's; GitHub's mascot keeps its own.
  private static func ownID(_ login: String) -> Int64 {
    login.lowercased() == "octocat"
      ? 583_231 : 3_000_000_000 + Int64(Seed.number(of: login.lowercased()) % 1_000_000_000)
  }

  static func isLogin(_ text: String) -> Bool {
    var text = text[...]
    if text.hasSuffix("[bot]") { text.removeLast(5) }
    return (1...60).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
  }

  /// Somebody of the population by a number; for churn.
  func person(_ number: UInt64) -> Int64 { population.id(of: Int(number % UInt64(Population.size))) }
}
