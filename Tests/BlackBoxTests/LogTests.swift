import Glibc
import HTTP
import JSONText
import TestSupport
import Testing

/// What a line of the log tells of a request.
@Suite(.timeLimit(.minutes(5)))
struct LogTests {
  @Test func `the line of a request names whose it was`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:30"])
      let database = try await site.database()
      let server = try await site.serve([], ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url])
      var tokens: [String] = []
      for name in ["alice", "bob"] { tokens.append(try await site.token(name, database)) }
      let ids = try await column(Int64.self, "SELECT id FROM magpie.account ORDER BY username", of: database)
      try #require(ids.count == 2)

      for (token, id) in zip(tokens, ids) {
        let visitor = server.api.account(token)
        for _ in 0..<2 {
          let list = try await visitor.get("/github/users/octocat/followers", ["X-Request-Id": "list-\(id)"])
          #expect(list.status == 200)
        }
        #expect(try await visitor.get("/v1/favorites", ["X-Request-Id": "favorites-\(id)"]).status == 200)
        #expect(try await visitor.get("/v1/nowhere", ["X-Request-Id": "nothing-\(id)"]).status == 404)
        #expect(try await visitor.get("/v1/jobs/999999", ["X-Request-Id": "foreign-\(id)"]).status == 404)
        #expect(
          try await server.api.get("/giphy/v1/gifs/trending?api_key=\(token)", ["X-Request-Id": "gifs-\(id)"]).status
            == 503)
      }
      #expect(try await server.api.get("/v1/favorites", ["X-Request-Id": "stranger"]).status == 401)
      #expect(
        try await server.api.account("mgp_\(String(repeating: "a", count: 36))").get(
          "/v1/favorites", ["X-Request-Id": "shapeless"]
        ).status == 401)
      server.program.signal(SIGTERM)
      #expect(try await server.program.waitForEnd() == .exit(0))

      var accounts: [String: Set<Int64?>] = [:]
      for line in server.program.log.split(separator: "\n") {
        guard let line = try? JSONView(Array(line.utf8)), line["event"]?.string == "request",
          let id = line["id"]?.string
        else { continue }
        accounts[id, default: []].insert(line["account"]?.int)
      }
      for id in ids {
        for name in ["list", "favorites", "foreign", "gifs"] { #expect(accounts["\(name)-\(id)"] == [id], "\(name)") }
        // No route, so that nobody has looked whose it was.
        #expect(accounts["nothing-\(id)"] == [nil])
      }
      #expect(accounts["stranger"] == [nil])
      #expect(accounts["shapeless"] == [nil])
    }
  }
}
