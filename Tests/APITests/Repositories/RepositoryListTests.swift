import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// Lists of repositories, gists and organizations: GitHub's orders and Magpie's own, over the whole stored list.
@Suite struct RepositoryListTests {
  static let path = "/github/users/octocat/repos"
  static let refresh: Fields = [.cacheControl: "no-cache", .prefer: "wait=20"]

  static func options(
    _ repositories: Int, gists: Int = 0, organizations: Int = 0, _ adjust: (inout TestWorld.Options) -> Void = { _ in }
  ) -> TestWorld.Options {
    var user = Simulator.Configuration.User("octocat", followers: 3)
    user.repositories = repositories
    user.gists = gists
    user.organizations = organizations
    var options = TestWorld.Options(user)
    adjust(&options)
    return options
  }

  @Test func everyOrderOfGitHubIsServedFromOneWalk() async throws {
    try await TestWorld.run(Self.options(230)) { world in
      let token = try await world.token()
      for sort in ["created", "updated", "pushed", "full_name"] {
        for direction in ["asc", "desc"] {
          let pages = try await world.pages(
            from: "\(Self.path)?sort=\(sort)&direction=\(direction)&per_page=100", as: token)
          #expect(pages.count == 3)
          let expected = try world.simulator.repositories(of: "octocat", sort: sort, descending: direction == "desc")
          #expect(try pages.flatMap { try $0.ids } == expected, "\(sort) \(direction)")
          #expect(pages.last?.coverage == "230/230", "\(sort)")
        }
      }
      // Names go up unless told otherwise, and times go down.
      let byDefault = try await world.get(Self.path, as: token)
      #expect(
        try byDefault.ids
          == Array(world.simulator.repositories(of: "octocat", sort: "full_name", descending: false)[..<30]))
      let updated = try await world.get("\(Self.path)?sort=updated&per_page=20", as: token)
      #expect(
        try updated.ids == Array(world.simulator.repositories(of: "octocat", sort: "updated", descending: true)[..<20]))
      #expect(world.simulator.requestCount == 3)
    }
  }

  @Test func starsAndNamesAreOrdersOfOurOwn() async throws {
    try await TestWorld.run(Self.options(120)) { world in
      let token = try await world.token()
      let stars = try await world.pages(from: "\(Self.path)?sort=stars&per_page=50", as: token)
      let counts = try stars.flatMap { try $0.json.elements.map { $0["stargazers_count"]?.int ?? -1 } }
      #expect(counts.count == 120 && counts == counts.sorted(by: >))
      let names = try await world.pages(from: "\(Self.path)?sort=name&per_page=100&cursor=", as: token)
      let texts = try names.flatMap { try $0.json.elements.map { $0["name"]?.string?.lowercased() ?? "" } }
      #expect(texts.count == 120 && texts == texts.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
    }
  }

  @Test(arguments: ["cursor=", "page=1"])
  func pushWhileScrollingNeitherRepeatsNorSkips(start: String) async throws {
    try await TestWorld.run(Self.options(90)) { world in
      let token = try await world.token()
      let before = try world.simulator.repositories(of: "octocat", sort: "updated", descending: true)
      let first = try await world.get("\(Self.path)?sort=updated&per_page=20&\(start)", as: token)
      #expect(try first.ids == Array(before[..<20]))
      // Something deep down is pushed to, and one that was read already, too; the list is read anew.
      for index in [70, 3] {
        try world.simulator.push(to: try #require(world.simulator.repositoryName(before[index])), of: "octocat")
      }
      let fresh = try await world.get("\(Self.path)?sort=updated&per_page=20", as: token, Self.refresh)
      #expect(try fresh.ids.prefix(2).sorted() == [before[70], before[3]].sorted())
      let rest = try await world.pages(from: try #require(first.links["next"]), as: token)
      #expect(try first.ids + rest.flatMap { try $0.ids } == before)
    }
  }

  @Test func filtersLookAtTheWholeList() async throws {
    try await TestWorld.run(Self.options(150)) { world in
      let token = try await world.token()
      let all = try await world.pages(from: "\(Self.path)?per_page=100&sort=updated", as: token)
      let items = try all.flatMap { try Array($0.json.elements) }
      let languages = Set(items.compactMap { $0["language"]?.string })
      #expect(languages.contains("C++") && languages.count > 3)
      for language in ["C++", "swift", "Jupyter Notebook"] {
        let expected = items.filter { $0["language"]?.string?.lowercased() == language.lowercased() }.compactMap {
          $0["id"]?.int
        }
        let path = "\(Self.path)?sort=updated&per_page=7&language=\(PercentEncoding.encode(language))"
        let pages = try await world.pages(from: path, as: token)
        #expect(try pages.flatMap { try $0.ids } == expected, "\(language)")
        #expect(pages[0]["Magpie-Matches"] == "\(expected.count)")
        let cursors = try await world.pages(from: "\(path)&cursor=", as: token)
        #expect(try cursors.flatMap { try $0.ids } == expected, "\(language)")
      }
      let found = try await world.pages(from: "\(Self.path)?q=linea&sort=created&direction=asc&per_page=100", as: token)
      let expected = items.filter { $0["description"]?.string?.contains("Línea") == true }.compactMap { $0["id"]?.int }
      #expect(try found.flatMap { try $0.ids }.sorted() == expected.sorted() && !expected.isEmpty)
      let nothing = try await world.get("\(Self.path)?q=%25&language=Swift", as: token)
      #expect(nothing.text == "[]" && nothing["Magpie-Matches"] == "0")
      #expect(world.simulator.requestCount == 2)
    }
  }

  @Test func unknownOrderNamesTheAllowedOnes() async throws {
    try await TestWorld.run(Self.options(3)) { world in
      let token = try await world.token()
      for (name, value, allowed) in [
        ("sort", "forks", "created, updated, pushed, full_name, stars, name"), ("sort", "", "created"),
        ("direction", "up", "asc, desc"), ("type", "private", "all, owner, member"),
      ] {
        let answer = try await world.get("\(Self.path)?\(name)=\(value)", as: token)
        #expect(answer.status == 422 && answer.pointers == ["/\(name)"], "\(name)=\(value)")
        #expect(answer.text.contains(allowed), "\(answer.text)")
      }
      let long = String(repeating: "a", count: 201)
      for name in ["q", "language"] {
        #expect(try await world.get("\(Self.path)?\(name)=\(long)", as: token).status == 422)
        #expect(try await world.get("\(Self.path)?\(name)=\(long.dropLast())", as: token).status == 200)
      }
      #expect(world.simulator.requestCount == 1)
    }
  }

  @Test func cursorsOfAnotherOrderAreRefused() async throws {
    try await TestWorld.run(Self.options(30)) { world in
      let token = try await world.token()
      func cursor(_ path: String) async throws -> String {
        let next = try #require(try await world.get(path, as: token).links["next"])
        return try #require(Target(String(next.dropFirst(world.servers[0].baseURL.count))).query["cursor"])
      }
      let sorted = try await cursor("\(Self.path)?sort=updated&per_page=5&cursor=")
      let filtered = try await cursor("\(Self.path)?sort=updated&q=e&per_page=1&cursor=")
      #expect(try await world.get("\(Self.path)?sort=updated&cursor=\(sorted)", as: token).status == 200)
      for (query, cursor) in [
        ("sort=pushed", sorted), ("sort=updated&direction=asc", sorted), ("sort=updated&type=all", sorted),
        ("sort=updated&q=e", sorted), ("sort=updated", filtered), ("sort=updated&q=a", filtered),
        ("sort=updated&q=e&language=C", filtered), ("", sorted), ("sort=updated", "x"),
      ] {
        let answer = try await world.get("\(Self.path)?\(query)&cursor=\(cursor)", as: token)
        #expect(answer.status == 400 && answer.code == "request/invalid-cursor", "\(query)")
      }
    }
  }

  @Test func repositoriesOfOthersAreListsOfTheirOwn() async throws {
    try await TestWorld.run(Self.options(12, organizations: 2)) { world in
      let token = try await world.token()
      let base = "\(Self.path)?sort=full_name&per_page=100"
      let own = try await world.get(base, as: token).ids
      #expect(try await world.get("\(base)&type=owner", as: token).ids == own && own.count == 12)
      #expect(try await world.get("\(base)&type=member", as: token).ids == [])
      #expect(try await world.get("\(base)&type=all", as: token).ids == own)
      #expect(world.simulator.count("/users/octocat/repos?type=member") == 1)
      #expect(world.simulator.count("/users/octocat/repos?type=all") == 1)
    }
  }

  @Test func gistsHaveHexadecimalIdsAndPerhapsNoOwner() async throws {
    try await TestWorld.run(Self.options(0, gists: 120)) { world in
      let token = try await world.token()
      let pages = try await world.pages(from: "/github/users/octocat/gists?per_page=50", as: token)
      let items = try pages.flatMap { try Array($0.json.elements) }
      #expect(items.count == 120 && Set(items.compactMap { $0["id"]?.string }).count == 120)
      #expect(items[0]["owner"] == nil && items[1]["owner"]?["login"]?.string == "octocat")
      #expect(items.allSatisfy { $0["magpie"]?["favorite"]?.bool == false })
      #expect(items[0]["files"]?["note 0.md"]?["size"]?.int == 0)
      #expect(world.simulator.requestCount == 2)
      let again = try await world.pages(from: "/github/user/583231/gists?per_page=100&cursor=", as: token)
      #expect(try again.flatMap { try $0.json.elements.map { $0["id"]?.string } } == items.map { $0["id"]?.string })
      #expect(world.simulator.requestCount == 2)
    }
  }

  /// GitHub's `since=`, which is about the last change, over the whole list.
  @Test func gistsChangedOfLateAreToldFromTheOthers() async throws {
    try await TestWorld.run(Self.options(0, gists: 120)) { world in
      let token = try await world.token()
      func ids(_ query: String) async throws -> [String] {
        try await world.pages(from: "/github/users/octocat/gists?\(query)", as: token)
          .flatMap { try $0.json.elements.compactMap { $0["id"]?.string } }
      }
      let all = try await ids("per_page=100")
      // One an hour, from 2017-07-14T02:40:00Z on.
      let bound = "2017-07-14T12:40:00"
      for query in ["per_page=100", "per_page=50", "per_page=7", "per_page=50&cursor="] {
        #expect(try await ids("since=\(bound)Z&\(query)") == Array(all[10...]), "\(query)")
      }
      #expect(try await ids("since=\(bound).000001Z&per_page=100") == Array(all[11...]))
      #expect(try await ids("since=2017-07-14T14:40:00%2B02:00&per_page=100") == Array(all[10...]))
      #expect(try await ids("since=&per_page=100") == all)
      #expect(try await ids("since=2030-01-01T00:00:00Z") == [])
      let page = try await world.get("/github/user/583231/gists?since=\(bound)Z&per_page=40&page=3", as: token)
      #expect(page["Magpie-Matches"] == "110" && page.coverage == "120/120")
      #expect(try page.json.elements.compactMap { $0["id"]?.string } == Array(all[90...]))
      #expect(try page.json.elements.allSatisfy { $0["magpie"]?["favorite"]?.bool == false })
      let refused = try await world.get("/github/users/octocat/gists?since=yesterday", as: token)
      #expect(refused.status == 422 && refused.text.contains("must be a time such as"))
      let first = try await world.get("/github/users/octocat/gists?since=\(bound)Z&per_page=5&cursor=", as: token)
      let next = try #require(first.links["next"])
      #expect(try await world.get(next.replacing("T12", with: "T13"), as: token).status == 400)
      #expect(world.simulator.requestCount == 2)
    }
  }

  @Test func organizationsAreListedAsTheyAre() async throws {
    try await TestWorld.run(Self.options(0, organizations: 3)) { world in
      let token = try await world.token()
      let answer = try await world.get("/github/users/OctoCat/orgs", as: token)
      let base = world.servers[0].baseURL
      let items = try Array(answer.json.elements)
      #expect(answer.status == 200 && items.count == 3)
      let login = try #require(items[0]["login"]?.string)
      #expect(items[0]["url"]?.string == "\(base)/github/orgs/\(login)")
      #expect(items[0]["type"] == nil)
      // A list of memberships says nothing of its owner, so the profile is asked for as well.
      #expect(world.simulator.requestCount == 2)
      #expect(try await world.get("/github/user/583231/orgs", as: token).body == answer.body)
      #expect(world.simulator.requestCount == 2)
      let empty = try await world.get("/github/users/octocat/gists", as: token)
      #expect(empty.status == 200 && empty.text == "[]" && empty.coverage == "0/0")
    }
  }

  @Test func idleRefreshCostsOnlyUnchangedAnswers() async throws {
    try await TestWorld.run(Self.options(230, gists: 5)) { world in
      let token = try await world.token()
      let first = try await world.get("\(Self.path)?sort=updated", as: token)
      #expect(try await world.get("/github/users/octocat/gists", as: token).status == 200)
      let left = world.simulator.remaining(of: "token-1")
      for path in ["\(Self.path)?sort=updated", "/github/users/octocat/gists"] {
        let again = try await world.get(path, as: token, Self.refresh)
        #expect(again.cacheStatus == "magpie; fwd=request", "\(path)")
      }
      #expect(world.simulator.remaining(of: "token-1") == left)
      #expect(world.simulator.count("/**", status: 304) == 4)
      let again = try await world.get("\(Self.path)?sort=updated", as: token)
      #expect(again.body == first.body && again[.etag] == first[.etag])
      #expect(again["Magpie-Fetched-At"] == first["Magpie-Fetched-At"])
      let unchanged = try await world.get(
        "\(Self.path)?sort=updated", as: token, [.ifNoneMatch: try #require(first[.etag])])
      #expect(unchanged.status == 304)
    }
  }

  @Test func favoritesAreMarkedInLists() async throws {
    try await TestWorld.run(Self.options(5, organizations: 1)) { world in
      let (ann, ben) = (try await world.token(), try await world.token(of: "ben"))
      let ids = try await world.get(Self.path, as: ann).ids
      try await world.sql(
        """
        INSERT INTO magpie.favorite (account_id, kind, subject_id, tags)
        SELECT a.id, 'github-repo', \(String(ids[2]))::text, '{shiny}' FROM magpie.account a WHERE a.username = 'ann'
        """)
      for path in [Self.path, "\(Self.path)?sort=stars", "\(Self.path)?q="] {
        let marked = try await world.get(path, as: ann).json.elements.filter { $0["magpie"]?["favorite"]?.bool == true }
        #expect(marked.count == 1 && marked.first?["id"]?.int == ids[2], "\(path)")
        #expect(marked.first?["magpie"]?["tags"].map { String(decoding: $0.bytes, as: UTF8.self) } == #"["shiny"]"#)
        #expect(
          try await world.get(path, as: ben).json.elements.allSatisfy { $0["magpie"]?["favorite"]?.bool == false })
      }
      let name = try #require(world.simulator.repositoryName(ids[2]))
      let record = try await world.get("/github/repos/octocat/\(name)", as: ann)
      #expect(try record.json["magpie"]?["favorite"]?.bool == true)
      #expect(try await world.get("/github/repos/octocat/\(name)", as: ben).json["magpie"]?["favorite"]?.bool == false)
    }
  }

  @Test func manyAtOnceAreOneWalk() async throws {
    var options = Self.options(230)
    options.servers = 2
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let expected = try Array(world.simulator.repositories(of: "octocat", sort: "updated", descending: true)[..<20])
      let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
        for number in 0..<30 {
          group.addTask { try await world.get("\(Self.path)?sort=updated&per_page=20", as: token, to: number % 2) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(try answers.allSatisfy { try $0.status == 200 && $0.ids == expected })
      #expect(world.simulator.requestCount == 3)
      #expect(try await world.value("SELECT count(*) FROM magpie.follow_edge") == Int64(0))
    }
  }

  @Test func orderOfReadingIsShownWhileItIsRead() async throws {
    try await TestWorld.run(Self.options(230)) { world in
      let token = try await world.token()
      let expected = try world.simulator.repositories(of: "octocat", sort: "created", descending: false)
      world.simulator.hold("/user/*/repos?page=2")
      let first = try await world.get("\(Self.path)?sort=created&direction=asc&per_page=100", as: token)
      #expect(first.status == 200 && first.cacheStatus == "magpie; hit; detail=partial")
      #expect(try first.ids == Array(expected[..<100]))
      await world.simulator.waitUntilHeld()
      // Every other order needs all of them.
      let late = try await world.get("\(Self.path)?sort=updated", as: token, [.prefer: "wait=0"])
      #expect(late.status == 504 && late.code == "mirror/not-ready")
      world.simulator.release()
      let rest = try await world.pages(from: try #require(first.links["next"]), as: token)
      #expect(try first.ids + rest.flatMap { try $0.ids } == expected)
      #expect(world.simulator.requestCount == 3)
    }
  }
}
