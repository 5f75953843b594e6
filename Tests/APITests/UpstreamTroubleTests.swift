import EventLoop
import HTTP
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// The upstream is away, slow, or limits us: what is stored still comes, and what is not has one clear answer.
@Suite struct UpstreamTroubleTests {
  private static let path = "/github/users/octocat/followers"

  private static func options(_ adjust: (inout TestWorld.Options) -> Void = { _ in }) -> TestWorld.Options {
    var options = TestWorld.Options(.init("octocat", followers: 150))
    options.timeToLive.list = 0
    options.timeToLive.profile = 0
    adjust(&options)
    return options
  }

  /// An effect, the code of the problem, and the detail beside a stored answer.
  static let troubles: [(Fault.Effect, String, String)] = [
    (.reset, "upstream/offline", "offline"), (.cut, "upstream/offline", "offline"),
    (.status(500), "upstream/offline", "offline"), (.status(502), "upstream/offline", "offline"),
    (.status(503), "upstream/offline", "offline"), (.html(503), "upstream/offline", "offline"),
    (.primaryLimit, "upstream/rate-limited", "rate-limited"),
    (.secondaryLimit, "upstream/rate-limited", "rate-limited"),
    (.forbidden, "upstream/refused", "refreshing"),
  ]

  @Test(arguments: troubles.indices)
  func nothingStoredIsAnsweredWellBeforeTheWaitIsOver(number: Int) async throws {
    let (effect, code, _) = Self.troubles[number]
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      world.simulator.add(Fault(effect, on: "/**"))
      let clock = ContinuousClock()
      let start = clock.now
      let answer = try await world.get(Self.path, as: token, [.prefer: "wait=30"])
      #expect(clock.now - start < .seconds(20))
      #expect(answer.status == 503)
      #expect(answer.code == code)
      let seconds = try #require(try answer.json["retry_after"]?.int)
      #expect(seconds >= 1)
      #expect(answer[.retryAfter] == "\(seconds)")
      if code == "upstream/rate-limited" { #expect((50...3_700).contains(seconds)) }
      // By itself the job would be tried again soon.
      try await eventually("the job rests for long") {
        try await world.sql(
          "UPDATE magpie.job SET available_at = now() + interval '1 hour' WHERE state = 'scheduled'")
        return try await world.value(
          "SELECT count(*) FROM magpie.job WHERE state <> 'scheduled' OR available_at < now() + interval '50 minutes'")
          == Int64(0)
      }
      // Whoever comes next is told at once, and the upstream is left alone.
      let count = world.simulator.requestCount
      let next = try await world.get(Self.path, as: token, [.prefer: "wait=30"])
      #expect(next.status == 503 && next.code == code)
      if effect != .forbidden {
        #expect(world.simulator.requestCount == count)
        #expect(next["Magpie-Job"] != nil)
        let job = try await world.get(try #require(next["Magpie-Job"]), as: token)
        #expect(job.status == 200)
      }

      world.simulator.clearFaults()
      world.simulator.setBudget(of: "token-1", remaining: 5_000)
      try await Self.recover(world)
      let recovered = try await world.get(Self.path, as: token, [.prefer: "wait=30"])
      #expect(recovered.status == 200)
    }
  }

  @Test(arguments: troubles.indices)
  func storedAnswersComeAtOnce(number: Int) async throws {
    let (effect, _, detail) = Self.troubles[number]
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      _ = try await world.pages(from: "\(Self.path)?per_page=100", as: token)
      try await world.untilIdle()
      // The pages above made it stale and had it refreshed; this one starts nothing.
      let before = try await world.get("\(Self.path)?per_page=100", as: token, [.cacheControl: "only-if-cached"])
      try world.simulator.churnOnce("octocat")
      world.simulator.add(Fault(effect, on: "/**"))
      let clock = ContinuousClock()
      let start = clock.now
      let answer = try await world.get(
        "\(Self.path)?per_page=100", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(clock.now - start < .seconds(20))
      #expect(answer.status == 200)
      #expect(answer.cacheStatus == "magpie; fwd=stale; detail=\(detail)")
      #expect(answer.body == before.body)
      #expect(answer["Magpie-Validated-At"] != nil && answer["Magpie-Validated-At"] == before["Magpie-Validated-At"])

      world.simulator.clearFaults()
      world.simulator.setBudget(of: "token-1", remaining: 5_000)
      try await Self.recover(world)
      let fresh = try await world.get(Self.path, as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(fresh.cacheStatus == "magpie; fwd=request")
      #expect(fresh.coverage == "151/151")
    }
  }

  /// Time passes: limits end, jobs are tried again, and what was given up is forgotten.
  private static func recover(_ world: TestWorld) async throws {
    try await world.sql("DELETE FROM magpie.job_done WHERE state = 'discarded'")
    try await world.sql("UPDATE magpie.credential SET blocked_until = '-infinity', bucket_at = now()")
    try await world.sql("UPDATE magpie.budget SET remaining = window_limit, reset_at = '-infinity', confirmed = false")
    try await world.makeJobsDue()
  }

  @Test func upstreamThatIsGoneAndComesBack() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      _ = try await world.pages(from: "\(Self.path)?per_page=100", as: token)
      try await world.untilIdle()
      await world.simulator.stop()
      let stale = try await world.get(Self.path, as: token, [.prefer: "wait=30"])
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=offline")
      let missing = try await world.get("/github/users/octocat/following", as: token, [.prefer: "wait=30"])
      #expect(missing.status == 503 && missing.code == "upstream/offline")

      let address = String(world.simulator.baseURL.dropFirst("http://".count))
      let again = try await Simulator.start(
        world.options.simulator, on: world.group, at: SocketAddress(address))
      try await Self.recover(world)
      let back = try await world.get("/github/users/octocat/following", as: token, [.prefer: "wait=30"])
      #expect(back.status == 200)
      try await world.untilIdle()
      await again.stop()
    }
  }

