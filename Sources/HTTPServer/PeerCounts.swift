import EventLoop

/// How many connections each peer has, of all loops together.
final class PeerCounts: Sendable {
  private let limit: Int
  private let counts: @Sendable (SocketAddress) -> Bool
  private let open = Lock<[[UInt8]: Int]>([:])

  init(_ configuration: Server.Configuration) {
    limit = configuration.maxConnectionsPerPeer
    counts = configuration.countsPeer
  }

  /// Peers that are counted now.
  var count: Int { open.withLock { $0.count } }

  /// Counts a new connection; `false` when its peer has enough. It is counted all the same, until `release`.
  func admit(_ connection: Connection) -> Bool {
    guard let peer = connection.peer, counts(peer) else { return true }
    // Whoever has IPv6 has 2^64 addresses.
    let key = Array(peer.bytes.prefix(8))
    connection.countedAs = key
    return open.withLock { open in
      open[key, default: 0] += 1
      return open[key, default: 0] <= limit
    }
  }

  /// Must be called once for each connection that ends.
  func release(_ connection: Connection) {
    guard let key = connection.countedAs else { return }
    open.withLock { open in
      let left = open[key, default: 1] - 1
      open[key] = left > 0 ? left : nil
    }
  }
}
