import HTTP
import Testing

@testable import UpstreamSimulator

@Suite struct GateTests {
  @Test func walkStopsAtAPageUntilItIsReleased() async throws {
    try await Bench.run { bench async throws in
      let simulator = bench.simulator
      let gate = simulator.hold("/user/*/followers?page=4")
      async let walk = bench.walk("/users/octocat/followers?per_page=100")
      #expect(await simulator.waitUntilHeld())
      #expect(simulator.held == ["/user/583231/followers?per_page=100&page=4"])
      #expect(simulator.requestCount == 3)
      #expect(simulator.release(gate) == 1)
      #expect(try await walk.count == 1240)
      #expect(simulator.held == [])
      #expect(simulator.requestCount == 13)
    }
  }

  @Test func heldRequestSeesTheWorldOfItsRelease() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.hold("/users/octocat")
      async let answer = bench.get("/users/octocat")
      #expect(await bench.simulator.waitUntilHeld())
      try bench.simulator.edit("octocat", name: "Later")
      bench.simulator.release()
      #expect(try await answer.json()["name"]?.string == "Later")
    }
  }

  @Test func gateHoldsAsManyAsSaid() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.hold("/users/octocat", times: 1)
      async let held = bench.get("/users/octocat")
      #expect(await bench.simulator.waitUntilHeld())
      #expect(try await bench.get("/users/octocat").status == 200)
      #expect(bench.simulator.releaseOne())
      #expect(!bench.simulator.releaseOne())
      #expect(try await held.status == 200)
    }
  }

  @Test func releasedOneByOneTheGateStaysClosed() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.hold("/users/**")
      async let walk = bench.walk("/users/octocat/followers?per_page=100")
      #expect(await bench.simulator.waitUntilHeld())
      #expect(bench.simulator.releaseOne())
      #expect(try await walk.count == 1240)
      async let again = bench.get("/users/octocat")
      #expect(await bench.simulator.waitUntilHeld())
      bench.simulator.release()
      #expect(try await again.status == 200)
    }
  }

  @Test func stoppingLetsEverythingGo() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.hold("/users/octocat")
      async let answer = bench.get("/users/octocat")
      #expect(await bench.simulator.waitUntilHeld())
      async let never = bench.simulator.waitUntilHeld(2)
      await bench.simulator.stop()
      #expect(try await answer.status == 200)
      #expect(await never == false)
    }
  }
}

@Suite struct TrafficTests {
  @Test func logKeepsTheLastEntriesInOrder() async throws {
    try await Bench.run(configure: { $0.logCapacity = 3 }) { bench async throws in
      for page in 1...5 { _ = try await bench.get("/users/octocat/followers?page=\(page)") }
      #expect(bench.simulator.requestCount == 5)
      #expect(bench.simulator.log().map(\.number) == [3, 4, 5])
      #expect(bench.simulator.log("/users/*/followers?page=4").map(\.target) == ["/users/octocat/followers?page=4"])
      #expect(bench.simulator.count("/users/*/followers?page=1") == 0)
      bench.simulator.resetStatistics()
      #expect(bench.simulator.requestCount == 0)
      #expect(bench.simulator.log() == [])
      #expect(bench.simulator.statistics == [:])
    }
  }

  @Test func entriesSayWhoAskedAndHow() async throws {
    try await Bench.run { bench async throws in
      let tag = try #require(try await bench.get("/users/octocat").fields[.etag])
      _ = try await bench.get("/users/octocat", ["If-None-Match": tag])
      _ = try await bench.get("/users/octocat", token: nil)
      _ = try await bench.get("/users/octocat", token: "github_pat_0123456789abcdef")
      bench.simulator.revokeToken("other")
      _ = try await bench.get("/users/octocat", token: "other")
      let log = bench.simulator.log()
      #expect(log.map(\.credential) == ["ann", "ann", "anonymous", "github…cdef", "invalid"])
      #expect(log.map(\.status) == [200, 304, 200, 200, 401])
      #expect(log.map(\.conditional) == [false, true, false, false, false])
      #expect(log.map(\.time) == Array(repeating: 1_767_225_600, count: 5))
    }
  }
}
