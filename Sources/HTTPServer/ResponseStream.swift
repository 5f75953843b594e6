import EventLoop

/// Where a streaming answer's bytes go.
public struct ResponseStream: Sendable {
  let exchange: Exchange

  /// Sends bytes and comes back when few enough of them are still waiting for the client.
  ///
  /// - Throws: `HTTPError.disconnected` when the client has gone or is too slow. The producer should end then.
  public func write(_ bytes: [UInt8]) async throws {
    if bytes.isEmpty { return }  // an empty chunk would end the body
    let exchange = exchange
    if exchange.loop.isCurrent {
      return try await withUnsafeThrowingContinuation { exchange.write(bytes, $0) }
    }
    try await exchange.loop.hosting {
      guard exchange.loop.isCurrent else { throw HTTPError.disconnected }
      try await withUnsafeThrowingContinuation { exchange.write(bytes, $0) }
    }
  }

  /// Whether the client has gone.
  public var isClosed: Bool { exchange.isDisconnected }

  /// Calls `action` once when the client goes away; at once when it has gone already.
  public func onDisconnect(_ action: @escaping @Sendable () -> Void) { exchange.onDisconnect(action) }
}

extension Exchange {
  fileprivate func write(_ bytes: [UInt8], _ continuation: UnsafeContinuation<Void, any Error>) {
    guard let connection, writeWaiter == nil else { return continuation.resume(throwing: HTTPError.disconnected) }
    connection.writeChunk(bytes, continuation)
  }
}
