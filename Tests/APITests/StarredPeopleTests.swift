import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

@testable import Magpie

/// The mark on the members of a list that the asking account has starred.
@Suite struct StarredPeopleTests {
  private static func starred(_ answer: Answer) throws -> [Int64: [String]] {
    var tags: [Int64: [String]] = [:]
    for item in try answer.json.elements where item["magpie"]?["favorite"]?.bool == true {
      tags[try #require(item["id"]?.int)] = item["magpie"]?["tags"]?.elements.compactMap(\.string) ?? []
    }
    return tags
  }

  @Test func everyChangeOfTheFavoritesShowsInTheNextPage() async throws {
    try await TestWorld.run(TestWorld.Options(.init("octocat", followers: 40))) { world async throws in
      let ann = try await world.token()
      let bob = try await world.token(of: "bob")
      let path = "/github/users/octocat/followers?per_page=40"
      let ids = try await world.get(path, as: ann, ["Prefer": "wait=20"]).ids
      #expect(try Self.starred(await world.get(path, as: ann)) == [:])
      _ = try await world.send(
        .put, "/v1/favorites/github-user/\(ids[3])", as: ann, body: #"{"tags": ["a b", "c\"d"]}"#)
      _ = try await world.send(.put, "/v1/favorites/github-user/\(ids[7])", as: ann)
      #expect(try Self.starred(await world.get(path, as: ann)) == [ids[3]: ["a b", "c\"d"], ids[7]: []])
      #expect(try Self.starred(await world.get(path + "&q=", as: ann)) == [ids[3]: ["a b", "c\"d"], ids[7]: []])
      #expect(try Self.starred(await world.get(path, as: bob)) == [:])
      // By hand is the same as through the API.
      try await world.owner.query("UPDATE magpie.favorite SET tags = '{z}' WHERE subject_id = \(String(ids[7]))")
      #expect(try Self.starred(await world.get(path, as: ann)) == [ids[3]: ["a b", "c\"d"], ids[7]: ["z"]])
      _ = try await world.send(.delete, "/v1/favorites/github-user/\(ids[3])", as: ann)
      #expect(try Self.starred(await world.get(path, as: ann)) == [ids[7]: ["z"]])
      // Ids that are no numbers stand in nobody's way.
      try await world.owner.query(
        "INSERT INTO magpie.favorite (account_id, kind, subject_id) SELECT id, 'github-user', 'by hand' FROM magpie.account"
      )
      #expect(try Self.starred(await world.get(path, as: ann)) == [ids[7]: ["z"]])
    }
  }

  @Test(arguments: [StarredPeople.maxPeople - 1, StarredPeople.maxPeople, StarredPeople.maxPeople + 1])
  func accountsWithMoreFavoritesThanAreKeptSeeThemToo(count: Int) async throws {
    try await TestWorld.run(TestWorld.Options(.init("octocat", followers: 40))) { world async throws in
      let token = try await world.token()
      let path = "/github/users/octocat/followers?per_page=40"
      let ids = try await world.get(path, as: token, ["Prefer": "wait=20"]).ids
      // Without its triggers the table is filled in a moment; one by hand raises the version.
      try await world.owner.transaction { transaction in
        _ = try await transaction.query("ALTER TABLE magpie.favorite DISABLE TRIGGER USER")
        _ = try await transaction.query(
          """
          INSERT INTO magpie.favorite (account_id, kind, subject_id)
          SELECT a.id, 'github-user', n::text FROM magpie.account a, generate_series(1, \(count - 1)) AS n
          """)
        _ = try await transaction.query("ALTER TABLE magpie.favorite ENABLE TRIGGER USER")
      }
      _ = try await world.send(.put, "/v1/favorites/github-user/\(ids[5])", as: token, body: #"{"tags": ["x"]}"#)
      for _ in 0..<2 { #expect(try Self.starred(await world.get(path, as: token)) == [ids[5]: ["x"]]) }
    }
  }
}
