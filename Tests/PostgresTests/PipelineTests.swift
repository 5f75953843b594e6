import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct PipelineTests {
  @Test func callersOnALoopStayOnIt() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, loops: 2) { database, group in
      for loop in group.loops {
        let stayed = try await loop.run { () -> Bool in
          _ = try await database.query("SELECT 1")
          return loop.isCurrent
        }
        #expect(stayed)
      }
    }
  }

  @Test func answersGoToThoseWhoAsked() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, loops: 2, configure: { $0.pipelinesPerLoop = 2 }) { database, group in
      try await withThrowingTaskGroup(of: Bool.self) { tasks in
        for number in 0..<400 {
          tasks.addTask(executorPreference: group.loops[number % 2]) {
            try await database.column(Int.self, "SELECT \(number)") == [number]
          }
        }
        for try await right in tasks { #expect(right) }
      }
    }
  }

  @Test func failingStatementsNeverTouchTheirNeighbors() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, configure: { $0.maximumInFlight = 1000 }) { database, group in
      try await database.query("CREATE TABLE item (id int PRIMARY KEY CHECK (id % 50 <> 7))")
      let failed = try await withThrowingTaskGroup(of: Int?.self) { tasks in
        for number in 0..<1000 {
          tasks.addTask(executorPreference: group.loops[0]) {
            do {
              _ = try await database.query("INSERT INTO item VALUES (\(number))")
              return nil
            } catch let error as PostgresError {
              return error.sqlState == .checkViolation && error.constraint == "item_id_check" ? number : -1
            }
          }
        }
        return try await tasks.reduce(into: Set<Int>()) { if let number = $1 { $0.insert(number) } }
      }
      #expect(failed == Set((0..<1000).filter { $0 % 50 == 7 }))
      #expect(try await database.column(Int.self, "SELECT count(*) FROM item") == [980])
      #expect(database.metrics.connects == 1)
    }
  }

  @Test func failedPreparationIsForgotten() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      for _ in 0..<2 {
        let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT id FROM late") }
        #expect(error?.sqlState == .undefinedTable)
        #expect(error?.position == 16)
      }
      try await database.query("CREATE TABLE late (id int)")
      #expect(try await database.query("SELECT id FROM late").isEmpty)
    }
  }

  @Test func sameTextAtOnceIsPreparedOnce() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database, group in
      try await withThrowingTaskGroup(of: Bool.self) { tasks in
        for number in 0..<20 {
          tasks.addTask(executorPreference: group.loops[0]) {
            try await database.column(Int.self, "SELECT \(number) + 1") == [number + 1]
          }
        }
        for try await right in tasks { #expect(right) }
      }
      let count = try await database.column(
        Int.self, "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1 + 1'")
      #expect(count == [1])
    }
  }

  @Test func cacheEndsAtItsLimitAndStatementsStillRun() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { (database) async throws in
      for number in 0..<300 {
        #expect(try await database.column(Int.self, Query(unsafe: "SELECT \(number)")) == [number])
      }
      #expect(try await database.column(Int.self, "SELECT count(*) FROM pg_prepared_statements") == [256])
    }
  }

  @Test func changedResultColumnsAreNoticed() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      try await database.query("CREATE TABLE t AS SELECT 1 AS a")
      #expect(try await database.query("SELECT * FROM t").columns == ["a"])
      try await database.query("ALTER TABLE t ADD COLUMN b int DEFAULT 2")
      #expect(try await database.query("SELECT * FROM t").columns == ["a", "b"])
      try await database.query("DEALLOCATE ALL")
      #expect(try await database.query("SELECT * FROM t").columns == ["a", "b"])
    }
  }

  @Test func preludesShareTheTransaction() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let rows = try await database.query(
        "SELECT current_setting('app.account')", after: ["SELECT set_config('app.account', \("42"), true)"])
      #expect(try rows.decode(String.self) == ["42"])
      #expect(try await database.column(String.self, "SELECT current_setting('app.account', true)") == [""])
      try await database.query("CREATE TABLE t (id int)")
      await #expect(throws: PostgresError.self) {
        try await database.query("SELECT 1 / 0", after: ["INSERT INTO t VALUES (1)"])
      }
      #expect(try await database.column(Int.self, "SELECT count(*) FROM t") == [0])
    }
  }

  @Test func oneStatementBeyondTheLimitIsOverloaded() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(
      url,
      configure: {
        $0.maximumInFlight = 4
        $0.lockTimeout = .seconds(600)
        $0.statementTimeout = .seconds(600)
      }
    ) { database, group in
      try await database.pooled { holder in
        try await holder.query("SELECT pg_advisory_lock(1)")
        let before = database.metrics.statements
        try await withThrowingTaskGroup(of: Void.self) { tasks in
          for _ in 0..<4 {
            tasks.addTask { _ = try await database.query("SELECT pg_advisory_xact_lock_shared(1)") }
          }
          try await eventually { database.metrics.statements == before + 4 }
          let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
          #expect(error?.kind == .overloaded)
          try await holder.query("SELECT pg_advisory_unlock(1)")
          try await tasks.waitForAll()
        }
      }
      #expect(try await database.column(Int.self, "SELECT 1") == [1])
      #expect(database.metrics.overloads == 1)
    }
  }

  @Test func copyIsRefusedAndTheConnectionRecovers() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      await #expect(throws: PostgresError.self) { try await database.query("COPY (SELECT 1) TO STDOUT") }
      try await eventually {
        (try? await database.column(Int.self, "SELECT 1")) == [1]
      }
    }
  }

  @Test func largeValuesGoBothWays() async throws {
    let url = try await TestCluster.database()
    let text = String(repeating: "0123456789abcdef", count: 500_000)
    try await withDatabase(url) { database, group in
      try await withThrowingTaskGroup(of: Bool.self) { tasks in
        for _ in 0..<2 {
          tasks.addTask(executorPreference: group.loops[0]) {
            try await database.column(String.self, "SELECT \(text)::text") == [text]
          }
        }
        for try await right in tasks { #expect(right) }
      }
    }
  }
}
