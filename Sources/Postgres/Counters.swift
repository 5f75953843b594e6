import Synchronization

/// What a database has done since its start. Shared by all of its connections, read by anybody.
final class Counters: Sendable {
  let statements = Atomic<UInt64>(0)
  let overloads = Atomic<UInt64>(0)
  let timeouts = Atomic<UInt64>(0)
  let connects = Atomic<UInt64>(0)
  let losses = Atomic<UInt64>(0)
  /// Pipelined connections that are up now.
  let up = Atomic<Int>(0)
}
