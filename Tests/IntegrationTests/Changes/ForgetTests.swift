import HTTP
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

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

  @Test func repositoriesOfForgottenPeopleAreForgottenWithThem() async throws {
    var user = Simulator.Configuration.User("octocat", followers: 3)
    user.repositories = 3
    try await TestWorld.run(TestWorld.Options(user)) { world in
      let token = try await world.token()
      try world.simulator.addRepository("Nest", of: "octocat")
      var change = Simulator.RepositoryChange()
      change.languages = ["Swift": 9]
      change.commits = 3
      try world.simulator.change("Nest", of: "octocat", change)
      let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]
      let nest = "/github/repos/octocat/Nest"
      let paths = [nest, "\(nest)/languages", "\(nest)/commits", "/github/repositories/5000000000"]
      let search = "/github/search/repositories?q=nest"
      for path in paths { #expect(try await world.get(path, as: token, wish).status == 200, "\(path)") }
      #expect(try await world.get(search, as: token, wish).text.contains("octocat/Nest"))
      try await world.untilIdle()
      let known: Bool = try await world.value("SELECT admin.forget_subject('github-user', '583231')")
      #expect(known)
      #expect(try await Self.traces(of: "octocat", world) == [])
      // Nobody brings them back, whichever way they are asked for.
      for path in paths { #expect(try await world.get(path, as: token, wish).status == 404, "\(path)") }
      let found = try await world.get(search, as: token, wish)
      #expect(found.status == 200 && !found.text.contains("octocat/Nest"))
      try await world.untilIdle()
      for table in ["github_repo", "github_repo_name", "github_languages", "github_commits"] {
        #expect(try await world.value("SELECT count(*) FROM magpie.\(unsafe: table)") == Int64(0), "\(table)")
      }
      #expect(
        try await world.value("SELECT count(*) FROM magpie.search_page s WHERE s::text LIKE '%octocat%'") == Int64(0))
      #expect(try await world.jobErrors() == [])
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
        "SELECT * FROM admin.explain(NULL)", "SELECT * FROM admin.explain('github-repo:octocat')",
        "SELECT * FROM admin.explain('github-repos:a/b')", "SELECT * FROM admin.explain('photos:1')",
        "SELECT * FROM admin.explain('gifs:all')",
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

  @Test func whateverIsRefreshedIsExplained() async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    try await TestWorld.run(options) { world in
      let admin = try await TestWorld.database(world.url, role: "magpie_admin", world.group)
      func explain(_ subject: String) async throws -> [String: String] {
        let rows = try await admin.query("SELECT e.what, e.answer FROM admin.explain(\(subject)) e").decode(
          (String, String).self)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.0, $0.1) })
      }
      try await world.sql(
        """
        INSERT INTO magpie.github_user (id, login, login_key, search) VALUES (1, 'octocat', 'octocat', 'octocat')
        """)
      try await world.sql(
        """
        INSERT INTO magpie.github_repo (id, full_name, name_key, name, owner_id, search, seen_at, document, fetched_at, validated_at)
        VALUES (7, 'octocat/Hello-World', 'octocat/hello-world', 'Hello-World', 1, 'hello', now(), '{}',
                now() - interval '2 hours', now() - interval '1 hour')
        """)
      try await world.sql("INSERT INTO magpie.github_repo_name (name_key, repo_id) VALUES ('octocat/old', 7)")
      try await world.sql(
        """
        INSERT INTO magpie.github_languages (repo_id, document, shares, fetched_at, validated_at, url, credential)
        VALUES (7, '{}', '[]', now() - interval '3 hours', now() - interval '1 hour', '', '')
        """)
      try await world.sql(
        "INSERT INTO magpie.upstream_fact (subject, status) VALUES ('github-commits:id:7', 409)")
      try await world.sql(
        """
        UPDATE magpie.photo_set SET generation = 1, expected = 5000, fetched_at = now() - interval '4 hours', validated_at = now()
         WHERE name = 'photos'
        """)
      for (subject, stored, hour) in [
        ("github-repos:octocat", "no list", ""), ("github-gists:octocat", "no list", ""),
        ("github-orgs:id:1", "no list", ""), ("github-user:octocat", "no profile", ""),
        ("github-repo:octocat/Hello-World", "a record, changed 02:00:", "confirmed 01:00:"),
        ("github-repo:octocat/old", "a record, changed 02:00:", "confirmed 01:00:"),
        ("github-languages:id:7", "languages, changed 03:00:", "confirmed 01:00:"),
        ("github-commits:octocat/hello-world", "no commits", ""),
        ("photos:all", "5000 photos, changed 04:00:", "confirmed 00:00:"), ("albums:all", "no albums", ""),
      ] {
        let before = try await explain(subject)
        #expect(
          before["stored"]?.hasPrefix(stored) == true && (hour.isEmpty || before["stored"]?.contains(hour) == true),
          "\(before)")
        #expect(before["job"] == "none, and none that is remembered", "\(subject)")
        let job: Int64 = try #require(try await admin.query("SELECT admin.refresh(\(subject))").first).decode(
          Int64.self)
        let after = try await explain(subject)
        #expect(after["job"]?.hasPrefix("\(job): available, priority 2") == true, "\(subject) \(after)")
        #expect(after["next"] == "it waits for a worker, and there is none")
        #expect(after["budget"] == "no worker with a credential has been seen for half an hour")
        try await world.sql("DELETE FROM magpie.job")
      }
      #expect(try await explain("github-commits:octocat/hello-world")["upstream says"]?.hasPrefix("409, ") == true)
      #expect(
        try await explain("github-repo:id:7")["repository"] == "octocat/Hello-World, id 7, ok")
      #expect(try await explain("github-repo:octocat/none")["repository"] == "not stored")
      await admin.stop()
    }
  }
}
