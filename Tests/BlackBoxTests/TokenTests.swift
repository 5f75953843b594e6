import HTTP
import TestSupport
import Testing

/// A token that GitHub does not know any more is seen by whoever looks.
@Suite(.timeLimit(.minutes(5)))
struct TokenTests {
  @Test func `a refused token shows in the metrics and in the view of administrators`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:30", "--only-known-tokens"])
      let database = try await site.database()
      let server = try await site.serve(
        [], ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url, "MAGPIE_GITHUB_TOKENS": "revoked"])
      let visitor = server.api.account(try await site.token("alice", database))
      try await eventually {
        try await server.metric("magpie_upstream_budget_limit") == 5_030
      }
      #expect(try await server.metric("magpie_upstream_budget_remaining") == 5_030)
      #expect(try await server.metric("magpie_upstream_credential_disabled") == 0)
      let refused = try await visitor.get("/github/users/octocat", ["Prefer": "wait=20"])
      #expect(refused.status == 503 && refused.code == "upstream/unauthorized")
      try await eventually {
        try await server.metric("magpie_upstream_credential_disabled") == 1
      }
      #expect(
        try await column(
          String.self, "SELECT DISTINCT b.state FROM admin.budgets b WHERE b.pool = 'github'", of: database) == [
            "disabled"
          ])
      // The secret itself is in neither.
      #expect(try await !server.admin.get("/metrics").text.contains("revoked"))
    }
  }
}
