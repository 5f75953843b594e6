import EventLoop

extension Session {
  /// Sends a statement and waits for its answer, from any thread. The wait is bounded by the deadline.
  func query(
    _ query: Query, after preludes: [Query], timeout: Duration?, origin: Origin
  ) async throws(PostgresError) -> Rows {
    let result = await withUnsafeContinuation { continuation in
      if loop.isCurrent {
        send(query, after: preludes, timeout: timeout, origin: origin, .task(continuation))
      } else {
        loop.execute { [self] in
          send(query, after: preludes, timeout: timeout, origin: origin, .task(continuation))
        }
      }
    }
    return try result.get()
  }
}
