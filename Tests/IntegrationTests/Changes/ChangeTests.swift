import HTTP
import JSONText
import Magpie
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// Who came and who left, as clients are told.
@Suite struct ChangeTests {
  private static let path = "/github/users/octocat/followers/changes"

  /// A list that has been seen whole, pages of five.
  private static func run(
    followers: Int, following: Int = 3,
    _ body: @escaping @Sendable (ChangeWorld) async throws -> Void
  ) async throws {
    try await ChangeWorld.run(
      .init("octocat", followers: followers, following: following), body)
  }

  @Test func firstWalkIsTheBaselineAndMakesNoEvents() async throws {
    try await Self.run(followers: 12) { world in
      let answer = try await world.get(Self.path)
      #expect(answer.status == 200)
      let json = try answer.json
      #expect(json["items"]?.elements.map(\.kind) == [])
      #expect(json["checking"]?.int == 0)
      #expect(json["next"]?.kind == .null)
      let baseline = try #require(json["baseline_at"]?.string.flatMap { Timestamp($0) })
      #expect(abs(baseline.microseconds - Instant.now.microseconds) < 60_000_000)
    }
  }

  @Test func whoHasLeftIsToldThoughTheOrdersCannotBeMade() async throws {
    try await Self.run(followers: 12) { world in
      let leaver = try world.simulator.followers(of: "octocat")[7]
      try world.unfollow(leaver)
      try await world.order()
      #expect(try await world.driver.runOne() == .done)
      try await world.world.sql("ALTER FUNCTION magpie.prepare_orders(bigint) RENAME TO lost")
      guard case .retry = try await world.driver.runOne() else {
        Issue.record("the orders were made")
        return
      }
      let login = try #require(world.simulator.login(of: leaver))
      #expect(try await world.told() == ["\(leaver) unfollowed unfollowed \(login)"])
    }
  }

