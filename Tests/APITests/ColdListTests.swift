import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// The first walk through a list, while somebody reads it.
@Suite struct ColdListTests {
  private static let path = "/github/users/octocat/followers"

  @Test func firstPageComesWhileTheWalkStillRuns() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1_240))) { world in
      let token = try await world.token()
      let expected = try world.simulator.followers(of: "octocat")
      world.simulator.hold("/user/*/followers?page=3")
      let first = try await world.get("\(Self.path)?per_page=100", as: token)
      #expect(first.status == 200)
      #expect(try first.ids == Array(expected[..<100]))
      #expect(first.cacheStatus == "magpie; hit; detail=partial")
      #expect(first.coverage == "100/1300" || first.coverage == "200/1300")
      #expect(Set(first.links.keys) == ["next"])
      #expect(first["Magpie-Job"]?.hasPrefix("/v1/jobs/") == true)
      await world.simulator.waitUntilHeld()
      let second = try await world.get(try #require(first.links["next"]), as: token)
      #expect(try second.ids == Array(expected[100..<200]))
      #expect(second.coverage == "200/1300")
      #expect(Set(second.links.keys) == ["next", "prev", "first"])
      // A filter looks at what there is.
      let filtered = try await world.get("\(Self.path)?q=&per_page=100", as: token)
      #expect(filtered["Magpie-Matches"] == "200")

      async let third = world.get(try #require(second.links["next"]), as: token)
      world.simulator.release()
      #expect(try await third.ids == Array(expected[200..<300]))
      try await world.untilIdle()
      let whole = try await world.get("\(Self.path)?per_page=100", as: token)
      #expect(whole.cacheStatus == "magpie; hit")
      #expect(whole.coverage == "1240/1240")
      #expect(whole["Magpie-Job"] == nil)
      // Reading by login and by id while the walk ran was one walk.
      #expect(world.simulator.requestCount == 13)
      #expect(try await world.value("SELECT count(*) FROM magpie.walk") == Int64(1))
    }
  }

  @Test(arguments: [100, 30, 7])
  func followingNextShowsEverybodyOnceInTheUpstreamsOrder(size: Int) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1_240))) { world in
      let token = try await world.token()
      let expected = try world.simulator.followers(of: "octocat")
      let pages = try await world.pages(from: "\(Self.path)?per_page=\(size)", as: token)
      #expect(try pages.flatMap { try $0.ids } == expected)
      #expect(pages.count == (1_240 + size - 1) / size)
      let last = try #require(pages.last)
      #expect(Set(last.links.keys) == ["prev", "first"])
      #expect(last.coverage == "1240/1240")
      #expect(world.simulator.requestCount == 13)

      let beyond = try await world.get("\(Self.path)?per_page=\(size)&page=\(pages.count + 5)", as: token)
      #expect(beyond.status == 200)
      #expect(beyond.text == "[]")
      #expect(Set(beyond.links.keys) == ["first", "last", "prev"])
      #expect(beyond.links["prev"]?.contains("&page=\(pages.count)&") == true)
      #expect(beyond.links["last"] == beyond.links["prev"])
    }
  }

  /// A look at a filtered list takes what there is; whoever goes on from there waits for the whole.
  @Test func furtherPagesOfAFilterAreOfTheWholeList() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1_240))) { world in
      let token = try await world.token()
      let expected = try world.simulator.followers(of: "octocat")
      world.simulator.hold("/user/*/followers?page=3")
      _ = try await world.get(Self.path, as: token)
      await world.simulator.waitUntilHeld()
      let path = "\(Self.path)?per_page=100&sort=login"
      let look = try await world.get(path, as: token, [.prefer: "wait=0"])
      #expect(try look.ids.count == 100)
      #expect(look.cacheStatus == "magpie; hit; detail=partial")
      #expect(Set(look.links.keys) == ["next"])
      for further in ["\(path)&page=2", "\(path)&cursor="] {
        let answer = try await world.get(further, as: token, [.prefer: "wait=0"])
        #expect(answer.status == 504 && answer.code == "mirror/not-ready", "\(further)")
      }
      let beginnings = ["\(path)&cursor=", try #require(look.links["next"])]
      async let whole = world.pages(from: beginnings[0], as: token)
      async let rest = world.pages(from: beginnings[1], as: token)
      world.simulator.release()
      let ids = try (try await whole).flatMap { try $0.ids }
      #expect(ids.count == 1_240 && Set(ids) == Set(expected))
      #expect(try (try await rest).flatMap { try $0.ids } == Array(ids[100...]))
    }
  }

  @Test func filterFindsAFollowerOfTheLastPage() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1_240))) { world in
      let token = try await world.token()
      let last = try #require(try world.simulator.followers(of: "octocat").last)
      let login = try #require(world.simulator.login(of: last))
      _ = try await world.get("\(Self.path)?page=13&per_page=100", as: token)
      try await world.untilIdle()
      let found = try await world.get("\(Self.path)?q=\(PercentEncoding.encode(login.uppercased()))", as: token)
      #expect(try found.ids == [last])
      #expect(found["Magpie-Matches"] == "1")
      #expect(found.links.isEmpty)
      #expect(world.simulator.requestCount == 13)
    }
  }

  @Test func manyAtOnceOverTwoServersAreOneWalk() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1_240))
    options.servers = 2
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let expected = try Array(world.simulator.followers(of: "octocat")[..<30])
      let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
        for number in 0..<50 { group.addTask { try await world.get(Self.path, as: token, to: number % 2) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.count == 50)
      #expect(answers.allSatisfy { $0.status == 200 })
      #expect(try answers.allSatisfy { try $0.ids == expected })
      try await world.untilIdle()
      #expect(world.simulator.requestCount == 13)
      #expect(try await world.value("SELECT count(*) FROM magpie.walk") == Int64(1))
    }
  }

  @Test func listOfNobodyIsEmptyAndWhole() async throws {
    try await TestWorld.run(.init(.init("lonely", followers: 0))) { world in
      let token = try await world.token()
      let answer = try await world.get("/github/users/Lonely/followers", as: token)
      #expect(answer.status == 200)
      #expect(answer.text == "[]")
      #expect(answer.coverage == "0/0")
      #expect(answer.links.isEmpty)
      // No link names the owner, so the profile is asked for as well.
      #expect(world.simulator.requestCount == 2)
    }
  }
}
