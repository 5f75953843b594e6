import EventLoop

extension Session {
  /// Sends a statement and waits for its answer, from any thread. The wait is bounded by the deadline.
  func query(
    _ query: Query, after preludes: [Query], timeout: Duration?, origin: Origin
  ) async throws(PostgresError) -> Rows {
    guard loop.isCurrent else {
      return try await loop.hosting { () async throws(PostgresError) in
        guard loop.isCurrent else { throw PostgresError.ended(origin) }
        return try await self.query(query, after: preludes, timeout: timeout, origin: origin)
      }
    }
    let result = await withUnsafeContinuation { continuation in
      send(query, after: preludes, timeout: timeout, origin: origin, .task(continuation))
    }
    return try result.get()
  }
}
