import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// `GET /github/search/repositories`.
@Suite struct RepositorySearchTests {
  private static let path = "/github/search/repositories"

  private static func items(_ answer: Answer) throws -> [JSONView] {
    try Array(#require(answer.json["items"]).elements)
  }

  private static func ids(_ answers: [Answer]) throws -> [Int64] {
    try answers.flatMap { try items($0).compactMap { $0["id"]?.int } }
  }

  @Test func searchIsGitHubsAnswerInGitHubsShape() async throws {
    try await TestWorld.run(RepositoryListTests.options(40)) { world in
      let token = try await world.token()
      let answer = try await world.get("\(Self.path)?q=e&sort=stars&per_page=5", as: token)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try answer.json.members.map(\.key) == ["total_count", "incomplete_results", "items"])
      let items = try Self.items(answer)
      let stars = items.map { $0["stargazers_count"]?.int ?? -1 }
      #expect(items.count == 5 && stars == stars.sorted(by: >))
      #expect(items[0]["score"]?.double == 1.0 && items[0]["magpie"]?["favorite"]?.bool == false)
      #expect(items[0]["url"]?.string?.hasPrefix("\(world.servers[0].baseURL)/github/repos/octocat/") == true)
      #expect(Set(answer.links.keys) == ["next", "last"])
      let again = try await world.get("\(Self.path)?q=%20E&sort=stars&per_page=5&order=desc", as: token)
      #expect(again.cacheStatus == "magpie; hit" && world.simulator.requestCount == 1)
      // Searches are charged to a budget of their own.
      #expect(world.simulator.remaining(of: "token-1") == 5_000)
    }
  }

  @Test func nothingIsDeletedOrChangedByASearch() async throws {
    try await TestWorld.run(RepositoryListTests.options(40)) { world in
      let token = try await world.token()
      let list = try await world.get("\(RepositoryListTests.path)?per_page=100", as: token)
      world.simulator.add(Fault(.incompleteSearch, on: "/search/repositories"))
      let part = try await world.get("\(Self.path)?q=e&per_page=100", as: token)
      #expect(try part.json["incomplete_results"]?.bool == true)
      #expect(try Self.items(part).count < 40)
      #expect(try await world.get("\(RepositoryListTests.path)?per_page=100", as: token).body == list.body)
    }
  }

  @Test func resultsThatMoveBetweenPagesStandOnce() async throws {
    try await TestWorld.run(RepositoryListTests.options(60)) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.unstableSearch, on: "/search/repositories"))
      let pages = try await world.pages(from: "\(Self.path)?q=e&per_page=10", as: token)
      let ids = try Self.ids(pages)
      #expect(pages.count > 2 && Set(ids).count == ids.count)
    }
  }

  @Test func limitsOfASearchCostNoRequest() async throws {
    try await TestWorld.run(RepositoryListTests.options(3)) { world in
      let token = try await world.token()
      for query in ["q=e&per_page=100&page=11", "q=", "sort=stars", "q=e&sort=followers", "q=e&order=up"] {
        let answer = try await world.get("\(Self.path)?\(query)", as: token)
        #expect(answer.status == 422, "\(query) \(answer.text)")
      }
      let sort = try await world.get("\(Self.path)?q=e&sort=followers", as: token)
      #expect(sort.text.contains("stars, forks, help-wanted-issues, updated"))
      #expect(world.simulator.requestCount == 0)
      #expect(try await world.get("\(Self.path)?q=e&per_page=100&page=10", as: token).status == 200)
    }
  }

  @Test func favoritesAreMarked() async throws {
    try await TestWorld.run(RepositoryListTests.options(10)) { world in
      let token = try await world.token()
      let id = try #require(try Self.ids([try await world.get("\(Self.path)?q=e", as: token)]).first)
      try await world.sql(
        """
        INSERT INTO magpie.favorite (account_id, kind, subject_id)
        SELECT a.id, 'github-repo', \(String(id))::text FROM magpie.account a WHERE a.username = 'ann'
        """)
      let marked = try Self.items(try await world.get("\(Self.path)?q=e", as: token))
        .filter { $0["magpie"]?["favorite"]?.bool == true }
      #expect(marked.compactMap { $0["id"]?.int } == [id])
    }
  }
}
