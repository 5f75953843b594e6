import EventLoop

/// Where a streaming answer's bytes go.
public struct ResponseStream: Sendable {
  /// Sends a body bit by bit. When it throws, the connection is cut.
  public typealias Producer = @Sendable (ResponseStream) async throws -> Void

  let exchange: Exchange

  /// Has `rest` go on with the body once the producer has returned.
  ///
  /// It gets a new task. A producer runs in the one that has answered the request, and a task keeps all the memory it has ever
  /// needed: some 10 kB for a few statements, which is much for a stream that is idle for hours. To be called on the loop, where
  /// producers run.
  public func goOn(with rest: @escaping Producer) {
    exchange.loop.preconditionCurrent()
    exchange.streamRest = rest
  }

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