  @Test func whoCameAndWhoLeftIsToldWithTheIntervalBetweenTwoLooks() async throws {
    try await Self.run(followers: 12) { world in
      let start = Instant.now
      let leaver = try world.simulator.followers(of: "octocat")[7]
      try world.simulator.add(.init("newbie", followers: 1, id: 42))
      try world.simulator.follow("octocat", by: "newbie")
      try world.unfollow(leaver)
      let end = Instant.now
      try await world.walk()
      let json = try await world.get(Self.path).json
      let items = try #require(json["items"]).elements.map { $0 }
      #expect(items.map { $0["event"]?.string } == ["unfollowed", "followed"])
      #expect(items.map { $0["reason"]?.string } == ["unfollowed", nil])
      #expect(items.map { $0["user"]?["id"]?.int } == [leaver, 42])
      #expect(items[1]["user"]?["login"]?.string == "newbie" && items[1]["login"]?.string == "newbie")
      #expect(items[1]["user"]?["magpie"]?["favorite"]?.bool == false)
      #expect(items[1]["user"]?["url"]?.string == "\(world.world.servers[0].baseURL)/github/users/newbie")
      for item in items {
        let between = try #require(item["observed_between"]).elements.compactMap { $0.string.flatMap { Timestamp($0) } }
        #expect(between.count == 2)
        #expect(between[0].microseconds <= start.microseconds && between[1].microseconds >= end.microseconds)
      }
      #expect(
        try await world.get("/github/user/583231/followers/changes").json["items"]?.elements.map { $0 }.count == 2)
      // The following list has had no walk.
      #expect(try await world.get("/github/users/octocat/following/changes").status == 504)
    }
  }

  @Test func changesAreReadInPagesAndSinceAnEventOrATime() async throws {
    try await Self.run(followers: 3) { world in
      for number in 1...5 {
        try world.simulator.add(.init("p\(number)", followers: 1, id: Int64(number)))
        try world.simulator.follow("octocat", by: "p\(number)")
        try await world.walk()
      }
      func ids(_ query: String) async throws -> ([Int64], JSONView) {
        let json = try await world.get("\(Self.path)?\(query)").json
        return (try #require(json["items"]).elements.compactMap { $0["user"]?["id"]?.int }, json)
      }
      let (all, json) = try await ids("")
      #expect(all == [5, 4, 3, 2, 1])
      let third = try #require(json["items"]).elements.map { $0 }[2]
      #expect(try await ids("since=\(try #require(third["id"]?.int))").0 == [5, 4])
      // What was recorded at that very moment may not have been seen.
      #expect(try await ids("since=\(try #require(third["recorded_at"]?.string))").0 == [5, 4, 3])
      #expect(try await ids("since=2020-01-01T00:00:00Z").0 == [5, 4, 3, 2, 1])
      #expect(try await ids("since=2999-01-01T00:00:00Z").0 == [])
      var pages: [[Int64]] = []
      var query = "limit=2&since=0"
      for _ in 0..<5 {
        let (page, json) = try await ids(query)
        pages.append(page)
        guard let next = json["next"]?.string else { break }
        query = "limit=2&since=0&cursor=\(next)"
      }
      #expect(pages == [[5, 4], [3, 2], [1]])
    }
  }

  @Test func everyReasonIsTold() async throws {
    try await Self.run(followers: 12) { world in
      // In the order of their numbers, which is that of the checks.
      for (id, name) in [(1, "leaver"), (2, "renamer"), (3, "suspect"), (4, "deleted"), (5, "private")] {
        try world.simulator.add(.init(name, followers: 3, following: 3, id: Int64(id)))
        try world.simulator.follow("octocat", by: name)
      }
      try await world.walk()
      let seen: Int64 = try await world.world.value("SELECT max(e.id) FROM magpie.follow_event e")
      for id in [1, 2, 5] { try world.unfollow(Int64(id)) }
      try world.simulator.rename("renamer", to: "renamed")
      // The login is somebody else's now, who follows: that says nothing about the one who had it.
      try world.simulator.add(.init("renamer", followers: 1, following: 1, id: 6))
      try world.simulator.follow("octocat", by: "renamer")
      try world.simulator.suspend("suspect")
      try world.simulator.delete("deleted")
      try world.simulator.setPrivate(true, "private")
      try await world.walk()
      #expect(
        try await world.told(since: seen) == [
          "6 followed - renamer", "1 unfollowed unfollowed leaver", "2 unfollowed renamed renamer",
          "3 unfollowed deleted_or_suspended suspect", "4 unfollowed deleted_or_suspended deleted",
          "5 unfollowed restricted private",
        ])
      let renamed = try #require(try await world.get(Self.path).json["items"]).elements.first {
        $0["user"]?["id"]?.int == 2
      }
      #expect(renamed?["login"]?.string == "renamer")

      let before: Int64 = try await world.world.value("SELECT max(e.id) FROM magpie.follow_event e")
      try world.simulator.revive("suspect")
      try world.simulator.follow("octocat", by: "leaver")
      try await world.walk()
      #expect(try await world.told(since: before).sorted() == ["1 followed - leaver", "3 followed returned suspect"])
    }
  }

  @Test func whoIsMissedByADriftingWalkHasNotLeft() async throws {
    try await Self.run(followers: 14) { world in
      let list = try world.simulator.followers(of: "octocat")
      // The first of all leaves between the pages, so the sixth moves to a page that was read.
      world.simulator.add(Fault(.dropFirst, on: "/user/*/followers?page=2", times: 1))
      try await world.walk()
      #expect(try await world.told() == [])
      #expect(try await world.edges(of: list[5]) == ["1 -"])
      #expect(world.simulator.count("/users/*/following/*") == 1)
      try await world.walk()
      #expect(try await world.told().map { $0.prefix { $0 != "u" } } == ["\(list[0]) "])
      #expect(try await world.edges(of: list[5]) == ["1 -"])
      // Who has been missed once is still looked after.
      try world.unfollow(list[5])
      try await world.walk()
      #expect(try await world.told().count == 2)
      #expect(try await world.edges(of: list[5]) == ["1 4"])
    }
  }

  @Test func ownerRenamedDuringTheChecksLosesNobody() async throws {
    try await Self.run(followers: 14) { world in
      let list = try world.simulator.followers(of: "octocat")
      world.simulator.add(Fault(.dropFirst, on: "/user/*/followers?page=2", times: 1))
      try await world.order()
      try await world.driver.runOne()
      try await world.driver.meanwhile("/users/*/following/*", in: world.world) {
        try world.simulator.rename("octocat", to: "octodog")
      }
      #expect(world.simulator.count("/users/*/following/octocat") == 1)
      #expect(world.simulator.count("/users/*/following/octodog") == 1)
      #expect(try await world.told() == [])
      #expect(try await world.edges(of: list[5]) == ["1 -"])
    }
  }

  /// As long as the owner is suspended nobody can be seen to follow them, whether that is noticed or the job must wait then.
  @Test(arguments: [true, false])
  func ownerWhoIsAwayDuringTheChecksLosesNobody(isPutOff: Bool) async throws {
    try await Self.run(followers: 14) { world in
      let list = try world.simulator.followers(of: "octocat")
      world.simulator.add(Fault(.dropFirst, on: "/user/*/followers?page=2", times: 1))
      try await world.order()
      try await world.driver.runOne()
      try world.simulator.suspend("octocat")
      if isPutOff { world.simulator.add(Fault(.secondaryLimit, on: "/user/583231", times: 1)) }
      try await world.driver.runOne()
      #expect(world.simulator.count("/users/*/following/octocat") == 1)
      let findings: Int64 = try await world.world.value(
        "SELECT count(*) FROM magpie.follow_check c WHERE c.finding IS NOT NULL")
      #expect(findings == 0)
      try world.simulator.revive("octocat")
      try await world.driver.runAll()
      #expect(try await world.told() == [])
      // The next walk goes on from there: only the first of all has left.
      try await world.walk()
      #expect(try await world.told().map { $0.prefix { $0 != "u" } } == ["\(list[0]) "])
      #expect(try await world.edges(of: list[5]) == ["1 -"])
    }
  }

  @Test func refusedChecksGoOnWhereTheyWere() async throws {
    try await Self.run(followers: 14) { world in
      for id in try world.simulator.followers(of: "octocat").prefix(3) { try world.unfollow(id) }
      try await world.order()
      try await world.driver.runOne()
      world.simulator.resetStatistics()
      world.simulator.add(Fault(.secondaryLimit, on: "/users/*/following/*", times: 1, after: 1))
      try await world.driver.runOne()
      // Nobody is told of before all are looked at.
      #expect(try await world.told() == [])
      #expect(try await world.get(Self.path).json["checking"]?.int == 3)
      try await world.driver.runAll()
      #expect(try await world.told().count == 3)
      #expect(world.simulator.count("/users/*/following/*") == 4)
    }
  }

  @Test func massDisappearanceIsToldOnlyWhenASecondWalkAgrees() async throws {
    try await Self.run(followers: 60) { world in
      for id in try world.simulator.followers(of: "octocat").prefix(30) { try world.unfollow(id) }
      try await world.order()
      world.simulator.hold("/user/*/followers?page=6", times: 2)
      async let walked: Void = world.driver.runAll()
      await world.simulator.waitUntilHeld()
      world.simulator.releaseOne()
      await world.simulator.waitUntilHeld()
      // The first walk has ended, and nobody has left yet.
      #expect(try await world.world.value("SELECT count(*) FROM magpie.walk w WHERE w.state = 'abandoned'") == Int64(1))
      #expect(try await world.world.value("SELECT count(*) FROM magpie.follow_check") == Int64(0))
      world.simulator.release()
      try await walked
      #expect(try await world.told().count == 30)
    }
  }

  /// GitHub shows a part of a list for some minutes, and the same part twice, while the profile counts everybody.
  @Test func partOfAListIsNotTheListThoughTwoWalksAgree() async throws {
    try await Self.run(followers: 60) { world in
      let list = try world.simulator.followers(of: "octocat")
      try await world.world.sql("UPDATE magpie.listing SET full_at = NULL")
      world.simulator.add(Fault(.shortList, on: "/user/*/followers"))
      try await world.order()
      guard case .retry(let rest, _)? = try await world.driver.runOne() else {
        Issue.record("the list is not left alone")
        return
      }
      #expect(try #require(rest) >= .seconds(60))
      let walks = try await world.world.owner.query("SELECT w.state FROM magpie.walk w ORDER BY w.id")
      let states: [String] = try walks.decode(String.self)
      #expect(states == ["complete", "abandoned", "abandoned"])
      #expect(try await world.get("/github/users/octocat/followers?per_page=100").ids == list)
      world.simulator.clearFaults()
      try await world.driver.runAll()
      #expect(try await world.get("/github/users/octocat/followers?per_page=100").ids == list)
      #expect(try await world.told() == [])
      #expect(world.simulator.count("/users/*/following/*") == 0)
    }
  }

  /// Should the counter be wrong for good, the list is believed in the end.
  @Test func walksThatAgreeForLongAreBelievedWhateverTheCounterSays() async throws {
    try await Self.run(followers: 60) { world in
      try await world.world.sql("UPDATE magpie.listing SET full_at = NULL")
      // Of sixty the profile goes on counting those who are suspended.
      let suspended = try world.simulator.followers(of: "octocat").prefix(30)
      for id in suspended { try world.simulator.suspend(try #require(world.simulator.login(of: id))) }
      try await world.walk()
      #expect(try await world.world.value("SELECT count(*) FROM magpie.walk w WHERE w.state = 'abandoned'") == Int64(5))
      #expect(try await world.told().count == 30)
      #expect(
        try await world.get("/github/users/octocat/followers?per_page=100").ids
          == world.simulator.followers(of: "octocat"))
    }
  }

  @Test func secondWalkThatShowsOthersIsNotAgreement() async throws {
    try await Self.run(followers: 100) { world in
      let list = try world.simulator.followers(of: "octocat")
      for id in list.suffix(50) { try world.unfollow(id) }
      try await world.order()
      world.simulator.hold("/user/*/followers?page=4", times: 2)
      async let walked = world.driver.runOne()
      await world.simulator.waitUntilHeld()
      world.simulator.releaseOne()
      await world.simulator.waitUntilHeld()
      // Fifty were there in the first walk, and twenty are in the second.
      for id in list[20..<50] { try world.unfollow(id) }
      world.simulator.release()
      guard case .retry? = try await walked else {
        Issue.record("the list is not left alone")
        return
      }
      #expect(try await world.get("/github/users/octocat/followers?per_page=100").ids == list)
      #expect(try await world.told() == [])
      // The next one agrees with that, and so does the counter.
      try await world.driver.runAll()
      #expect(try await world.get("/github/users/octocat/followers?per_page=100").ids == Array(list.prefix(20)))
      #expect(try await world.told().count == 80)
    }
  }

  @Test func historyCountsWhoCameAndWhoLeftDayByDay() async throws {
    try await Self.run(followers: 12) { world in
      let path = "/github/users/octocat/followers/history"
      try world.simulator.add(.init("newbie", followers: 1, id: 42))
      try world.simulator.follow("octocat", by: "newbie")
      for id in try world.simulator.followers(of: "octocat").suffix(2) { try world.unfollow(id) }
      try await world.walk()
      try await world.world.sql("UPDATE magpie.follow_day SET day = date '2024-02-29'")
      try world.unfollow(42)
      try await world.walk()
      let today = String(Timestamp(microseconds: Instant.now.microseconds).description.prefix(10))
      func days(_ query: String) async throws -> [String] {
        let json = try await world.get("\(path)?\(query)").json
        return try #require(json["days"]).elements.map { day in
          "\(day["date"]?.string ?? "") \(["count", "gained", "lost"].map { day[$0]?.int ?? -1 })"
        }
      }
      #expect(try await days("") == ["\(today) [10, 0, 1]"])
      #expect(try await days("from=2024-01-01") == ["2024-02-29 [11, 1, 2]", "\(today) [10, 0, 1]"])
      #expect(try await days("from=2024-02-29&to=2024-02-29") == ["2024-02-29 [11, 1, 2]"])
      #expect(try await days("from=2024-03-01&to=2024-03-31") == [])
    }
  }

  @Test func nonsenseHasOneClearAnswer() async throws {
    try await Self.run(followers: 1) { world in
      let history = "/github/users/octocat/followers/history"
      for (query, pointer) in [
        ("\(Self.path)?since=yesterday", "/since"), ("\(Self.path)?since=-1", "/since"),
        ("\(Self.path)?limit=0", "/limit"),
        ("\(Self.path)?since=2026-02-30T00:00:00Z", "/since"), ("\(history)?from=2026-02-30", "/from"),
        ("\(history)?to=tomorrow", "/to"), ("\(history)?from=2026-01-02&to=2026-01-01", "/from"),
        ("\(history)?from=2015-12-25&to=2026-01-01", "/from"),
      ] {
        let answer = try await world.get(query)
        #expect(answer.status == 422 && answer.pointers == [pointer], "\(query)")
      }
      #expect(try await world.get("\(history)?from=2015-12-26&to=2026-01-01").status == 200)
      #expect(try await world.get("\(Self.path)?cursor=x").code == "request/invalid-cursor")
      #expect(try await world.get("\(Self.path)?limit=201").status == 200)
      #expect(try await world.world.get(Self.path, as: nil).status == 401)
      #expect(try await world.get("/github/users/a.b/followers/changes").status == 404)
      #expect(try await world.get("/github/users/stranger/followers/changes").status == 504)
    }
  }

  @Test func favoritesInChangesAreTheAskersOwn() async throws {
    try await Self.run(followers: 3) { world in
      try world.simulator.add(.init("newbie", followers: 1, id: 42))
      try world.simulator.follow("octocat", by: "newbie")
      try await world.walk()
      let bob = try await world.world.token(of: "bob")
      let put = try await world.world.send(.put, "/v1/favorites/github-user/42", as: bob)
      #expect(put.status == 201)
      func isFavorite(_ token: String) async throws -> Bool? {
        let answer = try await world.world.get(Self.path, as: token, [.cacheControl: "only-if-cached"])
        return try answer.json["items"]?.elements.map { $0 }.first?["user"]?["magpie"]?["favorite"]?.bool
      }
      #expect(try await isFavorite(bob) == true)
      #expect(try await isFavorite(world.token) == false)
    }
  }
}
