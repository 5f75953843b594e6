import HTTP
import JSONText
import Magpie
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// Lists that private profiles hide, and what can be said of them: nobody has left, and nobody has come.
@Suite struct PrivateListTests {
  private static let path = "/github/users/octocat/followers/changes"

  /// A list that has been seen, pages of five.
  private static func run(
    followers: Int, following: Int = 3, isPrivate: Bool = false,
    _ body: @escaping @Sendable (ChangeWorld) async throws -> Void
  ) async throws {
    try await ChangeWorld.run(
      .init("octocat", followers: followers, following: following), isPrivate: isPrivate, body)
  }

  private static func newcomers(_ names: String..., in world: ChangeWorld) throws {
    for (number, name) in names.enumerated() {
      try world.simulator.add(.init(name, followers: 1, id: Int64(42 + number)))
      try world.simulator.follow("octocat", by: name)
    }
  }

  private static func state(_ world: ChangeWorld) async throws -> String {
    try await world.world.value("SELECT u.state FROM magpie.github_user u WHERE u.id = 583231")
  }

  /// Of a private profile nobody can say who follows it: the first walk that shows anybody is the baseline.
  @Test func privateAtTheFirstLookIsNoBaselineOfNobody() async throws {
    try await Self.run(followers: 30, isPrivate: true) { world in
      try await world.walk()
      let before = try await world.get(Self.path)
      #expect(before.status == 200)
      #expect(try before.json["baseline_at"]?.kind == .null)
      // Whoever knows nobody looks the same.
      #expect(try await Self.state(world) == "ok")
      try world.simulator.setPrivate(false, "octocat")
      try await world.walk()
      #expect(try await world.get("/github/users/octocat/followers?per_page=100").ids.count == 30)
      #expect(try await world.told() == [])
      let gained: Int64 = try await world.world.value(
        "SELECT coalesce(sum(d.gained), 0)::bigint FROM magpie.follow_day d")
      #expect(gained == 0)
      #expect(try await world.get(Self.path).json["baseline_at"]?.string != nil)
      try Self.newcomers("newbie", in: world)
      try await world.walk()
      #expect(try await world.told() == ["42 followed - newbie"])
    }
  }

  /// Somebody who knows nobody at all looks private, and is believed to have their first follower when that one comes alone.
  @Test func firstFollowerOfSomebodyWhoKnewNobodyIsTold() async throws {
    try await Self.run(followers: 0, following: 0) { world in
      let start = Instant.now
      try Self.newcomers("newbie", in: world)
      try await world.walk()
      #expect(try await world.told() == ["42 followed - newbie"])
      let from: Instant = try await world.world.value("SELECT e.observed_from FROM magpie.follow_event e")
      #expect(from < start)
      #expect(try await world.world.value("SELECT sum(d.gained)::bigint FROM magpie.follow_day d") == Int64(1))
    }
  }

  /// Who follows others and is followed by nobody is not private: that is a list to compare with.
  @Test func firstFollowersOfSomebodyWhoFollowsOthersAreTold() async throws {
    try await Self.run(followers: 0, following: 3) { world in
      #expect(try await world.get(Self.path).json["baseline_at"]?.string != nil)
      try Self.newcomers("newbie", "second", in: world)
      try await world.walk()
      #expect(try await world.told().sorted() == ["42 followed - newbie", "43 followed - second"])
    }
  }

  /// GitHub answers with nobody at the very first look, and the profile knows better.
  @Test func emptyFirstWalkThatTheCounterContradictsIsNoBaseline() async throws {
    try await Self.run(followers: 0, following: 3) { world in
      try await world.world.sql("DELETE FROM magpie.list_watch")
      try Self.newcomers("newbie", "second", in: world)
      world.simulator.add(Fault(.shortList, on: "/user/*/followers", times: 1))
      try world.simulator.unfollow("octocat", by: "second")
      // Half of one is nobody.
      try await world.walk()
      #expect(try await world.get("/github/users/octocat/followers").text == "[]")
      #expect(try await world.world.value("SELECT count(*) FROM magpie.list_watch") == Int64(0))
      try world.simulator.follow("octocat", by: "second")
      try await world.walk()
      #expect(try await world.get("/github/users/octocat/followers").ids.count == 2)
      #expect(try await world.told() == [])
    }
  }

  /// A favorite's state is news on all devices: it changes when something has changed, however often anybody looks.
  @Test(arguments: [0, 3])
  func privateProfileIsRestrictedOnceAndUntilItIsNot(following: Int) async throws {
    try await Self.run(followers: 12, following: following) { world in
      try await world.walk(.following)
      let favorite = "/v1/favorites/github-user/583231"
      #expect(try await world.world.send(.put, favorite, as: world.token).status == 201)
      func version() async throws -> Int64 {
        try await world.world.value("SELECT a.version FROM magpie.account a WHERE a.username = 'ann'")
      }
      func state() async throws -> String? {
        try await world.world.get(favorite, as: world.token).json["state"]?.string
      }
      let start = try await version()
      try world.simulator.setPrivate(true, "octocat")
      for round in 0..<2 {
        try await world.walk()
        try await world.walk(.following)
        // Another profile, and so a whole one and not an unchanged one.
        try world.simulator.edit("octocat", bio: "Round \(round).")
      }
      try await world.walk()
      #expect(try await state() == "restricted")
      #expect(try await version() == start + 1)
      try world.simulator.setPrivate(false, "octocat")
      for _ in 0..<2 {
        try await world.walk()
        try await world.walk(.following)
      }
      #expect(try await state() == "ok")
      #expect(try await version() == start + 2)
    }
  }

  @Test func privateProfileIsNotAMassUnfollow() async throws {
    try await Self.run(followers: 30) { world in
      let list = try world.simulator.followers(of: "octocat")
      let start = Instant.now
      try world.simulator.setPrivate(true, "octocat")
      for _ in 0..<2 { try await world.walk() }
      #expect(try await world.get("/github/users/octocat/followers").text == "[]")
      #expect(try await world.told() == [])
      #expect(world.simulator.count("/users/*/following/*") == 0)
      #expect(
        try await world.world.value("SELECT u.state FROM magpie.github_user u WHERE u.id = 583231") == "restricted")
      try world.unfollow(list[3])
      try world.simulator.setPrivate(false, "octocat")
      try await world.walk()
      #expect(try await world.get("/github/users/octocat/followers?per_page=100").ids == list.filter { $0 != list[3] })
      #expect(try await world.told().count == 1)
      #expect(try await world.edges(of: list[3]) == ["1 4"])
      let from: Instant = try await world.world.value("SELECT e.observed_from FROM magpie.follow_event e")
      #expect(from < start)
      #expect(try await world.world.value("SELECT u.state FROM magpie.github_user u WHERE u.id = 583231") == "ok")
    }
  }
}
