import Glibc
import HTTP
import Postgres
import TestSupport
import Testing

/// A worker that dies, sleeps or is told to end in the middle of a walk: the list comes out exact, and nearly nothing is
/// asked twice.
@Suite(.timeLimit(.minutes(5)))
struct WorkerDeathTests {
  private static let list = "/github/users/octocat/followers?per_page=100"
  private static let count = 840
  private static let pages = 9

  /// A server without a worker, a simulator that holds the request for page 5, and a worker that waits for it.
  private struct Scene {
    let site: Site
    let simulator: SimulatorProgram
    let settings: [String: String]
    let database: String
    let server: Service
    let visitor: Visitor
    let worker: Service

    init(_ site: Site) async throws {
      self.site = site
      simulator = try await site.simulator(["--user", "octocat:\(WorkerDeathTests.count)"])
      database = try await site.database()
      settings = ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url, "MAGPIE_LEASE_SECONDS": "3"]
      server = try await site.serve(["--no-worker"], settings)
      visitor = server.api.account(try await site.token("alice", database))
      worker = try await site.work(settings)
      try await simulator.command("hold", #"{"match":"/user/*/followers?page=5","times":1}"#)
      let first = try await visitor.get(WorkerDeathTests.list)
      #expect(first.status == 200)
      #expect(first.fields["Cache-Status"] == "magpie; fwd=miss" || first.fields["Magpie-Coverage"] != nil)
      let (simulator, database) = (simulator, database)
      try await eventually { try await simulator.held() == 1 }
      // Page 4 is stored while page 5 is asked for.
      try await eventually { try await column(Int.self, "SELECT progress_done FROM magpie.job", of: database) == [4] }
    }

    /// The list has come to its end, by itself.
    func waitForWholeList() async throws {
      try await eventually {
        try await visitor.get(WorkerDeathTests.list).isOfWholeList(WorkerDeathTests.count)
      }
    }

    /// Every member, once, in order; and every page asked for once, but for one that may have been asked for twice.
    func expectExactList(repeated: Int) async throws {
      // What is held appears in the simulator's log when it goes.
      try await simulator.command("release")
      #expect(try await visitor.ids(of: WorkerDeathTests.list) == simulator.followers(of: "octocat"))
      try await eventually { try await simulator.requests("/user*/**").count >= WorkerDeathTests.pages + repeated }
      let requests = try await simulator.requests("/user*/**")
      #expect(Set(requests).count == WorkerDeathTests.pages)
      #expect(requests.count == WorkerDeathTests.pages + repeated, "\(requests)")
      let most = Dictionary(grouping: requests, by: { $0 }).values.map(\.count).max() ?? 0
      #expect(most <= 2)
      // What is to be done after a walk is done by a job of its own.
      try await untilIdle()
      // A job that was ordered while the list came to its end was taken back before it began.
      let ended = try await column(
        String.self, "SELECT concat_ws(' ', kind, state) FROM magpie.job_done WHERE started_at IS NOT NULL ORDER BY 1",
        of: database)
      #expect(ended == ["github-followers completed", "github-followers-changes completed"])
    }

    func untilIdle() async throws {
      let database = database
      try await eventually { try await column(String.self, "SELECT j::text FROM magpie.job j", of: database) == [] }
    }
  }

  @Test func `another worker goes on at the page that a killed one had reached`() async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      scene.worker.program.signal(SIGKILL)
      #expect(try await scene.worker.program.waitForEnd() == .signal(SIGKILL))
      let other = try await site.work(scene.settings)
      try await scene.waitForWholeList()
      // Page 5 was asked for by both.
      try await scene.expectExactList(repeated: 1)
      // A worker counts a job when it hears from the database that it has ended.
      try await eventually { try await other.metric("magpie_jobs_completed_total") == 2 }
      // The crash is on record, and no longer counts against a walk that has got further since.
      #expect(
        try await column(
          String.self,
          """
          SELECT concat_ws(' ', kind, crashes, attempt, errors -> 0 ->> 'error') FROM magpie.job_done
           WHERE started_at IS NOT NULL ORDER BY 1
          """, of: scene.database) == ["github-followers 0 1 worker died", "github-followers-changes 0 1"])
    }
  }

  @Test func `what a worker writes that slept past its lease is refused`() async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      scene.worker.program.signal(SIGSTOP)
      let other = try await site.work(scene.settings)
      try await scene.waitForWholeList()
      #expect(try await other.metric("magpie_jobs_rescued_total") == 1)
      try await scene.untilIdle()
      // The answer to its question is there when it wakes up.
      try await scene.simulator.command("release")
      let pages: Query = "SELECT concat_ws(' ', p.walk_id, p.page, p.members) FROM magpie.walk_page p ORDER BY 1"
      let stored = try await column(String.self, pages, of: scene.database)
      #expect(stored.count == Self.pages)
      scene.worker.program.signal(SIGCONT)
      try await eventually { try await scene.worker.metric("magpie_jobs_lost_total") == 1 }
      #expect(try await scene.worker.metric("magpie_jobs_completed_total") == 0)
      #expect(try await column(String.self, pages, of: scene.database) == stored)
      try await scene.expectExactList(repeated: 1)
      // It is no outcast: it takes the next job under a new name.
      other.program.signal(SIGTERM)
      #expect(try await other.program.waitForEnd() == .exit(0))
      let profile = try await scene.visitor.get("/github/users/octocat", ["Prefer": "wait=30"])
      #expect(profile.status == 200)
      try await eventually { try await scene.worker.metric("magpie_jobs_completed_total") == 1 }
    }
  }

  @Test func `a worker that is told to end gives its job back with the attempt`() async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      scene.worker.program.signal(SIGTERM)
      try await eventually { try await !scene.worker.isReady() }
      // Still at work: the page under way is waited for and stored.
      #expect(scene.worker.program.end == nil)
      try await scene.simulator.command("release")
      #expect(try await scene.worker.program.waitForEnd() == .exit(0))
      let rows = try await column(
        String.self,
        "SELECT concat_ws(' ', state, attempt, progress_done, crashes, worker_id IS NULL) FROM magpie.job",
        of: scene.database)
      #expect(rows == ["available 0 5 0 t"])
      #expect(
        try await column(Int.self, "SELECT count(*) FROM magpie.worker WHERE state <> 'dead'", of: scene.database) == [
          0
        ])
      _ = try await site.work(scene.settings)
      try await scene.waitForWholeList()
      try await scene.expectExactList(repeated: 0)
    }
  }

  @Test func `a second signal ends a worker at once`() async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      scene.worker.program.signal(SIGTERM)
      try await eventually { try await !scene.worker.isReady() }
      scene.worker.program.signal(SIGTERM)
      #expect(try await scene.worker.program.waitForEnd(within: .seconds(15)) == .exit(1))
      // Nothing is lost but time.
      _ = try await site.work(scene.settings)
      try await scene.waitForWholeList()
      try await scene.expectExactList(repeated: 1)
    }
  }
}
