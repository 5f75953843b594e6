import HTTP
import Postgres
import Testing
import UpstreamSimulator

/// Erasing people for good.
@Suite struct ForgetTests {
  private static let path = "/github/users/octocat/followers?per_page=100"

  /// Tables of the schema in which a text stands anywhere.
  private static func traces(of text: String, _ world: TestWorld) async throws -> [String] {
    let tables: [String] = try await world.owner.query(
      "SELECT t.tablename FROM pg_tables t WHERE t.schemaname = 'magpie' ORDER BY t.tablename"
    ).decode(String.self)
    var found: [String] = []
    for table in tables {
      let rows = try await world.owner.query(
        "SELECT count(*) FROM magpie.\(unsafe: table) t WHERE t::text LIKE \("%\(text)%")")
      if try rows[0].decode(Int64.self) > 0 { found.append(table) }
    }
    return found
  }

  @Test func forgottenMemberLeavesNoTraceAndDoesNotComeBack() async throws {
    try await ChangeWorld.run(.init("octocat", followers: 12, following: 3)) { world in
      try world.simulator.add(.init("forget-me", followers: 2, id: 4_242_424_242))
      try world.simulator.follow("octocat", by: "forget-me")
      try await world.walk(.following)
      try await world.walk()
      let before = try await world.get(Self.path).ids
      #expect(before.contains(4_242_424_242))
      #expect(try await Self.traces(of: "forget-me", world.world).count > 2)
      let known: Bool = try await world.world.value("SELECT admin.forget_subject('github-user', 4242424242)")
      #expect(known)
      let rest = before.filter { $0 != 4_242_424_242 }
      for round in 0..<3 {
        // Before the next walk, after one that changes nothing, and after one that reads the pages anew.
        if round == 2 {
          try world.unfollow(rest[0])
          try await world.world.sql("UPDATE magpie.listing SET full_at = NULL")
        }
        if round > 0 { try await world.walk() }
        let list = try await world.get(Self.path)
        let expected = round == 2 ? Array(rest.dropFirst()) : rest
        #expect(try list.ids == expected)
        #expect(list.coverage == "\(expected.count)/\(expected.count)")
        let small = try await world.world.pages(from: "/github/users/octocat/followers?per_page=5", as: world.token)
        #expect(try small.flatMap { try $0.ids } == expected)
        #expect(try await world.get("\(Self.path)&sort=login")["Magpie-Matches"] == "\(expected.count)")
        #expect(try await Self.traces(of: "forget-me", world.world) == [])
        #expect(try await Self.traces(of: "4242424242", world.world) == [])
      }
      // Nobody is told that they have left.
      #expect(try await world.told().map { $0.prefix { $0 != " " } } == ["\(rest[0])"])
    }
  }

