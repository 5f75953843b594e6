import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// `GET /github/search/users`.
@Suite struct SearchTests {
  static func options(_ adjust: (inout TestWorld.Options) -> Void = { _ in }) -> TestWorld.Options {
    var options = TestWorld.Options(
      .init("octocat", followers: 3), .init("octopus-one", followers: 1), .init("octopus-two", followers: 1),
      .init("zebra", followers: 1))
    adjust(&options)
    return options
  }

  static func logins(_ answer: Answer) throws -> [String] {
    try #require(answer.json["items"]).elements.map { try #require($0["login"]?.string) }
  }

  @Test func searchIsGitHubsAnswerInGitHubsShape() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let answer = try await world.get("/github/search/users?q=octo", as: token)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try answer.json.members.map(\.key) == ["total_count", "incomplete_results", "items"])
      #expect(try answer.json["total_count"]?.int == 3)
      #expect(try answer.json["incomplete_results"]?.bool == false)
      #expect(try Self.logins(answer) == ["octocat", "octopus-one", "octopus-two"])
      let first = try #require(try answer.json["items"]?.elements.first { _ in true })
      #expect(first["score"]?.double == 1.0)
      #expect(first["magpie"]?["favorite"]?.bool == false)
      #expect(first["url"]?.string == "\(world.servers[0].baseURL)/github/users/octocat")
      #expect(answer.cacheStatus == "magpie; fwd=miss")
      #expect(answer.links.isEmpty)
      #expect(world.simulator.requestCount == 1)
    }
  }

  @Test func theSameSearchInOtherWordsIsAskedOnce() async throws {
    try await TestWorld.run(Self.options { $0.servers = 2 }) { world in
      let token = try await world.token()
      let other = try await world.token(of: "bob")
      for (number, path) in ["q=OCTO%20cat", "q=%20octo+++Cat", "q=octo%20cat&order=asc"].enumerated() {
        let answer = try await world.get(
          "/github/search/users?\(path)", as: number == 1 ? other : token, to: number % 2)
        #expect(answer.status == 200)
        #expect(answer.cacheStatus == (number == 0 ? "magpie; fwd=miss" : "magpie; hit"))
      }
      #expect(world.simulator.requestCount == 1)
      // An operator counts in capitals only, and another page or order is another answer.
      for path in ["q=octo%20NOT%20cat", "q=octo%20not%20cat", "q=octo%20cat&page=2", "q=octo%20cat&sort=joined"] {
        _ = try await world.get("/github/search/users?\(path)", as: token)
      }
      #expect(world.simulator.requestCount == 5)
    }
  }

  @Test func manyWhoSearchAtOnceAreOneRequest() async throws {
    try await TestWorld.run(Self.options { $0.servers = 3 }) { world in
      let token = try await world.token()
      world.simulator.hold("/search/users")
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<30 {
          group.addTask {
            try await world.get("/github/search/users?q=octo", as: token, [.prefer: "wait=30"], to: number % 3).status
          }
        }
        try await world.untilWaiting(30)
        world.simulator.release()
        for try await status in group { #expect(status == 200) }
      }
      #expect(world.simulator.requestCount == 1)
    }
  }

  @Test func whoTypesIsAnsweredAtOnceByWhatIsStored() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      for login in ["octocat", "octopus-one", "zebra"] {
        #expect(try await world.get("/github/users/\(login)", as: token).status == 200)
      }
      try await world.sql("UPDATE magpie.github_user SET name = 'Óctavia Zebra' WHERE login = 'zebra'")
      world.simulator.hold("/search/users")
      let typed: Fields = [.prefer: "wait=0"]
      let local = try await world.get("/github/search/users?q=Oct", as: token, typed)
      #expect(local.status == 200, "\(local.text)")
      // By login first, then by name, whatever the accents.
      #expect(try Self.logins(local) == ["octocat", "octopus-one", "zebra"])
      #expect(try local.json["incomplete_results"]?.bool == true)
      #expect(try local.json["total_count"]?.int == 3)
      #expect(try local.json["items"]?.elements.allSatisfy { $0["magpie"]?["local"]?.bool == true } == true)
      #expect(local.cacheStatus == "magpie; hit; detail=refreshing")
      #expect(local["Magpie-Job"] != nil)
      // Nobody begins like this, and that is no error either.
      let nobody = try await world.get("/github/search/users?q=octocatx", as: token, typed)
      #expect(nobody.status == 200)
      #expect(try Self.logins(nobody).isEmpty)
      #expect(try nobody.json["incomplete_results"]?.bool == true)
      // Wildcards are letters like others, and qualifiers cannot be looked for here.
      #expect(try Self.logins(try await world.get("/github/search/users?q=oct%25", as: token, typed)).isEmpty)
      let qualified = try await world.get("/github/search/users?q=oct%20type:user", as: token, typed)
      #expect(qualified.status == 504 && qualified.code == "mirror/not-ready")

      world.simulator.release()
      let whole = try await world.get("/github/search/users?q=Oct", as: token)
      #expect(try Self.logins(whole).starts(with: ["octocat", "octopus-one", "octopus-two"]))
      #expect(try whole.json["incomplete_results"]?.bool == false)
      #expect(try whole.json["items"]?.elements.allSatisfy { $0["magpie"]?["local"] == nil } == true)
    }
  }

  @Test func whoeverASearchHasShownIsFoundByPrefixFromThenOn() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/search/users?q=pus-t", as: token).status == 200)
      let local = try await world.get(
        "/github/search/users?q=octopus", as: token, [.cacheControl: "only-if-cached"])
      #expect(try Self.logins(local) == ["octopus-two"])
      #expect(local.cacheStatus == "magpie; hit; detail=partial")
      #expect(world.simulator.requestCount == 1)
      let nobody = try await world.get("/github/search/users?q=zeb", as: token, [.cacheControl: "only-if-cached"])
      #expect(nobody.status == 504 && nobody.code == "mirror/not-stored")
    }
  }

  /// A search's index lags behind: it must not give a login back that somebody has left.
  @Test func searchChangesNobodyWhoIsKnown() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      let id: Int64 = try await world.value("SELECT id FROM magpie.github_user WHERE login = 'octocat'")
      try await world.sql(
        "UPDATE magpie.github_user SET login = 'mona', login_key = 'mona', search = 'mona' WHERE id = \(id)")
      #expect(try Self.logins(try await world.get("/github/search/users?q=octocat", as: token)) == ["octocat"])
      #expect(try await world.value("SELECT login FROM magpie.github_user WHERE id = \(id)") == "mona")
    }
  }

  @Test func resultsEndAtAThousandWithoutAskingGitHub() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let answer = try await world.get("/github/search/users?q=a&per_page=100&page=10", as: token)
      #expect(answer.status == 200)
      #expect(try #require(try answer.json["total_count"]?.int) > 1_000)
      #expect(try Self.logins(answer).count == 100)
      #expect(answer.links["next"] == nil && answer.links["last"] == nil)
      let thirty = try await world.get("/github/search/users?q=a&page=34", as: token)
      #expect(thirty.status == 200)
      #expect(try Self.logins(thirty).count == 10)
      let first = try await world.get("/github/search/users?q=a&per_page=100", as: token)
      #expect(first.links["last"]?.hasSuffix("page=10") == true)
      #expect(first.links["next"] == "\(world.servers[0].baseURL)/github/search/users?q=a&per_page=100&page=2")
      let count = world.simulator.requestCount
      for path in ["per_page=100&page=11", "page=35", "page=1000000000", "per_page=1&page=1001"] {
        let beyond = try await world.get("/github/search/users?q=a&\(path)", as: token)
        #expect(beyond.status == 422)
        #expect(beyond.code == "github/search-cap")
        #expect(try beyond.json["message"]?.string == "Only the first 1000 search results are available")
        #expect(try beyond.json["errors"] == nil)
      }
      #expect(world.simulator.requestCount == count)
    }
  }

  @Test func badQueriesAreRefusedInGitHubsWordsWithoutAskingGitHub() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      for path in ["", "?q=", "?q=%20+"] {
        let answer = try await world.get("/github/search/users\(path)", as: token)
        #expect(answer.status == 422)
        #expect(try answer.json["message"]?.string == "Validation Failed")
        let error = try #require(try answer.json["errors"]?.elements.first { _ in true })
        #expect(error["code"]?.string == "missing" && error["field"]?.string == "q")
        #expect(error["resource"]?.string == "Search")
        #expect(answer.pointers == ["/q"])
      }
      let long = String(repeating: "ä", count: 257).utf8.map { "%\(String($0, radix: 16))" }.joined()
      let refused = try await world.get("/github/search/users?q=\(long)", as: token)
      #expect(refused.status == 422)
      #expect(try refused.json["errors"]?.elements.first { _ in true }?["code"]?.string == "invalid")
      for (path, words) in [
        ("sort=stars", "followers, repositories, joined"), ("order=up", "desc, asc"), ("per_page=0", "from 1"),
      ] {
        let answer = try await world.get("/github/search/users?q=a&\(path)", as: token)
        #expect(answer.status == 422 && answer.text.contains(words))
      }
      #expect(try await world.get("/github/search/users?q=a", as: nil).status == 401)
      #expect(world.simulator.requestCount == 0)
      // At the limit: 256 characters, and qualifiers beside them.
      let longest = String(repeating: "b", count: 256)
      #expect(try await world.get("/github/search/users?q=\(longest)", as: token).status == 200)
      #expect(
        try await world.get("/github/search/users?q=\(longest.dropLast(2))%20c%20type:user", as: token).status == 200)
    }
  }

  /// PyGithub#2762: `user:` with somebody who is not there.
  @Test func aRefusedQueryIsAClientErrorThatIsKeptForAShortWhile() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let path = "/github/search/users?q=user:nobody-at-all"
      for _ in 0..<3 {
        let answer = try await world.get(path, as: token)
        #expect(answer.status == 422)
        #expect(answer.code == "github/search-refused")
        #expect(try answer.json["message"]?.string == "Validation Failed")
        let error = try #require(try answer.json["errors"]?.elements.first { _ in true })
        #expect(error["code"]?.string == "invalid" && error["resource"]?.string == "Search")
        #expect(error["message"]?.string?.hasPrefix("The listed users cannot be searched") == true)
      }
      #expect(world.simulator.requestCount == 1)
      #expect(try await world.value("SELECT count(*) FROM magpie.job_done WHERE state = 'discarded'") == 0)
      try world.simulator.add(.init("nobody-at-all", followers: 1))
      try await world.sql("UPDATE magpie.search_page SET validated_at = now() - interval '61 seconds'")
      #expect(try await world.get(path, as: token).status == 200)
      #expect(world.simulator.requestCount == 2)
    }
  }

  @Test func foundRepositoriesAreThereWhenTheUpstreamIsNot() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      var builder = Simulator.Configuration.User("builder", followers: 1)
      builder.repositories = 40
      try world.simulator.add(builder)
      let list = try await world.get("/github/users/builder/repos?per_page=100", as: token, [.prefer: "wait=30"])
      let names = try list.json.elements.compactMap { $0["name"]?.string }
      let name = try #require(names.first { $0.count > 4 })
      try await world.sql("DELETE FROM magpie.github_repo")
      let found = try await world.get("/github/search/repositories?q=\(name)", as: token, [.prefer: "wait=30"])
      let first = try #require(try found.json["items"]?.elements.first { $0["name"]?.string == name })
      let id = try #require(first["id"]?.int)
      // The search has made it known, and has not passed for its list or its record.
      let key: String = try await world.value("SELECT r.name_key FROM magpie.github_repo r WHERE r.id = \(id)")
      #expect(key == "builder/\(name)".lowercased())
      world.simulator.add(Fault(.status(502), on: "/search/repositories"))
      for text in [String(name.prefix(4)), "builder/\(name.prefix(2))"] {
        let local = try await world.get("/github/search/repositories?q=\(text)", as: token, [.prefer: "wait=0"])
        #expect(local.status == 200)
        #expect(try local.json["incomplete_results"]?.bool == true)
        let item = try #require(try local.json["items"]?.elements.first { $0["id"]?.int == id })
        #expect(item["magpie"]?["local"]?.bool == true && item["score"]?.double == 0)
        #expect(item["full_name"]?.string == "builder/\(name)")
      }
      // What is known by its record is not changed by what a search says.
      let record = try await world.get("/github/repos/builder/\(name)", as: token, [.prefer: "wait=30"])
      #expect(record.status == 200)
      try await world.sql("UPDATE magpie.github_repo SET stars = 12345")
      world.simulator.clearFaults()
      _ = try await world.get(
        "/github/search/repositories?q=\(name)", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(try await world.value("SELECT r.stars FROM magpie.github_repo r WHERE r.id = \(id)") == Int64(12_345))
    }
  }

  @Test func anIncompleteSearchSaysSoAndRemovesNobody() async throws {
    try await TestWorld.run(Self.options { $0.timeToLive.search = 0 }) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/search/users?q=octo", as: token).status == 200)
      world.simulator.add(Fault(.incompleteSearch, on: "/search/users"))
      let part = try await world.get(
        "/github/search/users?q=octo", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(try part.json["incomplete_results"]?.bool == true)
      // GitHub showed one of three; those who are stored follow it.
      #expect(try part.json["total_count"]?.int == 3)
      #expect(try Self.logins(part) == ["octocat", "octopus-one", "octopus-two"])
      let local = try #require(try part.json["items"]).elements.map { $0["magpie"]?["local"]?.bool == true }
      #expect(local == [false, true, true])
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user WHERE state = 'ok'") == 3)
    }
  }

  /// sourcegraph#3363: what GitHub had no time to end is soon asked anew, and does not hide others for long.
  @Test func anIncompleteSearchIsKeptForAShortWhile() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let path = "/github/search/users?q=octo"
      world.simulator.add(Fault(.incompleteSearch, on: "/search/users", times: 1))
      let part = try await world.get(path, as: token)
      #expect(try part.json["incomplete_results"]?.bool == true)
      #expect(try await world.get(path, as: token).cacheStatus == "magpie; hit")
      #expect(world.simulator.requestCount == 1)
      // On the next page stands whom the first has shown, which is no news as long as that page is an answer.
      let second = "/github/search/users?q=sven&per_page=10&page=2"
      _ = try await world.get("/github/search/users?q=sven&per_page=10", as: token)
      _ = try await world.get(second, as: token)
      try await world.sql(
        """
        UPDATE magpie.search_page s SET is_incomplete = true, ids = o.ids, documents = o.documents
          FROM magpie.search_page o WHERE s.query = 'sven' AND s.page = 1 AND o.search_key = s.search_key AND o.page = 2
        """)
      #expect(try Self.logins(try await world.get(second, as: token)).isEmpty)

      let count = world.simulator.requestCount
      try await world.sql(
        "UPDATE magpie.search_page SET validated_at = now() - interval '61 seconds' WHERE is_incomplete")
      #expect(try Self.logins(try await world.get(second, as: token)).count == 10)
      let stale = try await world.get(path, as: token)
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=refreshing")
      try await world.untilIdle()
      #expect(world.simulator.requestCount == count + 1)
      let whole = try await world.get(path, as: token)
      #expect(try whole.json["incomplete_results"]?.bool == false && whole.cacheStatus == "magpie; hit")
      // A whole one is an answer for longer.
      try await world.sql("UPDATE magpie.search_page SET validated_at = now() - interval '61 seconds'")
      #expect(try await world.get(path, as: token).cacheStatus == "magpie; hit")
    }
  }

  /// PyGithub#1748: the order changes between requests, so that one comes twice.
  @Test func nobodyStandsOnTwoPages() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let first = try await world.get("/github/search/users?q=sven&per_page=10", as: token)
      world.simulator.add(Fault(.unstableSearch, on: "/search/users"))
      let second = try await world.get("/github/search/users?q=sven&per_page=10&page=2", as: token)
      let both = try Self.logins(first) + Self.logins(second)
      #expect(Set(both).count == both.count)
      #expect(both.count == 19)
      #expect(second.links["next"] != nil)
    }
  }

  @Test func searchesAreChargedToTheirOwnBudget() async throws {
    try await TestWorld.run(Self.options { $0.simulator.limits.search = 3 }) { world in
      let token = try await world.token()
      for word in ["a", "b", "c"] {
        #expect(try await world.get("/github/search/users?q=\(word)", as: token).status == 200)
      }
      let spent = try await world.get("/github/search/users?q=xyzzy", as: token, [.prefer: "wait=30"])
      #expect(spent.status == 503)
      #expect(spent.code == "upstream/rate-limited")
      #expect(try (1...66).contains(#require(try spent.json["retry_after"]?.int)))
      // GitHub is not asked before the time, and other work goes on meanwhile.
      #expect(world.simulator.count("/search/users") == 3)
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      let local = try await world.get("/github/search/users?q=octoc", as: token)
      #expect(try Self.logins(local) == ["octocat"])
      #expect(local.cacheStatus == "magpie; hit; detail=rate-limited")
      #expect(world.simulator.count("/search/users") == 3)
      // What is stored comes as it is, whatever the budget.
      let hit = try await world.get("/github/search/users?q=a", as: token)
      #expect(hit.cacheStatus == "magpie; hit")
    }
  }

  @Test func aStaleSearchComesAtOnceAndIsAskedAnewBehind() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let path = "/github/search/users?q=octo"
      let first = try await world.get(path, as: token)
      let same = try await world.get(path, as: token, [.ifNoneMatch: try #require(first[.etag])])
      #expect(same.status == 304)
      try await world.sql("UPDATE magpie.search_page SET validated_at = now() - interval '601 seconds'")
      try world.simulator.add(.init("octothree", followers: 1))
      let stale = try await world.get(path, as: token)
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=refreshing")
      #expect(stale.body == first.body)
      try await world.untilIdle()
      let fresh = try await world.get(path, as: token)
      #expect(fresh.cacheStatus == "magpie; hit")
      #expect(try Self.logins(fresh).count == 4)
      #expect(world.simulator.requestCount == 2)
    }
  }

  @Test(arguments: [Fault.Effect.invalidJSON, .otherShape, .idsAsStrings, .cut, .html(503), .status(502)])
  func aBrokenAnswerIsNotKept(effect: Fault.Effect) async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      world.simulator.add(Fault(effect, on: "/search/users"))
      let answer = try await world.get("/github/search/users?q=octo", as: token, [.prefer: "wait=30"])
      #expect(answer.status == 503)
      #expect(["upstream/invalid-answer", "upstream/offline"].contains(answer.code))
      #expect(try await world.value("SELECT count(*) FROM magpie.search_page") == 0)
      world.simulator.clearFaults()
      try await world.makeJobsDue()
      #expect(try await world.get("/github/search/users?q=octo", as: token, [.prefer: "wait=30"]).status == 200)
    }
  }

  @Test func favoritesShowInSearches() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let starred = try await world.send(
        .put, "/v1/favorites/github-user/%40octocat", as: token, body: #"{"tags":["cats"]}"#)
      #expect(starred.status == 201)
      let other = try await world.token(of: "bob")
      for (token, expected) in [(token, true), (other, false)] {
        let answer = try await world.get("/github/search/users?q=octo", as: token)
        let first = try #require(try answer.json["items"]?.elements.first { _ in true })
        #expect(first["magpie"]?["favorite"]?.bool == expected)
      }
    }
  }

  @Test func oldAnswersAreSweptAway() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      for word in ["a", "b", "c"] { _ = try await world.get("/github/search/users?q=\(word)", as: token) }
      try await world.sql("UPDATE magpie.search_page SET validated_at = now() - interval '2 days' WHERE query = 'a'")
      #expect(try await world.value("SELECT magpie.sweep_searches()") == Int64(1))
      try await world.sql("UPDATE magpie.search_page SET validated_at = now() - interval '1 hour' WHERE query = 'b'")
      #expect(try await world.value("SELECT magpie.sweep_searches('1 day', 1)") == Int64(1))
      #expect(try await world.value("SELECT query FROM magpie.search_page") == "c")
    }
  }
}
