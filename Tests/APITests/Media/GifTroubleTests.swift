import HTTP
import JSONText
import Magpie
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// GIPHY in trouble, or out of calls.
@Suite struct GifTroubleTests {
  private static let troubles: [(Fault.Effect, code: String)] = [
    (.synthetic, "upstream/offline"), (.noPagination, "upstream/offline"), (.status(502), "upstream/offline"),
    (.html(200), "upstream/invalid-answer"), (.html(403), "upstream/offline"),
    (.invalidJSON, "upstream/invalid-answer"),
    (.truncatedJSON, "upstream/invalid-answer"), (.cut, "upstream/offline"), (.reset, "upstream/offline"),
    (.huge(bytes: 5 << 20), "upstream/invalid-answer"), (.otherShape, "upstream/invalid-answer"),
    (.echoQuery, "upstream/invalid-answer"), (.redirect("/v1/gifs/search"), "upstream/invalid-answer"),
  ]

  @Test func `what is no answer is never stored, and what is stored stays`() async throws {
    try await GifTests.world { world, token in
      let good = try await world.get("/giphy/v1/gifs/search?q=cat", as: token)
      #expect(good.status == 200)
      for (effect, code) in Self.troubles {
        world.simulator.clearFaults()
        world.simulator.add(Fault(effect, on: "/v1/**"))
        let cold = try await world.get("/giphy/v1/gifs/search?q=dog", as: token)
        #expect(cold.status == 503)
        #expect(cold.code == code, "\(effect)")
        #expect(cold["Retry-After"] != nil)
        #expect(try cold.json["meta"]?["status"]?.int == 503)
        try await world.sql("UPDATE magpie.gif_answer SET fetched_at = now() - interval '20 minutes'")
        let stale = try await world.get("/giphy/v1/gifs/search?q=cat", as: token, [.prefer: "wait=5"])
        #expect(stale.status == 200)
        #expect(stale.body == good.body)
        #expect(stale.cacheStatus == "magpie; fwd=stale; detail=offline", "\(effect)")
        try await world.sql("DELETE FROM magpie.job")
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.gif_answer") == Int64(1))
    }
  }

  @Test(arguments: [Fault.Effect.giphyError(401), .gatewayError(403)])
  func `a key that is refused is not tried again until an administrator says so`(effect: Fault.Effect) async throws {
    try await GifTests.world { world, token in
      world.simulator.add(Fault(effect, on: "/v1/**", times: 1))
      for text in ["cat", "dog"] {
        let answer = try await world.get("/giphy/v1/gifs/search?q=\(text)", as: token)
        #expect(answer.status == 503)
        #expect(answer.code == "upstream/unauthorized")
      }
      #expect(world.simulator.count("/v1/**") == 1)
      // Photos are another service's business.
      world.simulator.setPhotoCount(3)
      #expect(try await world.get("/jsonplaceholder/photos", as: nil).status == 200)
      try await world.sql("UPDATE magpie.credential SET disabled_at = NULL")
      try await world.makeJobsDue()
      try await world.untilIdle()
      #expect(try await world.get("/giphy/v1/gifs/search?q=cat", as: token).cacheStatus == "magpie; hit")
    }
  }

  @Test func `beyond the hour's calls there is what is stored, or a time to come back`() async throws {
    // As many as a beta key has; GIPHY itself would give more here.
    try await GifTests.world(limit: 100, { $0.simulator.limits.giphy = 1_000 }) { world, token in
      for number in 1...100 {
        #expect(try await world.get("/giphy/v1/gifs/search?q=word\(number)", as: token).status == 200)
      }
      let refused = try await world.get("/giphy/v1/gifs/search?q=word101", as: token)
      #expect(refused.status == 503)
      #expect(refused.code == "upstream/rate-limited")
      let seconds = try #require(try refused.json["retry_after"]?.int)
      #expect(3_500...3_700 ~= seconds)
      #expect(try refused.json["meta"]?["status"]?.int == 503)
      try await world.sql("UPDATE magpie.gif_answer SET fetched_at = now() - interval '20 minutes'")
      let stale = try await world.get("/giphy/v1/gifs/search?q=word2", as: token)
      #expect(stale.status == 200)
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=rate-limited")
      #expect(world.simulator.count("/v1/**") == 100)
      // Other upstreams have budgets of their own.
      world.simulator.setPhotoCount(3)
      #expect(try await world.get("/jsonplaceholder/photos", as: nil).status == 200)
      // After the hour it goes on.
      try await world.sql("UPDATE magpie.budget SET reset_at = now() - interval '1 second' WHERE resource = 'calls'")
      try await world.makeJobsDue()
      try await eventually("the search is answered") {
        try await world.get("/giphy/v1/gifs/search?q=word101", as: token).status == 200
      }
    }
  }

  @Test func `when GIPHY itself says that it is enough, nobody asks for a while`() async throws {
    for effect in [Fault.Effect.giphyError(429), .gatewayError(429)] {
      try await GifTests.world { world, token in
        world.simulator.add(Fault(effect, on: "/v1/**"))
        for text in ["cat", "dog"] {
          let answer = try await world.get("/giphy/v1/gifs/search?q=\(text)", as: token)
          #expect(answer.status == 503)
          #expect(answer.code == "upstream/rate-limited")
          #expect(try #require(try answer.json["retry_after"]?.int) > 30)
        }
        #expect(world.simulator.count("/v1/**") == 1)
      }
    }
  }

  @Test func `many who ask the same cause one call, and answers do not last`() async throws {
    try await GifTests.world { world, token in
      world.simulator.hold("/v1/**")
      let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
        for _ in 0..<8 {
          group.addTask { try await world.get("/giphy/v1/gifs/trending", as: token, [.prefer: "wait=30"]) }
        }
        try await world.untilWaiting(8)
        world.simulator.release()
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.allSatisfy { $0.status == 200 })
      #expect(world.simulator.count("/v1/**") == 1)
      // Not shown any more after an hour, and swept away.
      try await world.sql("UPDATE magpie.gif_answer SET fetched_at = now() - interval '61 minutes'")
      world.simulator.add(Fault(.status(502), on: "/v1/**"))
      #expect(try await world.get("/giphy/v1/gifs/trending", as: token).status == 503)
      #expect(try await world.value("SELECT magpie.sweep_gifs()") == Int64(1))
    }
  }

  @Test func `the operator's limit holds from the next start on, and what is spent stays spent`() async throws {
    try await GifTests.world(limit: 50) { world, token in
      _ = try await world.get("/giphy/v1/gifs/trending", as: token)
      #expect(try await left(world) == [50, 49])
      try await world.sql(
        "SELECT magpie.set_budget_limit(b.credential, 'calls', 500) FROM magpie.budget b WHERE b.resource = 'calls'")
      #expect(try await left(world) == [500, 499])
      try await world.sql(
        "SELECT magpie.set_budget_limit(b.credential, 'calls', 1) FROM magpie.budget b WHERE b.resource = 'calls'")
      #expect(try await left(world) == [1, 0])
    }
  }

  private func left(_ world: TestWorld) async throws -> [Int] {
    let rows = try await world.owner.query(
      "SELECT b.window_limit, b.remaining FROM magpie.budget b WHERE b.resource = 'calls'")
    let (limit, remaining) = try #require(rows.first).decode((Int, Int).self)
    return [limit, remaining]
  }
}