  @Test func slowUpstreamCostsNoMoreThanTheWait() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      world.simulator.hold("/**")
      let late = try await world.get(Self.path, as: token, [.prefer: "wait=1"])
      #expect(late.status == 504 && late.code == "mirror/not-ready")
      world.simulator.release()
      #expect(try await world.get(Self.path, as: token).status == 200)
    }
  }

  private static func unnamedLimit(_ adjust: (inout TestWorld.Options) -> Void = { _ in }) -> TestWorld.Options {
    options { options in
      options.simulator.limits.retryAfter = nil
      adjust(&options)
    }
  }

  @Test func secondaryLimitWithoutATimeRestsAMinute() async throws {
    try await TestWorld.run(Self.unnamedLimit { $0.simulator.limits.tellsBudgets = false }) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.secondaryLimit, on: "/**"))
      let answer = try await world.get(Self.path, as: token, [.prefer: "wait=30"])
      #expect(answer.status == 503 && answer.code == "upstream/rate-limited")
      #expect(try (50...90).contains(#require(try answer.json["retry_after"]?.int)))
    }
  }

  /// The later of the two: a minute, and the end of the window that the refusal names.
  @Test func secondaryLimitWithoutATimeRestsUntilTheWindowsEnd() async throws {
    try await TestWorld.run(Self.unnamedLimit()) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.secondaryLimit, on: "/**"))
      let answer = try await world.get(Self.path, as: token, [.prefer: "wait=30"])
      #expect(answer.status == 503 && answer.code == "upstream/rate-limited")
      #expect(try (3_500...3_700).contains(#require(try answer.json["retry_after"]?.int)))
    }
  }

  /// Whatever a refusal says, the job waits for the gate and for nothing else: it is not away longer than the gate is closed.
  @Test(arguments: [Int?.none, 120], [true, false])
  func limitedJobWaitsAsLongAsTheGateIsClosed(retryAfter: Int?, tellsBudgets: Bool) async throws {
    let options = Self.options { options in
      options.simulator.limits.retryAfter = retryAfter
      options.simulator.limits.tellsBudgets = tellsBudgets
    }
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.secondaryLimit, on: "/**", times: 1))
      #expect(try await world.get(Self.path, as: token, [.prefer: "wait=30"]).status == 503)
      // Up to a tenth, or five seconds, are added so that not all come back together.
      try await eventually("the job waits for the gate") {
        try await world.value(
          """
          SELECT count(*) FROM magpie.job j, magpie.credential c
           WHERE c.pool = 'github' AND j.state = 'scheduled' AND j.wait_reason = 'snooze' AND j.attempt = 0
             AND j.available_at BETWEEN c.blocked_until - interval '2 s' AND c.blocked_until + interval '8 s'
          """) == Int64(1)
      }
      #expect(world.simulator.requestCount == 1)
    }
  }

  @Test func badTokenLeavesTheWorkToTheOther() async throws {
    let options = Self.options { options in
      options.tokens = ["revoked", "good"]
      options.simulator.acceptsUnknownTokens = false
      options.simulator.tokens = ["good": "somebody"]
    }
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      // Whichever is taken first, each list ends with the good one.
      for kind in ["followers", "following"] {
        #expect(try await world.get("/github/users/octocat/\(kind)", as: token).status == 200)
      }
      try await world.untilIdle()
      #expect(world.simulator.count("/**", status: 401) <= 1)
      world.simulator.revokeToken("good")
      let stale = try await world.get(Self.path, as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(stale.status == 200)
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=offline")
      let missing = try await world.get("/github/users/octocat", as: token, [.prefer: "wait=30"])
      #expect(missing.status == 200, "\(missing.text)")
      let unknown = try await world.get("/github/users/nobody-yet", as: token, [.prefer: "wait=30"])
      #expect(unknown.status == 503)
      #expect(unknown.code == "upstream/unauthorized")
      #expect(world.simulator.count("/**", status: 401) == 2)
    }
  }
}
