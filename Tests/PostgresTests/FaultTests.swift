import EventLoop
import Glibc
import TestSupport
import Testing

@testable import Postgres

@Suite struct FaultTests {
  @Test func terminatedBackendFailsOnlyItsStatementsAndComesBack() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(
      url,
      configure: {
        $0.pipelinesPerLoop = 2
        $0.lockTimeout = .seconds(600)
        $0.statementTimeout = .seconds(600)
      }
    ) { database, group in
      try await eventually { database.metrics.pipelinesUp == 2 }
      try await database.pooled { killer in
        // Two statements that wait go to the two pipelines, since the first is silent by the time the second comes; one of
        // their backends is ended.
        try await killer.query("SELECT pg_advisory_lock(1)")
        try await withThrowingTaskGroup(of: PostgresError?.self) { tasks in
          for pause in [Duration.zero, .milliseconds(50)] {
            tasks.addTask(executorPreference: group.loops[0]) {
              do {
                try await EventLoop.current?.sleep(for: pause)
                _ = try await database.query("SELECT pg_advisory_xact_lock_shared(1)")
                return nil
              } catch let error as PostgresError {
                return error
              }
            }
          }
          let waiting: Query = """
            SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()
            """
          try await eventually { try await killer.query(waiting).count == 2 }
          let victim = try #require(try await killer.query(waiting).decode(Int32.self).first)
          try await killer.query("SELECT pg_terminate_backend(\(victim))")
          let error = try #require(try await tasks.next() ?? nil)
          #expect(error.kind == .connectionLost)
          #expect(error.sqlState == .adminShutdown)
          try await killer.query("SELECT pg_advisory_unlock(1)")
          let other = try #require(try await tasks.next())
          #expect(other == nil)
        }
      }
      try await eventually { database.metrics.pipelinesUp == 2 }
      #expect(database.metrics.losses == 1)
      #expect(try await database.column(Int.self, "SELECT 1") == [1])
    }
  }

  /// The server lets only one of two loops back in: callers that are on neither are served by it, always.
  @Test func callersFromElsewhereAreServedByALoopThatIsConnected() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, loops: 2, configure: { $0.startTimeout = .seconds(60) }) { database in
      try await eventually { database.metrics.pipelinesUp == 2 }
      let pid: Query = "SELECT pg_backend_pid()"
      let victim = try #require(try await database.column(Int32.self, pid).first)
      try await database.query(Query(unsafe: "ALTER DATABASE \(TestCluster.name(of: url)) CONNECTION LIMIT 1"))
      _ = try? await database.query("SELECT pg_terminate_backend(\(victim))")
      try await eventually { database.metrics.pipelinesUp == 1 }
      for _ in 0..<4 { #expect(try await database.column(Int32.self, pid) != [victim]) }
    }
  }

  @Test func whatComesAfterTheLoopsHaveEndedFailsInsteadOfWaiting() async throws {
    let url = try await TestCluster.database()
    let group = try EventLoopGroup(count: 1, name: "test")
    let database = try Database(Database.Configuration(connectionString: url), group: group)
    try await database.start()
    group.stop()
    let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
    #expect(error?.kind == .unavailable)
    let pooledError = await #expect(throws: PostgresError.self) { try await database.pooled { _ in } }
    #expect(pooledError?.kind == .unavailable)
    await database.stop()
  }

  @Test func serverEndsSlowStatementsAndTheConnectionStays() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, configure: { $0.statementTimeout = .milliseconds(100) }) { (database) async throws in
      let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT pg_sleep(60)") }
      #expect(error?.kind == .server)
      #expect(error?.sqlState == .queryCanceled)
      #expect(try await database.column(Int.self, "SELECT 1") == [1])
      #expect(database.metrics.losses == 0)
    }
  }

  @Test func callerIsReleasedAtItsDeadlineAndTheAnswerIsDropped() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      try await database.pooled { holder in
        try await holder.query("SELECT pg_advisory_lock(1)")
        let error = await #expect(throws: PostgresError.self) {
          try await database.query("SELECT pg_advisory_xact_lock_shared(1)", timeout: .milliseconds(50))
        }
        #expect(error?.kind == .timeout)
        try await holder.query("SELECT pg_advisory_unlock(1)")
      }
      #expect(try await database.column(Int.self, "SELECT 7") == [7])
      #expect(database.metrics.timeouts == 1)
      #expect(database.metrics.losses == 0)
    }
  }

  @Test func silentServerIsGivenUp() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(
      url,
      configure: {
        $0.statementTimeout = .milliseconds(500)
        $0.grace = .milliseconds(200)
      }
    ) { database in
      let process = try #require(try await database.column(Int32.self, "SELECT pg_backend_pid()").first)
      kill(process, SIGSTOP)
      defer { kill(process, SIGCONT) }
      let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
      #expect(error?.kind == .timeout)
      // Another backend answers.
      try await eventually {
        guard let other = try? await database.column(Int32.self, "SELECT pg_backend_pid()").first else { return false }
        return other != process
      }
      #expect(database.metrics.losses == 1)
    }
  }

  @Test func unreachableDatabaseIsUnavailableAtOnce() async throws {
    let group = try EventLoopGroup(count: 1)
    defer { group.stop() }
    var configuration = Database.Configuration(connectionString: "host=127.0.0.1 port=1 user=x dbname=x")
    configuration.startTimeout = .milliseconds(100)
    let database = try Database(configuration, group: group)
    let started = await #expect(throws: PostgresError.self) { try await database.start() }
    #expect(started?.kind == .unavailable)
    #expect(started?.message.contains("Connection refused") == true)
    let asked = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
    #expect(asked?.kind == .unavailable)
    let borrowed = await #expect(throws: PostgresError.self) { try await database.pooled { _ in } }
    #expect(borrowed?.kind == .unavailable)
    #expect(!database.isReachable)
    await database.stop()
  }

  @Test func deadFirstHostsAreSkipped() async throws {
    let directory = try await TestCluster.shared().directory
    // One that refuses: libpq goes on by itself.
    let refusing = "host=127.0.0.1,\(directory)/socket port=1,5432 user=postgres dbname=postgres"
    #expect(try await column(Int.self, "SELECT 1", of: refusing) == [1])
    // One that accepts and says nothing: the next attempt begins with the other.
    let silent = try Listener(try #require(SocketAddress("127.0.0.1:0")))
    let hanging =
      "host=127.0.0.1,\(directory)/socket port=\(silent.address.port),5432 user=postgres dbname=postgres"
    try await withDatabase(hanging, configure: { $0.connectTimeout = .milliseconds(100) }) { (database) async throws in
      #expect(try await database.column(Int.self, "SELECT 1") == [1])
    }
  }

  @Test func readOnlySessionIsLeft() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      try await database.query("CREATE TABLE t (id int)")
      let process = try await database.column(Int32.self, "SELECT pg_backend_pid()")
      try await database.query("SET default_transaction_read_only = on")
      let error = await #expect(throws: PostgresError.self) { try await database.query("INSERT INTO t VALUES (1)") }
      #expect(error?.sqlState == .readOnlyTransaction)
      try await eventually { (try? await database.query("INSERT INTO t VALUES (2)")) != nil }
      #expect(try await database.column(Int32.self, "SELECT pg_backend_pid()") != process)
      #expect(try await database.column(Int.self, "SELECT id FROM t") == [2])
    }
  }

  @Test func standbysAreNotUsed() async throws {
    let url = try await TestCluster.database()
    let superuser = try await TestCluster.shared().superuser()
    let name = TestCluster.name(of: url)
    try await withDatabase(superuser) { database in
      try await database.query("ALTER DATABASE \(unsafe: name) SET default_transaction_read_only = on")
    }
    let error = await #expect(throws: PostgresError.self) {
      try await withDatabase(url, configure: { $0.startTimeout = .milliseconds(200) }) { _ in }
    }
    #expect(error?.kind == .unavailable)
    #expect(error?.message.contains("session is read-only") == true)
  }

  @Test func stoppingFailsWhatIsUnderWay() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, configure: { $0.statementTimeout = .seconds(60) }) { database in
      // Nobody waits for it: the connection is closed on this side.
      let slow = Task { try await database.query("SELECT pg_sleep(20)") }
      try await eventually { database.metrics.statements == 1 }
      await database.stop()
      let error = await #expect(throws: PostgresError.self) { try await slow.value }
      #expect(error?.kind == .connectionLost)
      let later = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
      #expect(later?.kind == .unavailable)
    }
  }

  @Test func everyConnectionIsSetUp() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      try await database.query("CREATE ROLE \(unsafe: "setup_role")")
      try await database.query("GRANT setup_role TO magpie")
    }
    try await withDatabase(url, configure: { $0.role = "setup_role" }) { database in
      let query: Query = """
        SELECT current_setting('TimeZone'), current_setting('statement_timeout'), current_setting('lock_timeout'),
               current_setting('idle_in_transaction_session_timeout'), current_setting('application_name'), current_user
        """
      let pipelined = try await database.query(query)
      #expect((0..<6).map { pipelined[0][$0] } == ["UTC", "3s", "2s", "10s", "magpie", "setup_role"])
      let pooled = try await database.pooled { try await $0.query(query) }
      #expect((0..<6).map { pooled[0][$0] } == ["UTC", "30s", "2s", "10s", "magpie", "setup_role"])
    }
  }

  @Test func roleThatMayNotBeTakenIsUnavailable() async throws {
    let url = try await TestCluster.database()
    let error = await #expect(throws: PostgresError.self) {
      try await withDatabase(
        url,
        configure: {
          $0.role = "no such\"role"
          $0.startTimeout = .milliseconds(200)
        }
      ) { _ in }
    }
    #expect(error?.kind == .unavailable)
    #expect(error?.message == "setting up the session: role \"no such\"role\" does not exist")
  }

  @Test func whoIsPatientIsNotCutOffByTheServersSilence() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(
      url,
      configure: {
        $0.pooledStatementTimeout = .seconds(2)
        $0.grace = .milliseconds(500)
      }
    ) { database in
      let answer = try await database.transaction { transaction in
        try await transaction.query("SELECT set_config('statement_timeout', '0', true)")
        return try await transaction.query("SELECT 'well' FROM pg_sleep(4)", timeout: .seconds(300))[0]
          .decode(String.self)
      }
      #expect(answer == "well")
    }
  }

  @Test func badConnectionStringIsRefusedWithoutShowingIt() async throws {
    let group = try EventLoopGroup(count: 1)
    defer { group.stop() }
    let error = #expect(throws: PostgresError.self) {
      try Database(.init(connectionString: "password=secret nonsense"), group: group)
    }
    #expect(error?.kind == .invalid)
    #expect(error.map { String(reflecting: $0).contains("secret") } == false)
  }
}
