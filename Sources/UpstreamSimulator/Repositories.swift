/// All repositories: those that named people were born with, and what has happened to them since.
struct Repositories: Sendable {
  let seed: Seed
  private var byID: [Int64: Repository] = [:]
  /// In the order they were made.
  private var ofOwner: [Int64: [Int64]] = [:]
  private var byName: [Int64: [String: Int64]] = [:]
  /// Names that were given up, as owner and lowered name.
  private var former: [Int64: [String: Int64]] = [:]
  private var nextID: Int64 = 5_000_000_000

  init(seed: Seed) { self.seed = seed }

  // MARK: Reading

  subscript(id: Int64) -> Repository? { byID[id] }

  /// Whose name it is now, deleted ones not counted.
  func id(owner: Int64, name: String) -> Int64? { byName[owner]?[name.lowercased()] }

  /// Where a name led before, as long as nobody has taken it.
  func former(owner: Int64, name: String) -> Int64? { former[owner]?[name.lowercased()] }

  /// All that can be seen, by id.
  var all: [Repository] { byID.values.filter { $0.state == .present }.sorted { $0.id < $1.id } }

  /// In the order they were made.
  func list(of owner: Int64) -> [Repository] {
    (ofOwner[owner] ?? []).compactMap { byID[$0] }.filter { $0.state != .deleted }
  }

  // MARK: Changing

  /// Gives an owner the repositories of a seeded list.
  mutating func seed(_ count: Int, owner: Int64) {
    for number in 0..<count { insert(Repository(seeded: number, of: owner, seed: seed)) }
  }

  /// A new one under a name that is free; whoever had it before leads there no more.
  @discardableResult
  mutating func make(_ name: String, owner: Int64, at now: Int64) throws(Network.Refusal) -> Int64 {
    guard !name.isEmpty, !name.contains("/") else { throw Network.Refusal(description: "not a name: \(name)") }
    guard id(owner: owner, name: name) == nil else { throw Network.Refusal(description: "the name is taken: \(name)") }
    let id = nextID
    nextID += 1
    former[owner]?[name.lowercased()] = nil
    insert(Repository(id: id, owner: owner, name: name, at: now))
    return id
  }

  /// Changes anything but the owner and the name.
  mutating func edit(_ id: Int64, _ body: (inout Repository) -> Void) {
    guard var repository = byID[id] else { return }
    let (owner, name) = (repository.owner, repository.name)
    body(&repository)
    (repository.owner, repository.name) = (owner, name)
    byID[id] = repository
    if repository.state == .deleted { byName[owner]?[repository.key] = nil }
  }

  /// Gives it another name, another owner, or both. The old name leads to it until somebody else takes it.
  mutating func move(_ id: Int64, to owner: Int64, name: String) throws(Network.Refusal) {
    guard var repository = byID[id] else { throw Network.Refusal(description: "no such repository") }
    if let holder = self.id(owner: owner, name: name), holder != id {
      throw Network.Refusal(description: "the name is taken: \(name)")
    }
    byName[repository.owner]?[repository.key] = nil
    former[repository.owner, default: [:]][repository.key] = id
    if owner != repository.owner {
      ofOwner[repository.owner]?.removeAll { $0 == id }
      ofOwner[owner, default: []].append(id)
    }
    repository.owner = owner
    repository.name = name
    former[owner]?[repository.key] = nil
    byID[id] = repository
    byName[owner, default: [:]][repository.key] = id
  }

  private mutating func insert(_ repository: Repository) {
    byID[repository.id] = repository
    ofOwner[repository.owner, default: []].append(repository.id)
    byName[repository.owner, default: [:]][repository.key] = repository.id
  }
}
