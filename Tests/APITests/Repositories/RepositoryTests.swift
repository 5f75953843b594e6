import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// Single repositories: their records, languages and commits, whatever has become of them.
@Suite struct RepositoryTests {
  private static let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]
  private static let detail = "?include=languages,commits"

  /// Somebody with `octocat/nest` and a few others.
  private static func run(
    _ adjust: (inout TestWorld.Options) -> Void = { _ in },
    _ body: @escaping @Sendable (TestWorld, String) async throws -> Void
  ) async throws {
    try await TestWorld.run(RepositoryListTests.options(12, adjust)) { world in
      try world.simulator.addRepository("Nest", of: "octocat")
      var change = Simulator.RepositoryChange()
      change.languages = ["Swift": 9_000_000_000, "C++": 3_000_000_000]
      change.commits = 40
      change.language = "Swift"
      try world.simulator.change("Nest", of: "octocat", change)
      try await body(world, try await world.token())
    }
  }

  @Test func recordComesThroughWithoutSecrets() async throws {
    try await Self.run { world, token in
      let base = world.servers[0].baseURL
      let answer = try await world.get("/github/repos/octocat/Nest", as: token)
      let json = try answer.json
      #expect(answer.status == 200 && answer.cacheStatus == "magpie; fwd=miss")
      #expect(json["full_name"]?.string == "octocat/Nest" && json["id"]?.int == 5_000_000_000)
      #expect(json["url"]?.string == "\(base)/github/repos/octocat/Nest")
      #expect(json["archive_url"]?.string == "\(base)/github/repos/octocat/Nest/{archive_format}{/ref}")
      #expect(json["html_url"]?.string == "https://github.com/octocat/Nest")
      #expect(json["x_feathers"].map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"count": 1e2, "shine":null}"#)
      #expect(json["temp_clone_token"] == nil)
      #expect(json["magpie"]?["favorite"]?.bool == false && json["magpie"]?["first_seen_at"]?.string != nil)
      let stored: Int64 = try await world.value(
        "SELECT count(*) FROM magpie.github_repo r WHERE r.document LIKE '%do-not-store%' OR r.summary LIKE '%do-not-store%'"
      )
      #expect(stored == 0)
      for path in ["/github/repos/OCTOCAT/nest", "/github/repositories/5000000000"] {
        let again = try await world.get(path, as: token)
        #expect(again.body == answer.body && again.cacheStatus == "magpie; hit", "\(path)")
      }
      #expect(world.simulator.requestCount == 1)
      let unchanged = try await world.get(
        "/github/repos/octocat/nest", as: token, [.ifNoneMatch: try #require(answer[.etag])])
      #expect(unchanged.status == 304)
      // Asked for anew, GitHub's own validators make it free.
      let left = world.simulator.remaining(of: "token-1")
      let fresh = try await world.get("/github/repos/octocat/nest", as: token, Self.wish)
      #expect(fresh.cacheStatus == "magpie; fwd=request" && world.simulator.remaining(of: "token-1") == left)
    }
  }

  @Test func detailIsOneAnswer() async throws {
    try await Self.run { world, token in
      let base = world.servers[0].baseURL
      let answer = try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token)
      let json = try answer.json
      #expect(answer.status == 200, "\(answer.text)")
      #expect(json["state"]?.string == "ok")
      #expect(
        json["languages"].map { String(decoding: $0.bytes, as: UTF8.self) }
          == #"[{"name":"Swift","bytes":9000000000,"percent":75.0},{"name":"C++","bytes":3000000000,"percent":25.0}]"#)
      let commits = try Array(#require(json["commits"]).elements)
      #expect(commits.count == 5)
      #expect(commits.map { $0["subject"]?.string } == (35..<40).reversed().map { "Change number \($0)" })
      #expect(commits[0]["message"]?.string == "Change number 39\n\nWhy it was \"needed\".")
      // Number 38 has no name in Git's signature, number 36 an account that is not known.
      #expect(commits[0]["author_name"]?.string == "Git octocat ☕️")
      #expect(commits[1]["author_name"]?.string == "octocat")
      #expect(commits[0]["author"]?["url"]?.string == "\(base)/github/users/octocat")
      #expect(commits[0]["sha"]?.string?.utf8.count == 40 && commits[0]["date"]?.string?.hasSuffix("Z") == true)
      #expect(json["magpie"]?["favorite"]?.bool == false && json["full_name"]?.string == "octocat/Nest")
      #expect(world.simulator.requestCount == 3)
      let warm = try await world.get("/github/repositories/5000000000\(Self.detail)", as: token)
      #expect(warm.body == answer.body && warm.cacheStatus == "magpie; hit")
      let part = try await world.get("/github/repos/octocat/nest?include=languages", as: token).json
      #expect(part["languages"] != nil && part["commits"] == nil && part["state"]?.string == "ok")
      #expect(world.simulator.requestCount == 3)
      let wrong = try await world.get("/github/repos/octocat/nest?include=languages,stars", as: token)
      #expect(wrong.status == 422 && wrong.pointers == ["/include"] && wrong.text.contains("languages, commits"))
    }
  }

  @Test func stalePartsAreServedAndRefreshedBehind() async throws {
    try await Self.run { world, token in
      _ = try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token)
      try await world.untilIdle()
      try await world.sql("UPDATE magpie.github_commits SET validated_at = now() - interval '301 seconds'")
      try world.simulator.push(to: "Nest", of: "octocat")
      let stale = try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token)
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=refreshing" && stale["Magpie-Job"] != nil)
      #expect(try Int(#require(stale[.age])) ?? 0 >= 301)
      try await world.untilIdle()
      let fresh = try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token)
      #expect(fresh.cacheStatus == "magpie; hit")
      #expect(try fresh.json["commits"]?.elements.first { _ in true }?["subject"]?.string == "Change number 40")
      // Only what was stale was asked for.
      #expect(world.simulator.requestCount == 4)
      let all = try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token, Self.wish)
      #expect(all.cacheStatus == "magpie; fwd=request" && world.simulator.requestCount == 7)
    }
  }

  @Test func languagesAndCommitsAreGitHubsOwn() async throws {
    try await Self.run { world, token in
      let base = world.servers[0].baseURL
      let languages = try await world.get("/github/repos/octocat/nest/languages", as: token)
      #expect(try languages.json["Swift"]?.int == 9_000_000_000 && languages.json["C++"]?.int == 3_000_000_000)
      #expect(try await world.get("/github/repositories/5000000000/languages", as: token).body == languages.body)
      let first = try await world.get("/github/repos/octocat/nest/commits?per_page=15", as: token)
      #expect(try first.status == 200 && (Array(first.json.elements).count) == 15)
      #expect(Set(first.links.keys) == ["next", "last"])
      #expect(first.links["last"] == "\(base)/github/repositories/5000000000/commits?per_page=15&page=3")
      let pages = try await world.pages(from: "/github/repos/octocat/nest/commits?per_page=15", as: token)
      let messages = try pages.flatMap {
        try $0.json.elements.map { $0["commit"]?["message"]?.string?.prefix { $0 != "\n" } }
      }
      #expect(messages == (0..<40).reversed().map { "Change number \($0)" })
      #expect(Set(pages[2].links.keys) == ["prev", "first"])
      let items = try Array(pages[0].json.elements)
      #expect(items[5]["author"]?.isNull == true && items[7]["author"]?.kind == .object)
      #expect(items[0]["url"]?.string?.hasPrefix("\(base)/github/repos/octocat/Nest/commits/") == true)
      // A year of 2050 passes as it came.
      #expect(items[6]["commit"]?["author"]?["date"]?.string == "2050-01-01T00:00:00Z")
      let beyond = try await world.get("/github/repos/octocat/nest/commits?page=9", as: token)
      #expect(beyond.status == 200 && beyond.text == "[]")
      let branch = try await world.get(
        "/github/repos/octocat/nest/commits?sha=a%2Fb&until=2020-01-01T00:00:00Z", as: token)
      #expect(branch.status == 200)
      #expect(
        world.simulator.log("/repos/octocat/Nest/commits?sha=a%2Fb").map(\.target)
          == ["/repos/octocat/Nest/commits?sha=a%2Fb&until=2020-01-01T00%3A00%3A00Z&per_page=30"])
      let long = String(repeating: "a", count: 310)
      let refused = try await world.get("/github/repos/octocat/nest/commits?sha=\(long)", as: token)
      #expect(refused.status == 422 && refused.pointers == ["/sha"])
    }
  }

  @Test func branchThatIsNotThereSaysNothingOfTheRepository() async throws {
    try await Self.run { world, token in
      world.simulator.add(Fault(.notFound, on: "/repos/octocat/Nest/commits?sha=none"))
      let answer = try await world.get("/github/repos/octocat/nest/commits?sha=none", as: token)
      #expect(answer.status == 404 && answer.code == "github/repository-not-found")
      #expect(try await world.get("/github/repos/octocat/nest/commits", as: token).status == 200)
      #expect(try await world.get("/github/repos/octocat/nest", as: token).status == 200)
    }
  }

  @Test func branchThatIsDeletedTakesItsCommitsAlong() async throws {
    try await Self.run { world, token in
      let path = "/github/repos/octocat/nest/commits?sha=feature"
      #expect(try await world.get(path, as: token).status == 200)
      world.simulator.add(Fault(.notFound, on: "/repos/octocat/Nest/commits?sha=feature"))
      #expect(try await world.get(path, as: token, Self.wish).status == 404)
      let count = world.simulator.requestCount
      // A fact for a while, and not what was there before.
      #expect(try await world.get(path, as: token).status == 404)
      try await world.untilIdle()
      #expect(world.simulator.requestCount == count)
      try await world.sql("UPDATE magpie.upstream_fact SET checked_at = now() - interval '61 seconds'")
      #expect(try await world.get(path, as: token).status == 404)
      #expect(try await world.get("/github/repos/octocat/nest/commits", as: token).status == 200)
    }
  }

  @Test func oldNameLeadsToTheId() async throws {
    try await Self.run { world, token in
      let base = world.servers[0].baseURL
      #expect(try await world.get("/github/repos/octocat/nest", as: token).status == 200)
      try world.simulator.move("Nest", of: "octocat", to: "Eyrie")
      let moved = try await world.get("/github/repos/octocat/nest?x=y", as: token, Self.wish)
      #expect(moved.status == 301 && moved[.location] == "\(base)/github/repositories/5000000000?x=y", "\(moved.text)")
      #expect(try moved.json["message"]?.string == "Moved Permanently" && moved.json["url"]?.string == moved[.location])
      for part in ["", "/languages", "/commits"] {
        let again = try await world.get("/github/repos/octocat/nest\(part)", as: token)
        #expect(again.status == 301 && again[.location] == "\(base)/github/repositories/5000000000\(part)", "\(part)")
      }
      #expect(try await world.get("/github/repositories/5000000000", as: token).json["name"]?.string == "Eyrie")
      #expect(try await world.get("/github/repos/octocat/EYRIE\(Self.detail)", as: token).json["state"]?.string == "ok")
      #expect(
        try await world.value(
          "SELECT string_agg(n.name_key, ' ') FROM magpie.github_repo_name n WHERE n.repo_id = 5000000000")
          == "octocat/nest")
    }
  }

  @Test func oldNameThatNobodyHasSeenIsFollowedWithTheCredentials() async throws {
    try await Self.run { world, token in
      let base = world.servers[0].baseURL
      try world.simulator.move("Nest", of: "octocat", to: "Eyrie")
      for part in ["", "/languages", "/commits"] {
        let moved = try await world.get("/github/repos/octocat/nest\(part)", as: token)
        #expect(
          moved.status == 301 && moved[.location] == "\(base)/github/repositories/5000000000\(part)", "\(moved.text)")
      }
      let log = world.simulator.log()
      #expect(log.map(\.target) == ["/repos/octocat/nest", "/repositories/5000000000"])
      #expect(log.map(\.credential) == ["token-1", "token-1"])
    }
  }

  @Test func redirectsInACircleEnd() async throws {
    try await Self.run { world, token in
      world.simulator.add(Fault(.redirect("/repos/octocat/Nest"), on: "/repos/octocat/*"))
      let answer = try await world.get("/github/repos/octocat/Nest", as: token, [.prefer: "wait=20"])
      #expect(answer.status == 503 && answer.code == "upstream/invalid-answer")
      #expect(world.simulator.requestCount == 6)
    }
  }

  @Test func transferredRepositoryKeepsItsIdentity() async throws {
    try await Self.run({ $0.simulator.users.append(.init("hoarder", followers: 1)) }) { world, token in
      #expect(try await world.get("/github/repos/octocat/nest", as: token).status == 200)
      try world.simulator.move("Nest", of: "octocat", to: "Nest", of: "hoarder")
      let hoard = try await world.get("/github/users/hoarder/repos", as: token)
      #expect(try hoard.ids == [5_000_000_000])
      // The list has shown the new name, so the old one is given up.
      #expect(try await world.get("/github/repos/hoarder/nest", as: token).status == 200)
      #expect(try await world.get("/github/repos/octocat/nest", as: token).status == 301)
      #expect(try await world.value("SELECT count(*) FROM magpie.github_repo r WHERE r.id = 5000000000") == Int64(1))
    }
  }

  @Test func namesThatAreSwappedStayApart() async throws {
    try await Self.run { world, token in
      let other = try world.simulator.addRepository("Twig", of: "octocat")
      for name in ["nest", "twig"] {
        #expect(try await world.get("/github/repos/octocat/\(name)\(Self.detail)", as: token).status == 200)
      }
      try world.simulator.move("Nest", of: "octocat", to: "tmp")
      try world.simulator.move("Twig", of: "octocat", to: "Nest")
      try world.simulator.move("tmp", of: "octocat", to: "Twig")
      #expect(try await world.get("/github/users/octocat/repos?sort=created", as: token).status == 200)
      #expect(try await world.get("/github/repos/octocat/nest", as: token, Self.wish).json["id"]?.int == other)
      #expect(try await world.get("/github/repos/octocat/twig", as: token, Self.wish).json["id"]?.int == 5_000_000_000)
      // What was read by the old names is forgotten with them.
      let languages = try await world.get("/github/repos/octocat/twig/languages", as: token)
      #expect(try languages.json["Swift"]?.int == 9_000_000_000)
      #expect(try await world.get("/github/repos/octocat/nest/languages", as: token).text == "{}")
    }
  }

  @Test func nameThatIsTakenByAnotherIsTheOthers() async throws {
    try await Self.run { world, token in
      #expect(try await world.get("/github/repos/octocat/nest", as: token).status == 200)
      try world.simulator.move("Nest", of: "octocat", to: "Eyrie")
      #expect(try await world.get("/github/repos/octocat/nest", as: token, Self.wish).status == 301)
      let new = try world.simulator.addRepository("nest", of: "octocat")
      let answer = try await world.get("/github/repos/octocat/nest", as: token, Self.wish)
      #expect(try answer.status == 200 && (answer.json["id"]?.int) == new)
      #expect(try await world.get("/github/repositories/5000000000", as: token).json["name"]?.string == "Eyrie")
    }
  }

  @Test func repositoriesOfARenamedPersonAreFound() async throws {
    try await Self.run { world, token in
      #expect(try await world.get("/github/repos/octocat/nest", as: token).status == 200)
      try world.simulator.rename("octocat", to: "octodog")
      #expect(try await world.get("/github/repos/octocat/nest", as: token, Self.wish).status == 301)
      #expect(try await world.get("/github/repos/octodog/nest", as: token).json["full_name"]?.string == "octodog/Nest")
      let list = try await world.get("/github/users/octocat/repos", as: token)
      #expect(list.status == 301)
      #expect(list[.location] == "\(world.servers[0].baseURL)/github/users/octodog/repos")
    }
  }

  @Test(arguments: [(Simulator.RepositoryState.takenDown, 451), (.blocked, 403)])
  func blockedRepositoryIsMarkedAndStopsNobodyElse(state: Simulator.RepositoryState, status: Int) async throws {
    try await Self.run { world, token in
      let list = try await world.get("/github/users/octocat/repos?per_page=100", as: token)
      let names = try list.json.elements.compactMap { $0["name"]?.string }
      try world.simulator.set(state, "Nest", of: "octocat")
      for part in ["", "/languages", "/commits"] {
        let answer = try await world.get("/github/repos/octocat/nest\(part)", as: token)
        #expect(answer.status == status, "\(part) \(answer.text)")
        #expect(try answer.json["message"]?.string == "Repository access blocked")
      }
      // A fact, and no reason to rest: asked once, and the others go on.
      #expect(world.simulator.count("/repos/octocat/Nest**") == 1)
      let detail = try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token)
      #expect(try detail.status == 200 && (detail.json["state"]?.string) == "blocked", "\(detail.text)")
      #expect(try detail.json["commits"].map { Array($0.elements).count } == 0)
      for name in names where name != "Nest" {
        #expect(try await world.get("/github/repos/octocat/\(name)\(Self.detail)", as: token).status == 200, "\(name)")
      }
      let again = try await world.get("/github/users/octocat/repos?per_page=100", as: token, Self.wish)
      #expect(try again.ids == list.ids)
      try world.simulator.set(.present, "Nest", of: "octocat")
      #expect(try await world.get("/github/repos/octocat/nest", as: token, Self.wish).status == 200)
      #expect(try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token).json["state"]?.string == "ok")
    }
  }

  @Test func emptyRepositoryIsAFactInGitHubsWords() async throws {
    try await Self.run { world, token in
      var change = Simulator.RepositoryChange()
      change.commits = 0
      change.languages = [:]
      try world.simulator.change("Nest", of: "octocat", change)
      for _ in 0..<2 {
        let answer = try await world.get("/github/repos/octocat/nest/commits", as: token)
        #expect(answer.status == 409 && answer.code == "github/repository-empty")
        #expect(try answer.json["message"]?.string == "Git Repository is empty.")
      }
      #expect(world.simulator.count("/repos/octocat/Nest/commits") == 1)
      let detail = try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token).json
      #expect(detail["state"]?.string == "empty")
      #expect(detail["commits"].map { String(decoding: $0.bytes, as: UTF8.self) } == "[]")
      #expect(detail["languages"].map { String(decoding: $0.bytes, as: UTF8.self) } == "[]")
      #expect(try await world.get("/github/repos/octocat/nest/languages", as: token).text == "{}")
      // The first push ends it.
      try world.simulator.push(to: "Nest", of: "octocat")
      let commits = try await world.get("/github/repos/octocat/nest/commits", as: token, Self.wish)
      #expect(try commits.status == 200 && (Array(commits.json.elements).count) == 1)
      #expect(try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token).json["state"]?.string == "ok")
    }
  }

  @Test func whatIsNotThereIsAFactForAWhile() async throws {
    try await Self.run { world, token in
      for part in ["", "/languages", "/commits"] {
        let answer = try await world.get("/github/repos/octocat/nothing\(part)", as: token)
        #expect(answer.status == 404 && answer.code == "github/repository-not-found")
        #expect(try answer.json["message"]?.string == "Not Found")
        #expect(world.simulator.requestCount == 1)
      }
      try world.simulator.addRepository("nothing", of: "octocat")
      try await world.sql("UPDATE magpie.upstream_fact SET checked_at = now() - interval '61 seconds'")
      #expect(try await world.get("/github/repos/octocat/nothing/commits", as: token).status == 200)
    }
  }

  @Test func deletedRepositoryEndsAndMayComeBack() async throws {
    try await Self.run { world, token in
      #expect(try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token).status == 200)
      try world.simulator.set(.deleted, "Nest", of: "octocat")
      #expect(try await world.get("/github/repos/octocat/nest", as: token, Self.wish).status == 404)
      #expect(try await world.get("/github/repositories/5000000000", as: token).status == 404)
      let detail = try await world.get("/github/repositories/5000000000\(Self.detail)", as: token)
      #expect(try detail.status == 200 && (detail.json["state"]?.string) == "gone")
      world.simulator.restore(5_000_000_000, "Nest")
      try await world.sql("UPDATE magpie.upstream_fact SET checked_at = now() - interval '61 seconds'")
      let back = try await world.get("/github/repositories/5000000000", as: token)
      #expect(try back.status == 200 && (back.json["name"]?.string) == "Nest")
      #expect(try await world.get("/github/repos/octocat/nest\(Self.detail)", as: token).json["state"]?.string == "ok")
      #expect(try await world.value("SELECT count(*) FROM magpie.github_repo r WHERE r.id = 5000000000") == Int64(1))
    }
  }

  @Test func forkWithoutAMainLanguageHasLanguages() async throws {
    try await Self.run { world, token in
      let items = try await world.get("/github/users/octocat/repos?per_page=100", as: token).json
      let fork = try #require(items.elements.first { $0["fork"]?.bool == true })
      let name = try #require(fork["name"]?.string)
      #expect(fork["language"]?.isNull == true)
      let detail = try await world.get("/github/repos/octocat/\(name)?include=languages", as: token).json
      #expect(try !Array(#require(detail["languages"]).elements).isEmpty)
    }
  }

  @Test func listNeverTouchesTheRecord() async throws {
    try await Self.run { world, token in
      let record = try await world.get("/github/repos/octocat/nest", as: token)
      var change = Simulator.RepositoryChange()
      change.stars = 77
      try world.simulator.change("Nest", of: "octocat", change)
      let list = try await world.get("/github/users/octocat/repos?sort=stars", as: token).json
      #expect(list.elements.first { $0["name"]?.string == "Nest" }?["stargazers_count"]?.int == 77)
      let after = try await world.get("/github/repos/octocat/nest", as: token)
      #expect(after.body == record.body)
      #expect(try after.json["subscribers_count"]?.int == 0)
      // An answer that was asked for before those that are stored changes nothing.
      try await world.sql(
        """
        SELECT magpie.note_repositories('{5000000000}', '{old}', '{octocat/old}', '{583231}', '{""}', '{""}', '{false}', '{1}',
          '{""}', '{""}', '{""}', now() - interval '1 hour')
        """)
      #expect(try await world.value("SELECT r.stars FROM magpie.github_repo r WHERE r.id = 5000000000") == Int64(77))
      #expect(try await world.get("/github/repos/octocat/nest", as: token).body == record.body)
    }
  }

  @Test func whatCannotBeANameCostsNoRequest() async throws {
    try await Self.run { world, token in
      let long = String(repeating: "a", count: 101)
      for path in [
        "/repos/a.b/c", "/repos/a/b%20c", "/repos/a/b%2Fc", "/repos/a/\(long)", "/repos/a/caf%C3%A9", "/repositories/0",
        "/repositories/x", "/repositories/1234567890123456789",
      ] {
        for part in ["", "/languages", "/commits"] {
          let answer = try await world.get("/github\(path)\(part)", as: token)
          #expect(answer.status == 404 && answer.code == "github/repository-not-found", "\(path)\(part)")
        }
      }
      for path in ["/repos/octocat/nest/branches", "/repos/octocat", "/repos/octocat/nest/", "/repositories/1/tags"] {
        #expect(try await world.get("/github\(path)", as: token).status == 404, "\(path)")
      }
      #expect(world.simulator.requestCount == 0)
      #expect(try await world.get("/github/repos/octocat/.github", as: token).status == 200)
    }
  }
}
