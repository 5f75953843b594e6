import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// Lists that move while they are read, and lists that seem to lose too many at once.
@Suite struct DriftTests {
  private static let path = "/github/users/octocat/followers?per_page=100"
  private static let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]

  /// The list as it is stored, checked for twins and holes.
  private static func stored(_ world: TestWorld, _ token: String) async throws -> [Int64] {
    let small = try await world.pages(from: "/github/users/octocat/followers?per_page=30", as: token)
    let ids = try small.flatMap { try $0.ids }
    #expect(Set(ids).count == ids.count)
    #expect(small.last?.coverage == "\(ids.count)/\(ids.count)")
    let filtered = try await world.get("\(path)&q=", as: token)
    #expect(filtered["Magpie-Matches"] == "\(ids.count)")
    return ids
  }

  @Test(arguments: [Fault.Effect.insertFirst, .dropFirst], [2, 3])
  func listThatMovesBetweenPagesIsRightAfterTheNextWalk(effect: Fault.Effect, page: Int) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 430))) { world in
      let token = try await world.token()
      world.simulator.add(Fault(effect, on: PathPattern("/user/*/followers?page=\(page)"), times: 1))
      _ = try await world.pages(from: Self.path, as: token)
      try await world.untilIdle()
      let moved = try await Self.stored(world, token)
      let present = try world.simulator.followers(of: "octocat")
      if effect == .insertFirst {
        #expect(present.count == 431)
        #expect(moved == Array(present.dropFirst()))
        #expect(try await world.value("SELECT w.drift FROM magpie.walk w") == Int64(1))
      } else {
        // One has moved to a page that was read before, and the first of all was still there then.
        #expect(present.count == 429)
        #expect(Set(moved).subtracting(present).count == 1)
        #expect(Set(present).subtracting(moved).count == 1)
      }
      _ = try await world.get(Self.path, as: token, Self.wish)
      #expect(try await Self.stored(world, token) == present)
    }
  }

  @Test func whoMovesToADistantPageStandsOnce() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 430))
    options.simulator.newestFirst = false
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let before = try world.simulator.followers(of: "octocat")
      let mover = try #require(world.simulator.login(of: before[7]))
      world.simulator.hold("/user/*/followers?page=5")
      _ = try await world.get(Self.path, as: token)
      await world.simulator.waitUntilHeld()
      try world.simulator.unfollow("octocat", by: mover)
      try world.simulator.follow("octocat", by: mover)
      world.simulator.release()
      try await world.untilIdle()
      // On page 1 and page 5; and who was first on page 5 has moved to page 4 unseen.
      let stored = try await Self.stored(world, token)
      #expect(stored == before.filter { $0 != before[400] })
      _ = try await world.get(Self.path, as: token, Self.wish)
      #expect(try await Self.stored(world, token) == world.simulator.followers(of: "octocat"))
    }
  }

  @Test func massLossIsBelievedWhenASecondWalkAgrees() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world in
      let token = try await world.token()
      _ = try await world.pages(from: Self.path, as: token)
      try await world.untilIdle()
      for id in try world.simulator.followers(of: "octocat").dropFirst(10) {
        try world.simulator.unfollow("octocat", by: try #require(world.simulator.login(of: id)))
      }
      let answer = try await world.get(Self.path, as: token, Self.wish)
      #expect(try answer.ids == world.simulator.followers(of: "octocat"))
      let states: [String] = try await world.owner.query("SELECT w.state FROM magpie.walk w ORDER BY w.id").decode(
        String.self)
      #expect(states == ["complete", "abandoned", "complete"])
      #expect(
        try await world.value("SELECT count(*) FROM magpie.follow_edge e WHERE e.ended_at IS NOT NULL") == Int64(240))
    }
  }

  @Test func oneTimeGlitchRemovesNobody() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world in
      let token = try await world.token()
      _ = try await world.pages(from: Self.path, as: token)
      try await world.untilIdle()
      let expected = try world.simulator.followers(of: "octocat")
      world.simulator.hold("/**")
      try world.simulator.setPrivate(true, "octocat")
      async let refreshed = world.get(Self.path, as: token, Self.wish)
      await world.simulator.waitUntilHeld()
      world.simulator.releaseOne()
      // The empty list asks for the profile, too, to know whose it is.
      await world.simulator.waitUntilHeld()
      world.simulator.releaseOne()
      await world.simulator.waitUntilHeld()
      try world.simulator.setPrivate(false, "octocat")
      let meanwhile = try await world.get(Self.path, as: token, [.cacheControl: "only-if-cached"])
      #expect(try meanwhile.ids == Array(expected[..<100]))
      world.simulator.release()
      let answer = try await refreshed
      #expect(answer.cacheStatus == "magpie; fwd=request")
      #expect(try await Self.stored(world, token) == expected)
      let states: [String] = try await world.owner.query("SELECT w.state FROM magpie.walk w ORDER BY w.id").decode(
        String.self)
      #expect(states == ["complete", "abandoned", "complete"])
      #expect(
        try await world.value("SELECT count(*) FROM magpie.follow_edge e WHERE e.gone_generation IS NOT NULL")
          == Int64(0))
    }
  }

  /// 20 of 100 may leave at once; of 101 leaving 21 is more than a fifth and more than 20.
  @Test(arguments: [(100, 20, 2), (104, 21, 3), (105, 21, 2), (10, 10, 2)])
  func brakeStandsAtAFifthAndTwenty(members: Int, leaving: Int, walks: Int) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: members))) { world in
      let token = try await world.token()
      _ = try await world.pages(from: Self.path, as: token)
      try await world.untilIdle()
      for id in try world.simulator.followers(of: "octocat").prefix(leaving) {
        try world.simulator.unfollow("octocat", by: try #require(world.simulator.login(of: id)))
      }
      _ = try await world.get(Self.path, as: token, Self.wish)
      #expect(try await Self.stored(world, token) == world.simulator.followers(of: "octocat"))
      #expect(try await world.value("SELECT count(*) FROM magpie.walk") == Int64(walks))
    }
  }

  @Test func membersOfAnAbandonedWalkLeaveNoTrace() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 60))) { world in
      let token = try await world.token()
      _ = try await world.get(Self.path, as: token)
      try await world.untilIdle()
      let owner = try world.simulator.id(of: "octocat")
      try await world.sql(
        "SELECT magpie.store_summaries('{7}', '{ghost}', '{true}', '{\"\"}', '{User}', '{\"\"}', '{\"{}\"}', now())")
      let walk: Int64 = try await world.value("SELECT magpie.open_walk(\(owner), 'followers', 0)")
      try await world.sql("SELECT magpie.store_page(\(walk), 1, '{7}', ARRAY['{}'], 'u', NULL, NULL, 'c', false, 1, 1)")
      #expect(try await world.value("SELECT p.outcome FROM magpie.publish_walk(\(walk)) p") == "suspicious")
      #expect(try await Self.stored(world, token).count == 60)
      _ = try await world.get(Self.path, as: token, Self.wish)
      #expect(try await world.value("SELECT count(*) FROM magpie.follow_edge e WHERE e.member_id = 7") == Int64(0))
      #expect(
        try await world.value("SELECT count(*) FROM magpie.follow_edge e WHERE e.ended_at IS NOT NULL") == Int64(0))
    }
  }

  @Test func twoJobsDoNotWalkOneListAtOnce() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world in
      let token = try await world.token()
      let id = try world.simulator.id(of: "octocat")
      world.simulator.hold("/user/*/followers?page=2")
      // Nobody knows yet that these are the same list.
      async let byLogin = world.get(
        "/github/users/octocat/followers?per_page=100&page=3", as: token, [.prefer: "wait=30"])
      async let byID = world.get("/github/user/\(id)/followers?per_page=100&page=3", as: token, [.prefer: "wait=30"])
      await world.simulator.waitUntilHeld()
      world.simulator.release()
      let expected = try world.simulator.followers(of: "octocat")
      #expect(try await byLogin.ids == Array(expected[200...]))
      #expect(try await byID.ids == Array(expected[200...]))
      try await world.untilIdle()
      #expect(try await Self.stored(world, token) == expected)
      #expect(try await world.value("SELECT count(*) FROM magpie.walk w WHERE w.state <> 'complete'") == Int64(0))
    }
  }
}
