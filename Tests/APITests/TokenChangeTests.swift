import HTTPClient
import Postgres
import Testing
import Upstream
import UpstreamSimulator
import WorldSupport

@testable import Magpie

/// Other tokens while the worker runs.
@Suite struct TokenChangeTests {
  /// A world with a gate that holds one token, and nobody else who asks.
  private static func run(
    announced: Bool = true, _ body: @escaping @Sendable (TestWorld, GitHubGate) async throws -> Void
  ) async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1))
    options.hasWorker = false
    try await TestWorld.run(options) { world in
      let database = try await TestWorld.database(world.url, role: "magpie_worker", world.group)
      let origin = try #require(HTTPClient.Origin(world.simulator.baseURL))
      let client = HTTPClient(
        loop: world.group.loops[0],
        configuration: HTTPClient.Configuration(userAgent: "magpie-test", origins: [origin], trustedOrigins: [origin]))
      let service = try #require(UpstreamService(base: world.simulator.baseURL, userAgent: "magpie-test"))
      let gate = GitHubGate(
        service: service, tokens: Self.tokens("old"), client: client, budgets: Budgets(database: database))
      do {
        if announced { try await gate.register() }
        try await body(world, gate)
      } catch {
        client.stop()
        await database.stop()
        throw error
      }
      client.stop()
      await database.stop()
    }
  }

  private static func tokens(_ names: String...) -> [Upstream.Credential] {
    names.compactMap { Upstream.Credential(token: $0) }
  }

  private static func ask(_ gate: GitHubGate) async throws -> GitHubGate.Verdict<GitHub.Account> {
    try await gate.ask(
      GitHub.Profile(.id(583_231)), priority: .interactive, redirected: GitHub.Profile.init(at:))
  }

  /// The token that a question is asked with; `nil` when it is not asked.
  private static func asked(_ world: TestWorld, _ gate: GitHubGate) async throws -> String? {
    guard case .answered(.ok, _) = try await ask(gate) else { return nil }
    return world.simulator.log().last?.credential
  }

  /// What the budgets have not heard of lets nobody through: until they have, the old tokens do.
  @Test func newTokensAreUsedOnceTheyAreAnnounced() async throws {
    try await Self.run { world, gate in
      #expect(try await Self.asked(world, gate) == "old")
      try await world.sql("REVOKE EXECUTE ON FUNCTION magpie.register_credential FROM PUBLIC, magpie_worker")
      gate.use(Self.tokens("new"))
      #expect(try await Self.asked(world, gate) == "old")
      await #expect(throws: PostgresError.self) { try await gate.takeOver() }
      #expect(try await Self.asked(world, gate) == "old")
      try await world.sql("GRANT EXECUTE ON FUNCTION magpie.register_credential TO magpie_worker")
      try await gate.takeOver()
      #expect(try await Self.asked(world, gate) == "new")
      // The newest of several changes counts, and there is nothing left to do after it.
      gate.use(Self.tokens("newer"))
      gate.use(Self.tokens("newest"))
      try await gate.register()
      try await world.sql("REVOKE EXECUTE ON FUNCTION magpie.register_credential FROM PUBLIC, magpie_worker")
      try await gate.takeOver()
      #expect(try await Self.asked(world, gate) == "newest")
    }
  }

  @Test func credentialsThatAreNotAnnouncedCostNoAttempt() async throws {
    try await Self.run(announced: false) { world, gate in
      guard case .ended(.snooze(let pause)) = try await Self.ask(gate) else {
        Issue.record("no snooze")
        return
      }
      #expect(pause <= .seconds(5))
      #expect(world.simulator.requestCount == 0)
    }
  }

  /// A new token is a way through the gate for everybody who stands before it.
  @Test func newTokensWakeWhoWaitsForTheGate() async throws {
    try await Self.run { world, gate in
      try await world.sql(
        """
        INSERT INTO magpie.job (kind, subject, state, wait_reason, available_at, attempt)
        SELECT k, s, 'scheduled'::magpie.job_state, w, now() + interval '1 hour', (w = 'retry')::int::smallint
          FROM (VALUES ('github-user', 'octocat', 'snooze'), ('github-followers', 'octocat', 'snooze'),
                       ('github-user', 'hubot', 'retry'), ('gifs', 'cat', 'snooze')) AS v (k, s, w)
        """)
      func waiting() async throws -> [String] {
        try await world.owner.query(
          "SELECT j.kind || ' ' || j.subject FROM magpie.job j WHERE j.available_at > now() ORDER BY j.id"
        ).decode(String.self)
      }
      try await gate.register()
      #expect(try await waiting().count == 4)
      gate.use(Self.tokens("old", "new"))
      try await gate.takeOver()
      #expect(try await waiting() == ["github-user hubot", "gifs cat"])
    }
  }
}
