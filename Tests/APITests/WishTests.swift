import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// How fresh clients want data, how long they wait, and what the answers say about it.
@Suite struct WishTests {
  private static let path = "/github/users/octocat/followers"

  private static func options(life: Double? = nil) -> TestWorld.Options {
    var options = TestWorld.Options(.init("octocat", followers: 250))
    if let life {
      options.timeToLive.list = life
      options.timeToLive.profile = life
    }
    return options
  }

  @Test func clientThatDoesNotWaitGetsTheJob() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      world.simulator.hold("/**")
      let answer = try await world.get(Self.path, as: token, [.prefer: "wait=0"])
      #expect(answer.status == 504)
      #expect(answer.code == "mirror/not-ready")
      #expect(answer[.contentType] == "application/problem+json")
      #expect(try answer.json["retry_after"]?.int == 2)
      #expect(answer[.retryAfter] == "2")
      #expect(try answer.json["message"]?.string == "Gateway Timeout")
      #expect(try answer.json["documentation_url"]?.string != nil)
      let job = try #require(answer["Magpie-Job"])
      #expect(try await world.get(job, as: token).json["kind"]?.string == "github-followers")

      let asynchronous = try await world.get(Self.path, as: token, [.prefer: "respond-async, wait=5"])
      #expect(asynchronous.status == 202)
      #expect(asynchronous[.location] == job)
      #expect(asynchronous[.preferenceApplied] == "respond-async")
      #expect(try asynchronous.json["url"]?.string == job)
    }
  }

  @Test func onlyIfCachedAsksNobody() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      for path in [Self.path, "\(Self.path)?q=a", "/github/users/octocat", "/github/user/1"] {
        let answer = try await world.get(path, as: token, [.cacheControl: "only-if-cached"])
        #expect(answer.status == 504)
        #expect(answer.code == "mirror/not-stored")
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      #expect(world.simulator.requestCount == 0)
    }
  }

  @Test func noCacheRefreshesWithValidators() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      _ = try await world.get("\(Self.path)?page=3&per_page=100", as: token)
      try await world.untilIdle()
      let before = try await world.get(Self.path, as: token)
      #expect(before.cacheStatus == "magpie; hit")
      #expect(world.simulator.requestCount == 3)

      let after = try await world.get(Self.path, as: token, [.cacheControl: "no-cache", .prefer: "wait=20"])
      #expect(after.status == 200)
      #expect(after.cacheStatus == "magpie; fwd=request")
      #expect(after.body == before.body)
      #expect(after["Magpie-Fetched-At"] == before["Magpie-Fetched-At"])
      #expect(try #require(after["Magpie-Validated-At"]) > #require(before["Magpie-Validated-At"]))
      #expect(world.simulator.count("/**", status: 304) == 3)
      #expect(world.simulator.requestCount == 6)
      // Unchanged answers are free with a token.
      #expect(world.simulator.remaining(of: "token-1") == 4_997)
    }
  }

  @Test func profileIsRefreshedWithItsValidator() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let first = try await world.get("/github/users/OCTOCAT", as: token)
      #expect(first.cacheStatus == "magpie; fwd=miss")
      // A profile is there a moment before its job has ended, and a job that still runs would be joined.
      try await world.untilIdle()
      let wish: Fields = [.cacheControl: "max-age=0", .prefer: "wait=20"]
      let second = try await world.get("/github/users/octocat", as: token, wish)
      #expect(second.cacheStatus == "magpie; fwd=request")
      try await world.untilIdle()
      #expect(second.body == first.body)
      #expect(world.simulator.count("/users/octocat", status: 304) == 1)
      try world.simulator.edit("octocat", bio: "New.")
      let third = try await world.get("/github/users/octocat", as: token, wish)
      #expect(try third.json["bio"]?.string == "New.")
      #expect(
        try await world.get("/github/users/octocat", as: token, [.cacheControl: "max-age=600"]).cacheStatus
          == "magpie; hit")
      #expect(world.simulator.requestCount == 3)
    }
  }

  @Test func staleAnswerComesAtOnceAndIsRefreshedBehind() async throws {
    try await TestWorld.run(Self.options(life: 0)) { world in
      let token = try await world.token()
      let first = try await world.get("\(Self.path)?page=3&per_page=100", as: token)
      try await world.untilIdle()
      try world.simulator.churnOnce("octocat")
      world.simulator.hold("/**")
      let stale = try await world.get("\(Self.path)?page=3&per_page=100", as: token)
      #expect(stale.status == 200)
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=refreshing")
      #expect(try stale.ids == first.ids)
      #expect(stale["Magpie-Job"] != nil)
      await world.simulator.waitUntilHeld()
      world.simulator.release()
      try await world.untilIdle()
      let cached = try await world.get(
        "\(Self.path)?page=3&per_page=100", as: token, [.cacheControl: "only-if-cached"])
      #expect(cached.cacheStatus == "magpie; hit")
      #expect(cached.coverage == "251/251")
      #expect(try cached.ids.count == 51)
    }
  }

  @Test func clientsValidatorsAreHonored() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      _ = try await world.get("\(Self.path)?page=3&per_page=100", as: token)
      try await world.untilIdle()
      for path in [Self.path, "\(Self.path)?q=a", "/github/users/octocat", "/v1/favorites", "/v1/config"] {
        let first = try await world.get(path, as: token)
        let tag = try #require(first[.etag])
        #expect(first.status == 200 && tag.hasPrefix("\""), "\(path)")
        for condition in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
          let second = try await world.get(path, as: token, [.ifNoneMatch: condition])
          #expect(second.status == 304, "\(path) \(condition)")
          #expect(second.body.isEmpty)
          #expect(second[.etag] == tag)
          #expect(second[.cacheControl] == "private, no-cache")
        }
        #expect(try await world.get(path, as: token, [.ifNoneMatch: "\"other\""]).status == 200)
        let head = try await world.send(.head, path, as: token)
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(head[.etag] == tag)
        #expect(head[.contentLength] == "\(first.body.count)")
      }
    }
  }

  @Test func wrongMethodsAndPathsHaveOneAnswer() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let options = try await world.send(.options, Self.path, as: nil)
      #expect(options.status == 204)
      #expect(options[.allow] == "GET, HEAD, OPTIONS")
      let post = try await world.send(.post, Self.path, as: token, body: "{}")
      #expect(post.status == 405)
      #expect(post[.allow] == "GET, HEAD, OPTIONS")
      for path in ["/github/users/octocat/starred", "/github/users/octocat/", "/github"] {
        #expect(try await world.get(path, as: token).status == 404, "\(path)")
      }
      #expect(try await world.get("/github/users/octocat/starred", as: token).json["message"]?.string == "Not Found")
      #expect(world.simulator.requestCount == 0)
    }
  }
}
