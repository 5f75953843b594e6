import EventLoop
import TestSupport
import Testing

@testable import Postgres

/// Statements that wait for one of several connections.
@Suite struct StatementQueueTests {
  private static let blocked: Query = "SELECT pg_advisory_xact_lock_shared(1)"

  /// Runs `body` while somebody holds the lock that `blocked` waits for.
  private func withLockHeld(
    configure: @escaping (inout Database.Configuration) -> Void = { _ in },
    _ body: (Database, EventLoopGroup, _ release: () async throws -> Void) async throws -> Void
  ) async throws {
    let url = try await TestCluster.database()
    try await withDatabase(
      url,
      configure: {
        $0.pipelinesPerLoop = 2
        $0.lockTimeout = .seconds(600)
        $0.statementTimeout = .seconds(600)
        configure(&$0)
      }
    ) { database, group in
      try await eventually { database.metrics.pipelinesUp == 2 }
      try await database.pooled { holder in
        try await holder.query("SELECT pg_advisory_lock(1)")
        try await body(database, group) { try await holder.query("SELECT pg_advisory_unlock(1)") }
      }
    }
  }

  private func start(
    _ count: Int, _ query: Query, on database: Database, _ group: EventLoopGroup, timeout: Duration? = nil
  ) -> [Task<PostgresError?, Never>] {
    (0..<count).map { _ in
      Task(executorPreference: group.loops[0]) {
        do throws(PostgresError) {
          try await database.query(query, timeout: timeout)
          return nil
        } catch {
          return error
        }
      }
    }
  }

  @Test func behindAStatementThatWaitsNothingIsSent() async throws {
    try await withLockHeld { database, group, release in
      let before = database.metrics.statements
      let first = start(1, Self.blocked, on: database, group)
      try await eventually { database.metrics.statements == before + 1 }
      // Until the loop's clock says that the connection is silent.
      try await group.loops[0].run { try await EventLoop.current?.sleep(for: .milliseconds(20)) }
      // As many as the other connection takes, all in one turn of the loop: as soon as that is silent, too, on a busy machine,
      // it is no better than the first.
      let rest = try await group.loops[0].run { start(StatementQueue.depth, "SELECT 1", on: database, group) }
      for task in rest { #expect(await task.value == nil) }
      try await release()
      #expect(await first[0].value == nil)
    }
  }

  @Test func aConnectionThatAnswersIsEnough() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url, configure: { $0.pipelinesPerLoop = 2 }) { database, group in
      try await eventually { database.metrics.pipelinesUp == 2 }
      let sessions = try await group.loops[0].run {
        var sessions: Set<Int32> = []
        for _ in 0..<20 { sessions.formUnion(try await database.column(Int32.self, "SELECT pg_backend_pid()")) }
        return sessions
      }
      #expect(sessions.count == 1)
    }
  }

  @Test func whatWaitsIsBounded() async throws {
    // Of what each connection may have, all but one is under way; that one waits.
    try await withLockHeld(configure: { $0.maximumInFlight = StatementQueue.depth + 1 }) { database, group, release in
      let before = database.metrics.statements
      // All in one turn of the loop: once a connection is silent, the other is filled first, and then only two may wait.
      let count = 2 * StatementQueue.depth + 2
      let fitting = try await group.loops[0].run { start(count, Self.blocked, on: database, group) }
      try await eventually { database.metrics.statements == before + UInt64(2 * StatementQueue.depth) }
      let refused = try #require(await start(1, Self.blocked, on: database, group)[0].value)
      #expect(refused.kind == .overloaded)
      #expect(database.metrics.overloads == 1)
      #expect(database.metrics.statements == before + UInt64(2 * StatementQueue.depth))
      try await release()
      for task in fitting { #expect(await task.value == nil) }
      // With the unlocking, on a connection of its own.
      #expect(database.metrics.statements == before + UInt64(2 * StatementQueue.depth + 2 + 1))
    }
  }

  @Test func whoWaitsTooLongIsToldAndTheStatementIsNeverSent() async throws {
    try await withLockHeld { database, group, release in
      let before = database.metrics.statements
      let ahead = start(2 * StatementQueue.depth, Self.blocked, on: database, group)
      try await eventually { database.metrics.statements == before + UInt64(2 * StatementQueue.depth) }
      let late = try #require(
        await start(1, "SELECT 1", on: database, group, timeout: .milliseconds(50))[0].value)
      #expect(late.kind == .timeout)
      #expect(late.message == "no connection in time")
      try await release()
      for task in ahead { #expect(await task.value == nil) }
      #expect(database.metrics.statements == before + UInt64(2 * StatementQueue.depth + 1))
      #expect(database.metrics.timeouts == 1)
    }
  }

  @Test func whatWaitsGoesToTheConnectionThatIsLeft() async throws {
    try await withLockHeld { database, group, release in
      let before = database.metrics.statements
      let ahead = start(2 * StatementQueue.depth, Self.blocked, on: database, group)
      try await eventually { database.metrics.statements == before + UInt64(2 * StatementQueue.depth) }
      let waiting = start(3, Self.blocked, on: database, group)
      let waits: Query = """
        SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database() ORDER BY pid
        """
      try await database.pooled { killer in
        try await eventually { try await killer.query(waits).count == 2 }
        let victim = try #require(try await killer.query(waits).decode(Int32.self).first)
        try await killer.query("SELECT pg_terminate_backend(\(victim))")
      }
      try await release()
      var lost = 0
      for task in ahead { if await task.value?.kind == .connectionLost { lost += 1 } }
      #expect(lost == StatementQueue.depth)
      for task in waiting { #expect(await task.value == nil) }
    }
  }

  @Test func withTheDatabaseStoppedNothingWaits() async throws {
    try await withLockHeld { database, group, _ in
      let before = database.metrics.statements
      let ahead = start(2 * StatementQueue.depth, Self.blocked, on: database, group)
      try await eventually { database.metrics.statements == before + UInt64(2 * StatementQueue.depth) }
      let waiting = start(1, Self.blocked, on: database, group)
      // One turn of the loop, so that it waits.
      try await group.loops[0].run {}
      await database.stop()
      #expect(await waiting[0].value?.kind == .unavailable)
      for task in ahead { #expect(await task.value != nil) }
    }
  }
}
