import EventLoop
import Glibc
import HTTP
import Postgres
import TestSupport
import Testing

/// PostgreSQL dies under a running server, which neither dies nor hangs, and goes on when it is back.
@Suite(.timeLimit(.minutes(5)))
struct DatabaseDeathTests {
  /// The longest that any request may take while the database is away.
  private static let patience = 15.0

  private func expectUnavailable(_ answer: Answer) {
    #expect(answer.status == 503)
    #expect(answer.code == "server/database-unavailable")
    #expect(answer.fields["Retry-After"].flatMap { Int($0) }.map { (1...60).contains($0) } == true)
    #expect(answer.fields["Content-Type"]?.hasPrefix("application/problem+json") == true)
  }

  @Test func `the private cluster is started again when it was killed, and nothing acknowledged is lost`() async throws
  {
    try await Site.with { site async throws in
      let data = "\(site.directory)/data"
      let simulator = try await site.simulator(["--user", "octocat:40"])
      let server = try await site.serve([], ["MAGPIE_DATA": data, "MAGPIE_GITHUB_URL": simulator.peer.url])
      let token = try await site.token("alice", "host=\(data)/socket user=magpie dbname=magpie")
      let visitor = server.api.account(token)
      var kept: [String] = []
      // Three times, while somebody keeps writing.
      for round in 1...3 {
        let killed = try #require(Site.postmaster(of: data))
        kill(killed, SIGKILL)
        var failures = 0
        try await eventually {
          let id = "\(round + 1)\(100 + kept.count + failures)"
          let answer = try await visitor.send(.put, "/v1/favorites/github-user/\(id)")
          #expect(answer.seconds < Self.patience)
          if answer.status == 201 { kept.append(id) } else { failures += 1 }
          guard [201, 503].contains(answer.status) else { throw Answer.Unexpected(answer: answer) }
          // Sessions of the killed server may have answered until they noticed.
          return answer.status == 201 && Site.postmaster(of: data).map { $0 != killed } ?? false
            && kept.count > round * 5
        }
      }
      let stored = try await visitor.favorites()
      #expect(Set(kept).isSubset(of: stored), "\(Set(kept).subtracting(stored))")
      #expect(server.program.end == nil)
      // The worker came through, too.
      let list = try await visitor.get("/github/users/octocat/followers", ["Prefer": "wait=30"])
      #expect(list.status == 200)
      try await eventually { try await server.isReady() }
    }
  }

