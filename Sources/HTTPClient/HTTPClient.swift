import EventLoop
import HTTP

/// Sends HTTP requests from one event loop, through libcurl's multi interface.
///
/// What it does not do, on purpose: follow redirects, keep cookies, obey proxies from the environment, decompress, retry.
/// Every request is bounded in time (queue, connecting and transfer together), in bytes and in what it may reach: see
/// `Configuration`. Connections are kept and used again.
///
/// `send` may be called from any task; on the client's own loop it costs no hop. `stop` must come before the loop ends.
public final class HTTPClient: Sendable {
  private let loop: EventLoop
  private let transfers: Transfers

  /// - Precondition: libcurl can be initialized; it cannot only when memory runs out or it was built without TLS.
  public init(loop: EventLoop, configuration: Configuration) {
    self.loop = loop
    transfers = Transfers(loop: loop, configuration: configuration)
  }

  deinit { stop() }

  /// Waits for the whole answer, whatever its status.
  ///
  /// - Throws: `Failure` when there is no whole answer, `CancellationError` when the task was cancelled. The transfer
  ///   has left the network by then.
  public func send(_ request: Request) async throws -> Response {
    if loop.isCurrent { return try await sendOnLoop(request) }
    return try await loop.run { try await self.sendOnLoop(request) }
  }

  /// Ends all transfers with `Failure.stopped`, refuses new ones and closes all connections. From any thread; done when
  /// the loop has come round to it.
  public func stop() {
    let transfers = transfers
    if loop.isCurrent { transfers.stop() } else { loop.execute { transfers.stop() } }
  }

  private func sendOnLoop(_ request: Request) async throws -> Response {
    // Work of a loop that has ended runs elsewhere, and libcurl must not be touched there.
    guard loop.isCurrent else { throw Failure.stopped }
    let ticket = transfers.nextTicket()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // A cancellation before this line is seen here; one after it finds the ticket, since it waits for the loop.
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        transfers.start(request, ticket: ticket) { continuation.resume(with: $0) }
      }
    } onCancel: {
      let transfers = transfers
      loop.execute { transfers.cancel(ticket) }
    }
  }
}
