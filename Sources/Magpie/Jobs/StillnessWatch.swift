/// Finds what has not changed for a while, on the watcher's own clock.
///
/// A process is dead when its heartbeat keeps the same value for a lease. Comparing the beat with the time of the database
/// instead would bury everybody at once when that clock jumps. Pure: the caller has the clock.
struct StillnessWatch<Key: Hashable & Sendable, Value: Equatable & Sendable>: Sendable {
  private var seen: [Key: (value: Value, since: UInt64)] = [:]

  /// Takes in all there is now.
  ///
  /// - Returns: for each, how many nanoseconds ago it was first seen with its value.
  mutating func observe(_ items: [(key: Key, value: Value)], at now: UInt64) -> [Key: UInt64] {
    var next: [Key: (value: Value, since: UInt64)] = [:]
    for (key, value) in items {
      if let old = seen[key], old.value == value { next[key] = old } else { next[key] = (value, now) }
    }
    seen = next
    return next.mapValues { now &- $0.since }
  }

  /// After a time without sight nothing is known: while the watcher could not look, others could not beat either.
  mutating func forget() { seen = [:] }
}