  @Test func `while an external database is away every answer says so, and all is well when it is back`() async throws {
    try await Site.with { site async throws in
      let cluster = PrivateCluster(directory: "\(site.directory)/external")
      var database = try await cluster.start()
      let simulator = try await site.simulator(["--user", "octocat:340"])
      let settings = [
        "DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url, "MAGPIE_LEASE_SECONDS": "2",
      ]
      let server = try await site.serve(["--no-worker"], settings)
      let worker = try await site.work(settings)
      let visitor = server.api.account(try await site.token("alice", database))
      #expect(try await visitor.send(.put, "/v1/favorites/github-user/1").status == 201)
      // In the middle of a walk.
      try await simulator.command("hold", #"{"match":"/user/*/followers?page=3","times":1}"#)
      #expect(try await visitor.get("/github/users/octocat/followers").status == 200)
      try await eventually { try await simulator.held() == 1 }

      kill(try #require(cluster.serverProcess), SIGKILL)
      await cluster.stop()
      try await eventually { try await !server.isReady() }
      try await eventually { try await !worker.isReady() }
      #expect(try await server.admin.get("/livez").status == 200)
      for _ in 0..<3 {
        for path in ["/github/users/octocat/followers", "/github/users/octocat?", "/v1/favorites"] {
          let answer = try await visitor.get(path, ["Prefer": "wait=30"])
          expectUnavailable(answer)
          #expect(answer.seconds < Self.patience)
        }
        expectUnavailable(try await visitor.send(.put, "/v1/favorites/github-user/2"))
        let signIn = try await visitor.send(
          .post, "/v1/sessions", body: #"{"username":"alice","password":"no matter"}"#)
        expectUnavailable(signIn)
      }
      // What needs no database is there all the time.
      #expect(try await visitor.get("/v1/version").status == 200)
      try await simulator.command("release")

      database = try await cluster.start()
      for service in [server, worker] { try await eventually { try await service.isReady() } }
      #expect(try await visitor.favorites() == ["1"])
      try await eventually {
        try await visitor.get("/github/users/octocat/followers").isOfWholeList(340)
      }
      #expect(
        try await visitor.ids(of: "/github/users/octocat/followers?per_page=100") == simulator.followers(of: "octocat"))
      #expect(server.program.end == nil && worker.program.end == nil)
      await cluster.stop()
    }
  }

  @Test func `a database without the schema is not ready`() async throws {
    try await Site.with { site async throws in
      let database = try await site.database()
      let server = try await site.serve([], ["DATABASE_URL": database])
      #expect(try await server.admin.get("/readyz").status == 200)
      let gone = try await column(
        String.self,
        """
        DELETE FROM magpie.migration m
         WHERE m.name = (SELECT max(n.name) FROM magpie.migration n WHERE NOT n.is_repeatable) RETURNING m.name
        """, of: database)
      #expect(gone.count == 1)
      #expect(try await server.admin.get("/readyz").status == 503)
    }
  }

  @Test func `a database that freezes is noticed, and used again when it thaws`() async throws {
    try await Site.with { site async throws in
      let cluster = PrivateCluster(directory: "\(site.directory)/external")
      let database = try await cluster.start()
      let server = try await site.serve([], ["DATABASE_URL": database])
      let visitor = server.api.account(try await site.token("alice", database))
      #expect(try await visitor.send(.put, "/v1/favorites/github-user/1").status == 201)
      let backends = try await column(
        Int32.self, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL",
        of: database)
      let frozen = backends + [try #require(cluster.serverProcess)]
      for process in frozen { kill(process, SIGSTOP) }
      // So that a failure leaves nothing behind that cannot end.
      defer { for process in frozen { kill(process, SIGCONT) } }
      let ready = try await server.admin.get("/readyz")
      #expect(ready.status == 503)
      #expect(ready.seconds < Self.patience)
      for _ in 0..<2 {
        let answer = try await visitor.get("/v1/favorites")
        #expect(answer.status == 503)
        #expect(answer.fields["Retry-After"] != nil)
        #expect(answer.seconds < Self.patience)
      }
      for process in frozen { kill(process, SIGCONT) }
      try await eventually { try await server.isReady() }
      try await eventually { try await visitor.get("/v1/favorites").status == 200 }
      #expect(try await visitor.favorites() == ["1"])
      await cluster.stop()
    }
  }

  @Test func `a request that waits for a job waits on while the database is away, as long as it would have`()
    async throws
  {
    try await Site.with { site async throws in
      let cluster = PrivateCluster(directory: "\(site.directory)/external")
      let database = try await cluster.start()
      let simulator = try await site.simulator(["--user", "octocat:10"])
      let server = try await site.serve([], ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url])
      let visitor = server.api.account(try await site.token("alice", database))
      try await simulator.command("hold", #"{"match":"/users/octocat/followers"}"#)
      async let patient = visitor.get("/github/users/octocat/followers", ["Prefer": "wait=30"])
      async let impatient = visitor.get("/github/users/octocat/followers", ["Prefer": "wait=5"])
      try await eventually { try await simulator.held() == 1 }
      try await eventually { try await server.metric("magpie_requests_in_flight") == 2 }
      await cluster.stop()
      let refused = try await impatient
      expectUnavailable(refused)
      #expect(refused.seconds < Self.patience)
      _ = try await cluster.start()
      try await eventually { try await server.isReady() }
      try await simulator.command("release")
      let answer = try await patient
      #expect(answer.status == 200)
      #expect(try answer.ids.count == 10)
      await cluster.stop()
    }
  }
}
