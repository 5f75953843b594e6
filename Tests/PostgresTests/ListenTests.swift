import EventLoop
import Glibc
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct ListenTests {
  private final class Heard: Sendable {
    let notices = Lock<[String]>([])
    let gaps = Atomic<Int>(0)

    func listen(_ database: Database, _ channels: [String]) {
      database.listen(
        channels, onNotice: { channel, payload in self.notices.withLock { $0.append("\(channel):\(payload)") } },
        onGap: { self.gaps.add(1, ordering: .relaxed) })
    }
    var gapCount: Int { gaps.load(ordering: .relaxed) }
    var all: [String] { notices.withLock { $0 } }
  }

  private static let ownBackend: Query = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()
    """

  @Test func noticesOfAllChannelsAreHeardInOrder() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let heard = Heard()
      heard.listen(database, ["jobs", "Mixed \"Case"])
      try await eventually { heard.gapCount == 1 }
      try await database.query("SELECT pg_notify('jobs', '1')")
      try await database.query("SELECT pg_notify('Mixed \"Case', 'é')")
      try await database.query("SELECT pg_notify('other', 'x')")
      try await database.query("SELECT pg_notify('jobs', '2')")
      try await eventually { heard.all.count >= 3 }
      #expect(heard.all == ["jobs:1", "Mixed \"Case:é", "jobs:2"])
      #expect(heard.gapCount == 1)
    }
  }

  @Test func listeningSurvivesTheEndOfItsBackend() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let heard = Heard()
      heard.listen(database, ["jobs"])
      try await eventually { heard.gapCount == 1 }
      #expect(try await database.query(ListenTests.ownBackend).count == 1)
      try await eventually { heard.gapCount == 2 }
      try await database.query("NOTIFY jobs, 'again'")
      try await eventually { heard.all == ["jobs:again"] }
      // Nobody else was touched.
      #expect(database.metrics.losses == 0)
    }
  }

  @Test func connectionThatDiesSilentlyIsFoundByItsPing() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(
      url,
      configure: {
        $0.pingInterval = .milliseconds(50)
        $0.statementTimeout = .milliseconds(500)
        $0.grace = .milliseconds(200)
      }
    ) { database in
      let heard = Heard()
      heard.listen(database, ["jobs"])
      try await eventually { heard.gapCount == 1 }
      let process = try await database.column(
        Int32.self,
        """
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND query IN ('LISTEN "jobs"', 'SELECT 1')
        """)
      try #require(process.count == 1)
      kill(process[0], SIGSTOP)
      defer { kill(process[0], SIGCONT) }
      try await eventually { heard.gapCount == 2 }
      try await database.query("NOTIFY jobs, 'x'")
      try await eventually { heard.all == ["jobs:x"] }
    }
  }
}
