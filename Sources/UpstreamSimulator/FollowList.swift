/// Names a list: whose, and which.
struct ListKey: Hashable, Sendable {
  enum Kind: String, Sendable {
    case followers
    case following
  }

  let owner: Int64
  let kind: Kind
}

/// What a list was before anybody touched it: people by arithmetic, of any length, in constant memory.
///
/// Followers are the first `followers` places of a permutation of all people that belongs to the owner. Of the following
/// list, every other place is one of those (the mutual ones), the rest lies beyond them.
struct SeededList: Sendable {
  let kind: ListKey.Kind
  let followers: Int
  let following: Int
  private let permutation: Permutation

  init(_ key: ListKey, followers: Int, following: Int, seed: Seed) {
    kind = key.kind
    self.followers = followers
    self.following = following
    permutation = Permutation(
      bits: Population.bits, number: seed.number(.order, UInt64(bitPattern: key.owner)))
  }

  var count: Int { kind == .followers ? followers : following }

  /// The number of the person at a position, 0 to `count` − 1.
  func person(at position: Int) -> Int {
    switch kind {
    case .followers: permutation(position)
    case .following: permutation(isMutual(position) ? position / 2 : followers + position)
    }
  }

  /// Where a person stands. `nil` when the person is not in the list.
  func position(of person: Int) -> Int? {
    let place = permutation.origin(of: person)
    switch kind {
    case .followers:
      return place < followers ? place : nil
    case .following:
      let position = place < followers ? place * 2 : place - followers
      guard position < following else { return nil }
      return self.person(at: position) == person ? position : nil
    }
  }

  private func isMutual(_ position: Int) -> Bool { position % 2 == 0 && position / 2 < followers }
}

/// What happened to a list since: kept small beside the seeded part.
struct ListChanges: Sendable {
  /// In the order they came.
  var added: [Int64] = []
  /// People of the seeded part who left.
  var removed: Set<Int64> = []
}

/// A list as it is now, readable by position.
struct FollowList: Sendable {
  private let seeded: SeededList
  private let population: Population
  /// In the order they are shown.
  private let added: [Int64]
  private let addedFirst: Bool
  /// Positions of the seeded part that are not shown, ascending.
  private let gaps: [Int]

  /// People hidden from it who are still counted, as GitHub counts suspended ones.
  let countedButHidden: Int

  init(
    _ seeded: SeededList, _ changes: ListChanges, population: Population, newestFirst: Bool,
    deleted: Set<Int64>, suspended: Set<Int64>
  ) {
    self.seeded = seeded
    self.population = population
    let shown = changes.added.filter { !deleted.contains($0) && !suspended.contains($0) }
    added = newestFirst ? shown.reversed() : shown
    addedFirst = newestFirst
    func position(_ id: Int64) -> Int? { population.number(ofID: id).flatMap { seeded.position(of: $0) } }
    let left = Set(changes.removed.compactMap(position)).union(deleted.compactMap(position))
    let hidden = Set(suspended.compactMap(position)).subtracting(left)
    gaps = left.union(hidden).sorted()
    countedButHidden = hidden.count + changes.added.filter { suspended.contains($0) && !deleted.contains($0) }.count
  }

  /// People shown.
  var count: Int { added.count + seeded.count - gaps.count }

  /// The id of the person at a position, 0 to `count` − 1.
  subscript(position: Int) -> Int64 {
    if addedFirst {
      return position < added.count ? added[position] : seededID(position - added.count)
    }
    let seededShown = seeded.count - gaps.count
    return position < seededShown ? seededID(position) : added[position - seededShown]
  }

  private func seededID(_ shown: Int) -> Int64 {
    // The position with exactly `shown` shown ones before it: step over each gap that lies at or before it.
    var low = 0
    var high = gaps.count
    while low < high {
      let middle = (low + high) / 2
      if gaps[middle] - middle <= shown { low = middle + 1 } else { high = middle }
    }
    return population.id(of: seeded.person(at: shown + low))
  }
}
