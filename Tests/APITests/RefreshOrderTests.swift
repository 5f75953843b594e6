import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

@testable import Magpie

/// `POST /github/users/{login}/refresh`.
@Suite struct RefreshOrderTests {
  private static let path = "/github/users/octocat/refresh"

  private static func options() -> TestWorld.Options {
    TestWorld.Options(.init("octocat", followers: 250, following: 3))
  }

  @Test func partsAreOrderedOnceEachAndCanBeWatched() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let answer = try await world.send(
        .post, Self.path, as: token, body: #"{"what":["followers","profile","followers"]}"#)
      #expect(answer.status == 202, "\(answer.text)")
      let jobs = Array(try #require(try answer.json["jobs"]).elements)
      #expect(jobs.map { $0["what"]?.string } == ["followers", "profile"])
      for (job, kind) in zip(jobs, ["github-followers", "github-user"]) {
        let shown = try await world.get(try #require(job["url"]?.string), as: token)
        #expect(shown.status == 200)
        #expect(try shown.json["kind"]?.string == kind)
        #expect(try shown.json["id"]?.int == job["job"]?.int)
        // Others do not see what they have not asked for.
        let other = try await world.token(of: "bob")
        #expect(try await world.get(try #require(job["url"]?.string), as: other).status == 404)
      }
      try await world.untilIdle()
      #expect(try await world.value("SELECT member_count FROM magpie.listing WHERE kind = 'followers'") == Int64(250))
      let count = world.simulator.requestCount
      // By id it is the same person and the same jobs; fresh or not, it is asked for anew.
      let id: Int64 = try await world.value("SELECT id FROM magpie.github_user WHERE login = 'octocat'")
      let gate = world.simulator.hold("/**")
      let first = try await world.send(
        .post, "/github/user/\(id)/refresh", as: token, body: #"{"what":["profile"]}"#)
      let second = try await world.send(.post, Self.path, as: token, body: #"{"what":["profile"]}"#)
      #expect(first.status == 202 && second.status == 202)
      #expect(
        try first.json["jobs"]?.elements.map { $0["job"]?.int } == second.json["jobs"]?.elements.map { $0["job"]?.int })
      world.simulator.release(gate)
      try await world.untilIdle()
      #expect(world.simulator.requestCount > count)
    }
  }

  @Test func aDryRunTellsTheCostAndOrdersNothing() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let body = #"{"what":["profile","followers","following"]}"#
      let unknown = try await world.send(.post, Self.path + "?dry_run=true", as: token, body: body)
      #expect(unknown.status == 200)
      // Nobody knows yet how long the lists are.
      #expect(try unknown.json["what"]?.elements.map { $0["requests"]?.int } == [1, nil, nil])
      #expect(try unknown.json["requests"]?.isNull == true)
      #expect(try unknown.json["seconds"]?.isNull == true)
      #expect(world.simulator.requestCount == 0)

      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      // The answer comes when the profile is stored, which is before its job is put away.
      try await world.untilIdle()
      let known = try await world.send(.post, Self.path + "?dry_run=true", as: token, body: body)
      #expect(try known.json["what"]?.elements.map { $0["requests"]?.int } == [1, 3, 1])
      #expect(try known.json["requests"]?.int == 5)
      #expect(try known.json["seconds"]?.int == 2)
      let budget = try #require(try known.json["budget"])
      // 5 percent of the window are left to those who wait.
      #expect(budget["class"]?.string == "soon")
      #expect(budget["limit"]?.int == 4_750)
      #expect(budget["remaining"]?.int == 4_749)
      #expect(budget["after"]?.int == 4_744)
      #expect(world.simulator.requestCount == 1)
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      // As it was told, so it comes.
      let order = try await world.send(.post, Self.path, as: token, body: #"{"what":["followers","following"]}"#)
      #expect(order.status == 202)
      try await world.untilIdle()
      // A list without links costs a look at the profile, too, which is free as long as nothing has changed.
      let budgets = try await world.get("/github/rate_limit", as: token)
      #expect(try budgets.json["rate"]?["used"]?.int == 5)
    }
  }

  @Test func theCostOfThingsIsToldByTheProfileOrByTheLastReading() async throws {
    var user = Simulator.Configuration.User("octocat", followers: 3)
    user.repositories = 120
    user.gists = 30
    try await TestWorld.run(TestWorld.Options(user)) { world in
      let token = try await world.token()
      func requests() async throws -> [Int64?] {
        let answer = try await world.send(
          .post, Self.path + "?dry_run=true", as: token, body: #"{"what":["repos","gists"]}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return try answer.json["what"]?.elements.map { $0["requests"]?.int } ?? []
      }
      #expect(try await requests() == [nil, nil])
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      #expect(try await requests() == [2, 1])
      // Counters that are none: what was read last tells as much.
      try await world.sql(
        """
        UPDATE magpie.github_user u SET profile = regexp_replace(u.profile, '"public_(repos|gists)":[0-9]+', '"public_\\1":"many"', 'g')
         WHERE u.login = 'octocat'
        """)
      #expect(try await requests() == [nil, nil])
      #expect(try await world.get("/github/users/octocat/repos", as: token).status == 200)
      #expect(try await world.get("/github/users/octocat/gists", as: token).status == 200)
      // The first page is shown before the list is whole.
      try await world.untilIdle()
      #expect(try await requests() == [2, 1])
    }
  }

  @Test func forecastsCountTheWindowsThatAreWaitedFor() {
    let allowance = Budgets.Allowance(resource: "core", limit: 100, remaining: 10, reset: 1_600)
    func forecast(_ requests: Int64) -> RefreshPlan.Forecast {
      RefreshPlan.forecast(requests: requests, allowance: allowance, window: 3_600, now: 1_000)
    }
    #expect(forecast(10) == .init(remaining: 0, seconds: 2.5))
    #expect(forecast(11) == .init(remaining: 99, seconds: 600))
    #expect(forecast(110) == .init(remaining: 0, seconds: 600))
    #expect(forecast(111) == .init(remaining: 99, seconds: 4_200))
    let none = Budgets.Allowance(resource: "core", limit: 0, remaining: 0, reset: 1_000)
    #expect(
      RefreshPlan.forecast(requests: 1, allowance: none, window: 3_600, now: 1_000)
        == .init(remaining: 0, seconds: nil))
  }

  @Test func badOrdersAreRefusedWithTheAllowedWords() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      for body in [#"{"what":["everything"]}"#, #"{"what":[]}"#] {
        let answer = try await world.send(.post, Self.path, as: token, body: body)
        #expect(answer.status == 422)
        #expect(answer.code == "request/invalid-body")
        #expect(answer.text.contains("profile, followers, following"))
        #expect(answer.pointers == ["/what"])
      }
      for (body, pointer) in [
        ("{}", "/what"), (#"{"what":"profile"}"#, "/what"), (#"{"what":[1]}"#, "/what/0"),
        (#"{"what":["profile"],"now":true}"#, "/now"),
      ] {
        let answer = try await world.send(.post, Self.path, as: token, body: body)
        #expect(answer.status == 422)
        #expect(answer.pointers == [pointer])
      }
      #expect(try await world.send(.post, Self.path, as: token, body: "{").status == 400)
      #expect(
        try await world.send(.post, Self.path + "?dry_run=yes", as: token, body: #"{"what":["profile"]}"#).status == 422
      )
      #expect(try await world.send(.post, Self.path, as: nil, body: #"{"what":["profile"]}"#).status == 401)
      #expect(try await world.get(Self.path, as: token).status == 405)
      let nobody = "/github/users/nobody-here"
      #expect(try await world.get(nobody, as: token).status == 404)
      let answer = try await world.send(.post, nobody + "/refresh", as: token, body: #"{"what":["profile"]}"#)
      #expect(answer.status == 404 && answer.code == "github/user-not-found")
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
    }
  }
}
