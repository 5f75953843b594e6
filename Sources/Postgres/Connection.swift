import Synchronization

/// A connection of one's own for the time of `Database.pooled`.
///
/// Session settings (`SET`) would be seen by the next borrower: use `SET LOCAL` or `set_config(…, true)` in a transaction.
public final class Connection: Sendable {
  private let session: Session
  private let isOver = Atomic<Bool>(false)

  init(_ session: Session) { self.session = session }

  /// Runs one statement and waits for its answer; outside of a transaction it is its own.
  ///
  /// - Parameters:
  ///   - preludes: statements that run just before it, in the same transaction; their results are dropped.
  ///   - timeout: how long to wait; by default a little longer than the server's limit for pooled statements.
  /// - Throws: `PostgresError`.
  @discardableResult
  public func query(
    _ query: Query, after preludes: [Query] = [], timeout: Duration? = nil, file: StaticString = #fileID,
    line: UInt = #line
  ) async throws(PostgresError) -> Rows {
    let origin = Origin(file: file, line: line)
    if isOver.load(ordering: .acquiring) {
      throw PostgresError(.invalid, "the connection was used after its scope", sql: query.sql, origin: origin)
    }
    return try await session.query(query, after: preludes, timeout: timeout, origin: origin)
  }

  /// From here on the connection belongs to somebody else.
  func end() { isOver.store(true, ordering: .releasing) }
}
