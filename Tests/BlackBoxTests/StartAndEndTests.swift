import EventLoop
import Glibc
import HTTP
import Postgres
import TestSupport
import Testing

/// Signals that come while a program starts, and programs that share a private cluster.
@Suite(.timeLimit(.minutes(5)))
struct StartAndEndTests {
  @Test(arguments: ["serve", "work"])
  func `a start that waits for a silent database ends as soon as it is told to`(command: String) async throws {
    try await Site.with { site async throws in
      // Takes connections and never says a word.
      let silent = try Listener(try #require(SocketAddress("127.0.0.1:0")))
      let port = try #require("\(silent.address)".split(separator: ":").last)
      let database = "host=127.0.0.1 port=\(port) user=magpie dbname=magpie connect_timeout=600"
      let program = try site.magpie([command], Site.settings.merging(["DATABASE_URL": database]) { $1 })
      var connection: Int32 = -1
      defer { close(connection) }
      try await eventually {
        connection = accept(silent.descriptor, nil, nil)
        return connection >= 0
      }
      program.signal(SIGTERM)
      #expect(try await program.waitForEnd() == .exit(0))
      #expect(program.log == "")
    }
  }

  @Test func `a start that is ended while it makes its database leaves room for the next`() async throws {
    try await Site.with { site async throws in
      let data = "\(site.directory)/data"
      let settings = Site.settings.merging(["MAGPIE_DATA": data]) { $1 }
      let program = try site.magpie(["serve"], settings)
      try await eventually { Files.names(in: data).contains { $0.hasPrefix("data.new-") } }
      program.signal(SIGTERM)
      #expect(try await program.waitForEnd() == .exit(0))
      let second = try await site.serve([], ["MAGPIE_DATA": data])
      #expect(try await second.api.get("/v1/version").status == 200)
      second.program.signal(SIGTERM)
      #expect(try await second.program.waitForEnd() == .exit(0))
      #expect(!Files.names(in: data).contains { $0.hasPrefix("data.new-") })
    }
  }

  @Test func `a private cluster is reached whatever the environment says of other servers`() async throws {
    try await Site.with { site async throws in
      let server = try await site.serve(
        ["--no-worker"],
        [
          "MAGPIE_DATA": "\(site.directory)/data", "PGSERVICE": "nowhere", "PGHOSTADDR": "192.0.2.1", "PGPORT": "1",
          "PGHOST": "nowhere.invalid", "PGUSER": "nobody", "PGREQUIREPEER": "nobody else", "PGTZ": "No/Where",
          "PGCHANNELBINDING": "require", "PGGSSENCMODE": "require", "PGSSLMODE": "verify-full",
          "PGOPTIONS": "-c default_transaction_read_only=on",
        ])
      try await eventually { try await server.isReady() }
      server.program.signal(SIGTERM)
      #expect(try await server.program.waitForEnd() == .exit(0))
    }
  }

  @Test(arguments: [SIGTERM, SIGKILL])
  func `of two servers with one private cluster, either may end first`(signal: Int32) async throws {
    try await Site.with { site async throws in
      let data = "\(site.directory)/data"
      let database = "host=\(data)/socket user=magpie dbname=magpie"
      let first = try await site.serve(["--no-worker"], ["MAGPIE_DATA": data])
      let second = try await site.serve(["--no-worker"], ["MAGPIE_DATA": data])
      let token = try await site.token("alice", database)
      #expect(try await first.api.account(token).send(.put, "/v1/favorites/github-user/7", body: "{}").status == 201)
      let old = try #require(Site.postmaster(of: data))
      first.program.signal(signal)
      #expect(try await first.program.waitForEnd() == (signal == SIGTERM ? .exit(0) : .signal(SIGKILL)))
      let visitor = second.api.account(token)
      // While nobody runs the database, it says so. The old one answers for a moment after its owner was killed.
      try await eventually {
        let isNew = Site.postmaster(of: data).map { $0 != old } ?? false
        let answer = try await visitor.get("/v1/favorites")
        #expect([200, 503].contains(answer.status))
        return answer.status == 200 && isNew
      }
      #expect(try await visitor.favorites() == ["7"])
      second.program.signal(SIGTERM)
      #expect(try await second.program.waitForEnd() == .exit(0))
      #expect(Site.postmaster(of: data) == nil)
    }
  }
}
