/// How long a connection may take for what, in nanoseconds.
struct Deadlines: Sendable {
  /// From a head's first byte to its last, however slowly the bytes drip.
  var head: UInt64 = 10_000_000_000
  /// Without a byte of the body; also the grace before the rate counts.
  var bodyIdle: UInt64 = 10_000_000_000
  /// Bytes per second that a body must arrive with on the whole.
  var bodyRate: UInt64 = 256
  /// Without the client taking a byte of the answer.
  var writeIdle: UInt64 = 10_000_000_000
  /// Without a request.
  var keepAlive: UInt64 = 30_000_000_000
  /// For the client to notice the end of a closing connection.
  var linger: UInt64 = 1_000_000_000

  /// How often to look whether something is over: a quarter of the shortest, 5 ms to half a second.
  var sweep: UInt64 {
    let shortest = min(head, bodyIdle, writeIdle, keepAlive, linger)
    return min(max(shortest / 4, 5_000_000), 500_000_000)
  }
}
