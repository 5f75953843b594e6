import Synchronization

/// The budgets as they were a moment ago, for metrics, which must not wait for the database.
public final class BudgetWatch: Sendable {
  private let budgets: Budgets
  private let pool: String
  private let latest = Mutex<[Budgets.Line]>([])

  /// Knows nothing until the first `look`.
  public init(_ budgets: Budgets, pool: String) {
    self.budgets = budgets
    self.pool = pool
  }

  /// Reads the budgets anew.
  ///
  /// - Throws: `PostgresError`, and what was known stays.
  public func look() async throws {
    let lines = try await budgets.lines(pool: pool)
    latest.withLock { $0 = lines }
  }

  /// By credential and resource.
  public var lines: [Budgets.Line] { latest.withLock { $0 } }
}
