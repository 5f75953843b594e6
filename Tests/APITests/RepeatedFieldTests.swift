import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// List fields may come in several lines, which are one list (RFC 9110, 5.3).
@Suite struct RepeatedFieldTests {
  private static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 30))) { world in
      try await body(world, try await world.token())
    }
  }

  private static func lines(_ name: Fields.Name, _ values: String...) -> Fields {
    var fields: Fields = [:]
    for value in values { fields.append(name, value) }
    return fields
  }

  @Test func anyOfTheTagsIsEnough() async throws {
    try await Self.run { world, token async throws in
      for path in ["/github/users/octocat", "/v1/favorites"] {
        let tag = try #require(try await world.get(path, as: token)[.etag])
        let known = try await world.get(path, as: token, Self.lines(.ifNoneMatch, "\"other\"", tag))
        #expect(known.status == 304, "\(path)")
        #expect(try await world.get(path, as: token, Self.lines(.ifNoneMatch, "\"a\"", "\"b\"")).status == 200)
      }
      #expect(try await world.send(.put, "/v1/favorites/photo/1", as: token).status == 201)
      let change = #"{"note": "n"}"#
      let fields = Self.lines(.ifMatch, "\"v9\"", "\"v1\"")
      #expect(try await world.send(.patch, "/v1/favorites/photo/1", as: token, fields, body: change).status == 200)
    }
  }

  @Test func everyWishCounts() async throws {
    try await Self.run { world, token async throws in
      let gate = world.simulator.hold("/**")
      let path = "/github/users/octocat/followers"
      let job = try await world.get(path, as: token, Self.lines(.prefer, "wait=0", "respond-async"))
      #expect(job.status == 202)
      world.simulator.release(gate)
      try await world.untilIdle()
      let count = world.simulator.requestCount
      let stored = try await world.get(path, as: token, Self.lines(.cacheControl, "max-age=0", "only-if-cached"))
      #expect(stored.status == 200 && stored["Magpie-Job"] == nil)
      try await world.untilIdle()
      #expect(world.simulator.requestCount == count)
    }
  }

  @Test func emptyCursorBegins() async throws {
    try await Self.run { world, token async throws in
      for path in ["/v1/favorites", "/v1/collections", "/v1/sessions"] {
        #expect(try await world.get("\(path)?cursor=", as: token).status == 200)
        #expect(try await world.get("\(path)?cursor=x", as: token).status == 400)
      }
    }
  }

  @Test func whatIsNoTimeIsNotAskedFor() async throws {
    try await Self.run { world, token async throws in
      for query in ["since=nonsense", "until=2024-13-01", "since=2024-01-01T00:00"] {
        let answer = try await world.get("/github/repos/octocat/hello/commits?\(query)", as: token)
        #expect(answer.status == 422, "\(query)")
      }
      #expect(world.simulator.requestCount == 0)
    }
  }
}
