import Synchronization
import TestSupport
import Testing

@testable import Postgres

@Suite struct TransactionTests {
  private struct Stop: Error {}

  @Test func returningCommitsAndThrowingRollsBack() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      try await database.query("CREATE TABLE t (id int)")
      let value = try await database.transaction { transaction in
        try await transaction.query("INSERT INTO t VALUES (1)")
        try await transaction.query("INSERT INTO t VALUES (2)")
        return "done"
      }
      #expect(value == "done")
      await #expect(throws: Stop.self) {
        try await database.transaction { transaction in
          try await transaction.query("INSERT INTO t VALUES (3)")
          throw Stop()
        }
      }
      #expect(try await database.column(Int.self, "SELECT id FROM t ORDER BY id") == [1, 2])
    }
  }

  @Test func swallowedErrorIsNotACommit() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      try await database.query("CREATE TABLE t (id int)")
      let error = await #expect(throws: PostgresError.self) {
        try await database.transaction { transaction in
          try await transaction.query("INSERT INTO t VALUES (1)")
          _ = try? await transaction.query("SELECT 1 / 0")
        }
      }
      #expect(error?.sqlState == .inFailedTransaction)
      #expect(try await database.column(Int.self, "SELECT count(*) FROM t") == [0])
    }
  }

  @Test func failingFirstStatementLeavesNothingBehind() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, configure: { $0.poolSize = 1 }) { database in
      let error = await #expect(throws: PostgresError.self) {
        try await database.transaction { transaction in try await transaction.query("SELECT 1 / 0") }
      }
      #expect(error?.sqlState == "22012")
      // The same connection, as there is only one.
      let state = try await database.pooled { connection in
        try await connection.query("SELECT pg_current_xact_id_if_assigned()::text").decode(String?.self)
      }
      #expect(state == [nil])
      #expect(database.metrics.losses == 0)
    }
  }

  @Test func connectionLeftInATransactionIsRolledBack() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, configure: { $0.poolSize = 1 }) { database in
      try await database.query("CREATE TABLE t (id int)")
      try await database.pooled { connection in
        try await connection.query("BEGIN")
        try await connection.query("INSERT INTO t VALUES (1)")
      }
      try await database.pooled { connection in
        try await connection.query("INSERT INTO t VALUES (2)")
      }
      #expect(try await database.column(Int.self, "SELECT id FROM t") == [2])
      #expect(database.metrics.losses == 0)
    }
  }

  @Test func serializationFailuresAreRetriedAsOftenAsAsked() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { (database) async throws in
      let attempts = Atomic<Int>(0)
      let body: @Sendable (Transaction) async throws -> Int = { transaction in
        let attempt = attempts.add(1, ordering: .relaxed).newValue
        if attempt < 3 {
          try await transaction.query("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")
        }
        return attempt
      }
      #expect(try await database.transaction(retries: 2, body) == 3)
      attempts.store(0, ordering: .relaxed)
      let error = await #expect(throws: PostgresError.self) { try await database.transaction(retries: 1, body) }
      #expect(error?.sqlState == .serializationFailure)
      #expect(attempts.load(ordering: .relaxed) == 2)
    }
  }

  @Test func isolationIsWhatWasAskedFor() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let expected: [(Transaction.Isolation, String)] = [
        (.readCommitted, "read committed"), (.repeatableRead, "repeatable read"), (.serializable, "serializable"),
      ]
      for (isolation, name) in expected {
        let seen = try await database.transaction(isolation: isolation) { transaction in
          try await transaction.query("SHOW transaction_isolation").decode(String.self)
        }
        #expect(seen == [name])
      }
    }
  }

  @Test func usedAfterItsScopeAConnectionRefuses() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let kept = try await database.pooled { $0 }
      let error = await #expect(throws: PostgresError.self) { try await kept.query("SELECT 1") }
      #expect(error?.kind == .invalid)
    }
  }

  @Test func waitersAreServedInTheirOrderAndBounded() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(
      url,
      configure: {
        $0.poolSize = 1
        $0.maximumWaiters = 1
        // Long enough to be seen waiting.
        $0.poolWaitTimeout = .seconds(3)
      }
    ) { database in
      try await database.pooled { _ in
        // The only connection is taken: the first one waits until its time is up, and one more is refused at once.
        let first = Task { try await database.pooled { _ in } }
        try await eventually { try await database.waiters == 1 }
        let second = await #expect(throws: PostgresError.self) { try await database.pooled { _ in } }
        #expect(second?.kind == .overloaded)
        let late = await #expect(throws: PostgresError.self) { try await first.value }
        #expect(late?.kind == .timeout)
      }
      #expect(try await database.pooled { try await $0.query("SELECT 1").count } == 1)
    }
    try await withDatabase(
      url,
      configure: {
        $0.poolSize = 1
        $0.maximumWaiters = 0
      }
    ) { database in
      // Even the first one has to wait for the connection to be made.
      let refused = await #expect(throws: PostgresError.self) { try await database.pooled { _ in } }
      #expect(refused?.kind == .overloaded)
    }
  }
}

extension Database {
  /// Callers who wait for a pooled connection of the first loop.
  fileprivate var waiters: Int {
    get async throws {
      let pool = lanes[0].pool
      return try await pool.loop.run { pool.waiting }
    }
  }
}
