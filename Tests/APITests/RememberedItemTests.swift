import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// What a server remembers of a list never shows: answers are those of a server that remembers nothing.
@Suite struct RememberedItemTests {
  private static let path = "/github/users/octocat/followers?per_page=100&page=2"

  @Test func everyServerGivesTheSamePageAndTheSameTag() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 250))
    options.servers = 2
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      _ = try await world.pages(from: "/github/users/octocat/followers?per_page=100", as: token)
      try await world.untilIdle()
      let seen = try await world.get(Self.path, as: token)
      #expect(try seen.ids.count == 100)
      // A part of it, then the whole again, on a server that has seen none of it: links are each server's own.
      _ = try await world.get("/github/users/octocat/followers?per_page=30&page=5", as: token, to: 1)
      let other = try await world.get(Self.path, as: token, to: 1)
      #expect(other.text.replacing(world.servers[1].baseURL, with: world.servers[0].baseURL) == seen.text)
      #expect(other[.etag] != seen[.etag])
      let again = try await world.get(Self.path, as: token, [.ifNoneMatch: try #require(seen[.etag])])
      #expect(again.status == 304)
      #expect(try await world.get(Self.path, as: token).body == seen.body)
    }
  }

  @Test func whatTheNextReadingOfTheListChangesShowsAtOnce() async throws {
    try await TestWorld.run(TestWorld.Options(.init("octocat", followers: 250))) { world in
      let token = try await world.token()
      _ = try await world.pages(from: "/github/users/octocat/followers?per_page=100", as: token)
      try await world.untilIdle()
      let before = try await world.get(Self.path, as: token)
      let id = try before.ids[40]
      let login = try #require(world.simulator.login(of: id))
      try world.simulator.rename(login, to: "renamed-person")
      let fresh: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]
      let after = try await world.get(Self.path, as: token, fresh)
      #expect(after.cacheStatus == "magpie; fwd=request")
      #expect(try after.ids == before.ids)
      #expect(after[.etag] != before[.etag])
      #expect(try Array(after.json.elements)[40]["login"]?.string == "renamed-person")
      #expect(!after.text.contains("\"\(login)\""))
    }
  }

  @Test func theMarkOfAFavoriteIsPartOfTheTag() async throws {
    try await TestWorld.run(TestWorld.Options(.init("octocat", followers: 250))) { world in
      let token = try await world.token()
      _ = try await world.pages(from: "/github/users/octocat/followers?per_page=100", as: token)
      try await world.untilIdle()
      var tags: Set<String> = []
      let ids = try await world.get(Self.path, as: token).ids
      for body in [nil, #"{"tags":[]}"#, #"{"tags":["a","b"]}"#, #"{"tags":["a b"]}"#] {
        if let body {
          _ = try await world.send(.put, "/v1/favorites/github-user/\(ids[1])", as: token, body: body)
        }
        tags.insert(try #require(try await world.get(Self.path, as: token)[.etag]))
      }
      _ = try await world.send(.put, "/v1/favorites/github-user/\(ids[2])", as: token)
      tags.insert(try #require(try await world.get(Self.path, as: token)[.etag]))
      #expect(tags.count == 5)
    }
  }
}
