import EventLoop

/// What kind of thing ids belong to: numbers of people and repositories mean nothing to each other.
enum ItemSpace: Int64, Sendable {
  case people
  case repositories
  case gists
  case organizations

  /// Ids have at most 18 digits, so that their upper bits tell the space.
  func key(_ id: Int64, _ digest: Int64) -> ItemMemory.Key {
    ItemMemory.Key(id: id ^ rawValue << 60, digest: digest)
  }
}

/// Remembers items of lists in the form they are answered in, so that a page need neither be sent by the database nor be
/// prepared once more: of a hundred followers that is most of the work.
///
/// Nothing is ever out of date: every page comes with the digests of its items, and only what has the same id and the same
/// digest is used. An id stands beside the digest so that nobody can make a document that is taken for somebody else's.
final class ItemMemory: Sendable {
  /// What tells items apart.
  struct Key: Hashable, Sendable {
    let id: Int64
    let digest: Int64

    // The digest is well mixed already.
    func hash(into hasher: inout Hasher) { hasher.combine(digest) }
  }

  /// Bytes of items kept by a process.
  static let capacity = 16 << 20
  /// What an item costs beside its bytes.
  private static let overhead = 96

  /// Two generations: what is used is carried over into the young one, and when that is half of all, the old one is dropped.
  private struct State {
    var young: [Key: [UInt8]] = [:]
    var old: [Key: [UInt8]] = [:]
    var youngBytes = 0

    mutating func item(_ key: Key, limit: Int) -> [UInt8]? {
      if let item = young[key] { return item }
      guard let item = old[key] else { return nil }
      keep(item, key, limit: limit)
      return item
    }

    mutating func keep(_ item: [UInt8], _ key: Key, limit: Int) {
      youngBytes += item.count + ItemMemory.overhead
      young[key] = item
      if youngBytes > limit {
        old = young
        young = [:]
        youngBytes = 0
      }
    }
  }

  private let state = Lock(State())
  private let limit: Int

  init(capacity: Int = ItemMemory.capacity) { limit = capacity / 2 }

  /// The items of those keys, `nil` for those that are not remembered.
  func items(_ keys: [Key]) -> [[UInt8]?] {
    state.withLock { state in keys.map { state.item($0, limit: limit) } }
  }

  /// The items of those keys; `nil` when one of them is not remembered.
  func allItems(_ keys: [Key]) -> [[UInt8]]? {
    state.withLock { state in
      var items: [[UInt8]] = []
      items.reserveCapacity(keys.count)
      for key in keys {
        guard let item = state.item(key, limit: limit) else { return nil }
        items.append(item)
      }
      return items
    }
  }

  func keep(_ items: [(Key, [UInt8])]) {
    state.withLock { state in
      for (key, item) in items where state.young[key] == nil { state.keep(item, key, limit: limit) }
    }
  }
}
