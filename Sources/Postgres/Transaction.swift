import Synchronization

/// A transaction under way. BEGIN travels with its first statement, so it costs no round trip; one without statements costs
/// nothing at all.
public final class Transaction: Sendable {
  /// What a transaction sees of others (PostgreSQL manual, 13.2).
  public enum Isolation: Sendable {
    /// Each statement sees what was committed before it.
    case readCommitted
    /// All statements see what was committed before the first.
    case repeatableRead
    /// As if transactions ran one after the other; may fail with 40001, so ask for retries.
    case serializable

    var begin: Query {
      switch self {
      case .readCommitted: "BEGIN"
      case .repeatableRead: "BEGIN ISOLATION LEVEL REPEATABLE READ"
      case .serializable: "BEGIN ISOLATION LEVEL SERIALIZABLE"
      }
    }
  }

  private let connection: Connection
  private let isolation: Isolation
  private let hasBegun = Atomic<Bool>(false)

  init(_ connection: Connection, isolation: Isolation) {
    self.connection = connection
    self.isolation = isolation
  }

  /// Runs one statement of the transaction. After an error only leaving the transaction is possible: further statements
  /// fail with 25P02.
  ///
  /// - Parameters:
  ///   - preludes: statements that run just before it; their results are dropped. `set_config(…, true)` of the account,
  ///     for instance, without a round trip of its own.
  ///   - timeout: how long to wait; by default a little longer than the server's limit for pooled statements.
  /// - Throws: `PostgresError`.
  @discardableResult
  public func query(
    _ query: Query, after preludes: [Query] = [], timeout: Duration? = nil, file: StaticString = #fileID,
    line: UInt = #line
  ) async throws(PostgresError) -> Rows {
    // BEGIN and the first statement share a sync: if BEGIN fails, the statement does not run outside of a transaction.
    let isFirst = !hasBegun.exchange(true, ordering: .acquiringAndReleasing)
    return try await connection.query(
      query, after: isFirst ? [isolation.begin] + preludes : preludes, timeout: timeout, file: file, line: line)
  }

  func commit() async throws(PostgresError) {
    guard hasBegun.load(ordering: .acquiring) else { return }
    // COMMIT of a failed transaction is a success to the server, whose tag says that it rolled back.
    if try await connection.query("COMMIT").command == "ROLLBACK" {
      throw PostgresError(
        PostgresError.Details(
          kind: .server, sqlState: .inFailedTransaction,
          message: "a statement of the transaction had failed, so it was rolled back"))
    }
  }

  func rollback() async {
    guard hasBegun.load(ordering: .acquiring) else { return }
    // When this fails, the pool finds the transaction still open, or the connection gone.
    _ = try? await connection.query("ROLLBACK")
  }
}
