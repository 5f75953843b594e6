import HTTP
import Postgres
import Testing
import Upstream
import UpstreamSimulator
import WorldSupport

@testable import Magpie

/// Answers that make no sense: each is refused as a whole, and nothing that is stored is lost.
@Suite struct HostileUpstreamTests {
  private static let effects: [Fault.Effect] = [
    .truncatedJSON, .invalidJSON, .html(200), .deepJSON(depth: 65), .deepJSON(depth: 1_000_000),
    .huge(bytes: 8 << 20 + 1),
    .otherShape, .idsAsStrings,
  ]
  private static let links: [Fault.Effect] = [
    .nextIsSelf, .nextIs("http://127.0.0.1:1/user/583231/followers?page=2"), .nextIs("https://evil.example/?page=2"),
    .nextIs("//evil.example/?page=2"), .nextIs("no address"),
  ]
  private static let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]

  @Test func listsSurvive() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 250))
    options.timeToLive.list = 0
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let path = "/github/users/octocat/followers?per_page=100"
      _ = try await world.pages(from: path, as: token)
      try await world.untilIdle()
      let before = try await world.get(path, as: token, [.cacheControl: "only-if-cached"])
      for (number, effect) in (Self.effects + Self.links).enumerated() {
        // So that no validator saves the upstream from answering in full; on the first page or in the middle.
        try world.simulator.churnOnce("octocat")
        let isFirst = number % 2 == 0 || Self.links.contains(effect)
        world.simulator.add(Fault(effect, on: isFirst ? "/users/octocat/followers" : "/user/*/followers?page=2"))
        let answer = try await world.get(path, as: token, Self.wish)
        #expect(answer.status == 200, "\(effect)")
        #expect(answer.cacheStatus == "magpie; fwd=stale; detail=offline", "\(effect)")
        #expect(answer.body == before.body, "\(effect)")
        #expect(answer.coverage == "250/250", "\(effect)")
        let error: String = try await world.value("SELECT j.last_error FROM magpie.job j")
        #expect(error.hasPrefix("upstream/invalid-answer: "), "\(effect): \(error)")
        world.simulator.clearFaults()
        try await world.sql("DELETE FROM magpie.job")
      }
      #expect(
        try await world.value("SELECT count(*) FROM magpie.follow_edge e WHERE e.ended_at IS NOT NULL") == Int64(0))
      let after = try await world.get(path, as: token, Self.wish)
      #expect(after.cacheStatus == "magpie; fwd=request")
      let whole = try await world.pages(from: path, as: token)
      #expect(try whole.flatMap { try $0.ids } == world.simulator.followers(of: "octocat"))
    }
  }

  @Test(arguments: [true, false])
  func whatWasGivenUpIsNotBegunAnewByEveryReader(isStored: Bool) async throws {
    var options = TestWorld.Options(.init("octocat", followers: 5))
    options.timeToLive.list = 0
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let path = "/github/users/octocat/followers?per_page=100"
      if isStored { _ = try await world.pages(from: path, as: token) }
      try await world.untilIdle()
      world.simulator.add(Fault(.forbidden, on: "/**"))
      for _ in 0..<5 {
        let answer = try await world.get(path, as: token, Self.wish)
        if isStored {
          #expect(answer.status == 200)
          #expect(answer.cacheStatus?.hasPrefix("magpie; fwd=stale; detail=") == true)
        } else {
          #expect(answer.status == 503)
          #expect(answer.code == "upstream/refused")
        }
      }
      let givenUp: Int64 = try await world.value("SELECT count(*) FROM magpie.job_done d WHERE d.state = 'discarded'")
      #expect(givenUp == 1)
      #expect(try await world.value("SELECT j.wait_reason FROM magpie.job j") == "retry")
      let rest = "SELECT extract(epoch FROM j.available_at - now())::float8 FROM magpie.job j" as Query
      #expect(try await (0.0...60).contains(world.value(rest)))
      let marked = try await world.get(path, as: token)
      if isStored { #expect(marked.cacheStatus == "magpie; fwd=stale; detail=offline") }
      // A minute later.
      world.simulator.clearFaults()
      try await world.makeJobsDue()
      let after = try await world.get(path, as: token, Self.wish)
      #expect(after.status == 200)
      #expect(try after.ids == world.simulator.followers(of: "octocat"))
    }
  }

  @Test func profilesSurvive() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 250))
    options.timeToLive.profile = 0
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let path = "/github/users/octocat"
      let before = try await world.get(path, as: token)
      for (number, effect) in Self.effects.enumerated() {
        try world.simulator.edit("octocat", bio: "\(number)")
        world.simulator.add(Fault(effect, on: "/users/octocat"))
        let answer = try await world.get(path, as: token, Self.wish)
        #expect(answer.status == 200 && answer.body == before.body, "\(effect)")
        #expect(answer.cacheStatus == "magpie; fwd=stale; detail=offline", "\(effect)")
        world.simulator.clearFaults()
        try await world.sql("DELETE FROM magpie.job")
      }
      let after = try await world.get(path, as: token, Self.wish)
      #expect(after.cacheStatus == "magpie; fwd=request")
      #expect(try after.json["bio"]?.string == "\(Self.effects.count - 1)")
    }
  }

  @Test(arguments: ["/github/users/octocat", "/github/users/octocat/followers"])
  func nothingOfThemIsStored(path: String) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world in
      let token = try await world.token()
      for effect in Self.effects {
        world.simulator.add(Fault(effect, on: "/**"))
        let answer = try await world.get(path, as: token, [.prefer: "wait=30"])
        #expect(answer.status == 503, "\(effect)")
        #expect(answer.code == "upstream/invalid-answer", "\(effect)")
        #expect(try #require(try answer.json["retry_after"]?.int) >= 1)
        #expect(!answer.text.contains("undefined"))
        world.simulator.clearFaults()
        try await world.sql("DELETE FROM magpie.job")
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user") == Int64(0))
      #expect(try await world.value("SELECT count(*) FROM magpie.upstream_fact") == Int64(0))
      #expect(try await world.get(path, as: token).status == 200)
    }
  }

  private static func store(_ people: [(id: Int, login: String)], _ world: TestWorld) async throws {
    let items = people.map { #"{"id":\#($0.id),"login":"\#($0.login)"}"# }.joined(separator: ",")
    let service = try #require(UpstreamService(base: "https://api.github.com", userAgent: "test"))
    let answer = UpstreamAnswer(status: 200, fields: [:], body: Array("[\(items)]".utf8), receivedAt: 0)
    let list = GitHub.FollowList(at: "https://api.github.com/user/1/followers")
    guard case .ok(let page, _) = list.reply(to: answer, from: service).outcome else {
      Issue.record("the page is not read")
      return
    }
    try await world.owner.transaction { try await PersonStore.store(page.members, in: $0) }
  }

  /// Two people cannot bear one login; the newer account has it.
  @Test func loginThatIsGivenTwiceIsOnePersons() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      try await Self.store([(3, "other"), (1, "twin"), (2, "Twin"), (1, "twin")], world)
      #expect(try await world.value("SELECT u.id FROM magpie.github_user u WHERE u.login_key = 'twin'") == Int64(2))
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user u WHERE u.login_key IS NULL") == Int64(1))
      // And changing places on one page is no conflict.
      try await Self.store([(2, "other"), (3, "twin")], world)
      #expect(try await world.value("SELECT u.id FROM magpie.github_user u WHERE u.login_key = 'twin'") == Int64(3))
      #expect(try await world.value("SELECT u.id FROM magpie.github_user u WHERE u.login_key = 'other'") == Int64(2))
    }
  }
}
