import EventLoop
import TestSupport
import Testing

@testable import Postgres

/// With several hosts, which of them an attempt begins with.
@Suite struct HostTurnTests {
  @Test func aPoolStaysWithTheHostThatItReached() async throws {
    try await withSilentHost { string, silent in
      let group = try EventLoopGroup(count: 1)
      defer { group.stop() }
      let loop = group.loops[0]
      let pool = Pool(
        loop: loop, recipe: try configuration(string).poolRecipe, size: 2, maximumWaiters: 8,
        waitTimeout: .seconds(60), counters: Counters())
      // Both begin with the silent host, and together they make the next attempt begin with the other.
      try await withThrowingTaskGroup(of: PostgresError.Kind?.self) { tasks in
        for _ in 0..<2 {
          tasks.addTask(executorPreference: loop) {
            do throws(PostgresError) { pool.giveBack(try await pool.borrow()) } catch { return error.kind }
            return nil
          }
        }
        for try await kind in tasks { #expect(kind == .unavailable) }
      }
      #expect(try accepted(silent) == 2)
      let first = try await pool.borrow()
      let second = try await pool.borrow()
      #expect(first !== second)
      #expect(try accepted(silent) == 0)
      pool.giveBack(first)
      pool.giveBack(second)
      try await loop.run { pool.stop() }
    }
  }

  @Test func aPipelineThatIsLostComesBackToTheHostThatItReached() async throws {
    try await withSilentHost { string, silent in
      try await withDatabase(string, configure: { $0 = configuration(string) }) { (database) async throws in
        #expect(try accepted(silent) == 1)
        _ = try? await database.query("SELECT pg_terminate_backend(pg_backend_pid())")
        try await eventually { database.metrics.connects == 2 && database.metrics.pipelinesUp == 1 }
        #expect(database.metrics.losses == 1)
        #expect(try accepted(silent) == 0)
      }
    }
  }

  // MARK: Parts

  /// Names two hosts: one that takes connections and says nothing, and the cluster.
  private func withSilentHost(_ body: (String, Listener) async throws -> Void) async throws {
    let directory = try await TestCluster.shared().directory
    let silent = try Listener(try #require(SocketAddress("127.0.0.1:0")))
    try await body(
      "host=127.0.0.1,\(directory)/socket port=\(silent.address.port),5432 user=postgres dbname=postgres", silent)
  }

  /// Short, since the silent host uses all of it, and long enough for the other on a busy machine.
  private func configuration(_ string: String) -> Database.Configuration {
    var configuration = Database.Configuration(connectionString: string)
    configuration.pipelinesPerLoop = 1
    configuration.poolSize = 2
    configuration.connectTimeout = .seconds(2)
    return configuration
  }

  /// How many have connected since it was asked last.
  private func accepted(_ listener: Listener) throws -> Int {
    var count = 0
    while let connection = try System.accept(listener.descriptor) {
      System.close(connection)
      count += 1
    }
    return count
  }
}
