import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// `GET /github/rate_limit`.
@Suite struct RateLimitTests {
  private func figures(_ world: TestWorld, _ token: String) async throws -> [String: [Int64]] {
    let answer = try await world.get("/github/rate_limit", as: token)
    #expect(answer.status == 200, "\(answer.text)")
    var figures: [String: [Int64]] = [:]
    for (name, value) in try #require(answer.json["resources"]).members {
      figures[name] = [value["limit"]?.int ?? -1, value["used"]?.int ?? -1, value["remaining"]?.int ?? -1]
    }
    return figures
  }

  @Test func budgetsAreToldInGitHubsShapeWithoutAskingGitHub() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1))
    options.tokens = ["token-1", "token-2"]
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let answer = try await world.get("/github/rate_limit", as: token, [.ifNoneMatch: "*"])
      #expect(answer.status == 200)
      #expect(answer[.etag] == nil)
      #expect(try answer.json.members.map(\.key) == ["resources", "rate"])
      #expect(try answer.json["rate"]?.bytes == answer.json["resources"]?["core"]?.bytes)
      #expect(try answer.json["rate"]?.members.map(\.key) == ["limit", "used", "remaining", "reset"])
      let reset = try #require(try answer.json["rate"]?["reset"]?.int)
      let now: Int64 = try await world.value("SELECT extract(epoch FROM now())::bigint")
      #expect((now + 3_590...now + 3_601).contains(reset))
      #expect(answer["X-RateLimit-Remaining"] == "10000")
      #expect(try await figures(world, token) == ["core": [10_000, 0, 10_000], "search": [60, 0, 60]])
      #expect(world.simulator.requestCount == 0)

      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      #expect(try await figures(world, token)["core"] == [10_000, 1, 9_999])
      // A key that the upstream has refused is not counted, and one that must rest has nothing left for now.
      try await world.sql(
        "UPDATE magpie.credential SET disabled_at = now() WHERE id = (SELECT min(id) FROM magpie.credential WHERE pool = 'github')"
      )
      #expect(try await figures(world, token)["core"]?[0] == 5_000)
      try await world.sql("UPDATE magpie.credential SET blocked_until = now() + interval '5000 seconds'")
      #expect(try await figures(world, token) == ["core": [5_000, 5_000, 0], "search": [30, 30, 0]])
      let closed = try await world.get("/github/rate_limit", as: token)
      #expect((now + 5_000...now + 5_060).contains(try #require(try closed.json["rate"]?["reset"]?.int)))
    }
  }

  @Test func whatIsKeptForOthersIsNotPromised() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      try await world.sql("SELECT admin.set_budget_floor('interactive', 10)")
      #expect(try await figures(world, token) == ["core": [4_500, 0, 4_500], "search": [27, 0, 27]])
    }
  }

  @Test func withoutATokenOfGitHubsTheAnonymousBudgetCounts() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1))
    options.tokens = []
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      #expect(try await figures(world, token) == ["core": [60, 0, 60], "search": [10, 0, 10]])
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      #expect(try await figures(world, token)["core"] == [60, 1, 59])
    }
  }

  @Test func withoutAWorkerNothingCanBeAsked() async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      #expect(try await figures(world, token) == ["core": [0, 0, 0], "search": [0, 0, 0]])
      #expect(try await world.get("/github/rate_limit", as: nil).status == 401)
      #expect(try await world.get("/github/rate_limit", as: "mgp_" + String(repeating: "x", count: 36)).status == 401)
    }
  }
}