  @Test func forgottenOwnerIsNobody() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 30), .init("other", followers: 1))) { world in
      let token = try await world.token()
      let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]
      for path in ["/github/users/octocat", Self.path, "/github/users/other"] {
        #expect(try await world.get(path, as: token).status == 200)
      }
      try await world.untilIdle()
      let known: Bool = try await world.value("SELECT admin.forget_subject('github-user', '583231')")
      #expect(known)
      #expect(try await Self.traces(of: "octocat", world) == [])
      for table in ["listing", "walk", "walk_page", "follow_edge", "follow_day", "list_order_page"] {
        #expect(try await world.value("SELECT count(*) FROM magpie.\(unsafe: table)") == Int64(0), "\(table)")
      }
      for path in ["/github/users/octocat", Self.path, "/github/user/583231", "/github/user/583231/followers"] {
        #expect(try await world.get(path, as: token, wish).status == 404, "\(path)")
      }
      try await world.untilIdle()
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user u WHERE u.id = 583231") == Int64(0))
      #expect(try await world.value("SELECT count(*) FROM magpie.listing") == Int64(0))
      #expect(try await world.get("/github/users/other", as: token).status == 200)
      // An administrator may change their mind.
      try await world.sql("DELETE FROM magpie.forgotten")
      #expect(try await world.get(Self.path, as: token, wish).ids.count == 30)
    }
  }

  /// Repositories and gists have numbers of their own, and an organization is an account.
  @Test func onlyAccountsAreForgottenWhateverHasTheSameNumber() async throws {
    var user = Simulator.Configuration.User("octocat", followers: 3)
    user.repositories = 3
    user.gists = 3
    user.organizations = 2
    try await TestWorld.run(TestWorld.Options(user)) { world in
      let token = try await world.token()
      let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]
      func ids(_ list: String, _ fields: Fields = [:]) async throws -> [String] {
        let answer = try await world.get("/github/users/octocat/\(list)", as: token, fields)
        #expect(answer.status == 200, "\(list) \(answer.text)")
        return try answer.json.elements.compactMap { $0["id"]?.string ?? $0["id"]?.int.map(String.init) }
      }
      let (repos, gists, orgs) = (try await ids("repos"), try await ids("gists"), try await ids("orgs"))
      #expect(repos.count == 3 && gists.count == 3 && orgs.count == 2)
      try await world.untilIdle()
      for number in [repos[0], "1", orgs[0]] {
        let _: Bool = try await world.value("SELECT admin.forget_subject('github-user', \(Int64(number)))")
      }
      // Once as it is stored, and once as it is read anew.
      for fields in [[:], wish] as [Fields] {
        try await world.sql("UPDATE magpie.listing SET full_at = NULL")
        #expect(try await ids("repos", fields) == repos)
        #expect(try await ids("gists", fields) == gists)
        #expect(try await ids("orgs", fields) == [orgs[1]])
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      // The things of a forgotten person are nobody's.
      let _: Bool = try await world.value("SELECT admin.forget_subject('github-user', 583231)")
      for list in ["repos", "gists", "orgs"] {
        #expect(try await world.get("/github/users/octocat/\(list)", as: token, wish).status == 404, "\(list)")
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user u WHERE u.id = 583231") == Int64(0))
    }
  }

  @Test func mistakesOfForgettingAndExplainingAreTold() async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    try await TestWorld.run(options) { world in
      let admin = try await TestWorld.database(world.url, role: "magpie_admin", world.group)
      func state(_ query: Query) async -> String? {
        do {
          try await admin.query(query)
          return nil
        } catch {
          return error.sqlState?.rawValue ?? "\(error)"
        }
      }
      for query: Query in [
        "SELECT admin.forget_subject('github-repo', 1)", "SELECT admin.forget_subject('github-user', 0)",
        "SELECT admin.forget_subject(NULL, 1)", "SELECT admin.forget_subject('github-user', NULL)",
        "SELECT * FROM admin.explain('octocat')", "SELECT * FROM admin.explain('github-user:a/b')",
        "SELECT * FROM admin.explain(NULL)",
      ] {
        #expect(await state(query) == "MG422", "\(query)")
      }
      #expect(await state("SELECT admin.forget_subject('github-user', 17)") == nil)
      let known: Bool = try #require(try await admin.query("SELECT admin.forget_subject('github-user', 17)").first)
        .decode(
          Bool.self)
      #expect(!known)
      #expect(await state("SELECT * FROM admin.follower_changes") == nil)
      // What is kept of it tells nobody who it was.
      let kept: String = try await world.value("SELECT string_agg(f::text, ' ') FROM magpie.forgotten f")
      #expect(!kept.contains("17,") && kept.contains("github-user"))
      await admin.stop()
    }
  }

  @Test func explanationSaysWhatIsStoredWhatStopsItAndWhatComesNext() async throws {
    try await ChangeWorld.run(.init("octocat", followers: 12, following: 3)) { world in
      let admin = try await TestWorld.database(world.world.url, role: "magpie_admin", world.world.group)
      func explain(_ subject: String) async throws -> [String: String] {
        let rows = try await admin.query("SELECT e.what, e.answer FROM admin.explain(\(subject)) e").decode(
          (String, String).self)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.0, $0.1) })
      }
      let stored = try await explain("github-followers:OctoCat")
      #expect(stored["person"] == "octocat, id 583231, ok")
      #expect(stored["stored"]?.hasPrefix("12 members, changed 00:00:") == true, "\(stored)")
      #expect(stored["job"]?.contains("was completed 00:00:") == true)
      #expect(stored["budget"] == "open")
      #expect(stored["next"]?.hasPrefix("nothing, until") == true)
      #expect(try await explain("github-user:id:1")["person"] == "not stored")

      for id in try world.simulator.followers(of: "octocat").prefix(2) { try world.unfollow(id) }
      try await world.order()
      try await world.driver.runOne()
      #expect(
        try await explain("github-followers:id:583231")["checks"] == "2 missing members are to be looked at singly")
      try await world.order(.following)
      try await world.world.sql(
        "UPDATE magpie.credential SET blocked_until = now() + interval '90 seconds' WHERE pool = 'github'")
      let waiting = try await explain("github-following:octocat")
      #expect(waiting["stored"] == "no list")
      #expect(waiting["job"]?.contains("available, priority 0, attempt 0 of 10") == true, "\(waiting)")
      #expect(waiting["budget"]?.hasPrefix("limited, opens in 00:01:") == true, "\(waiting)")
      #expect(waiting["next"] == "it is next in line")
      try await world.world.sql("SELECT admin.pause_queue('github-following')")
      #expect(try await explain("github-following:octocat")["next"] == "nothing, since the queue is paused")
      await admin.stop()
    }
  }
}
