import HTTP
import Testing

@testable import UpstreamSimulator

@Suite struct BudgetTests {
  @Test func usedUpBudgetIsRefusedUntilTheWindowEnds() async throws {
    try await Bench.run(configure: { $0.limits.core = 2 }) { bench async throws in
      #expect(try await bench.get("/users/octocat").rate == "2 1 1 core")
      #expect(try await bench.get("/users/octocat").rate == "2 0 2 core")
      let refused = try await bench.get("/users/octocat")
      #expect(refused.status == 403)
      #expect(refused.rate == "2 0 2 core")
      #expect(refused.fields["X-RateLimit-Reset"] == "1767229200")
      #expect(refused.fields[.retryAfter] == nil)
      let message = try #require(try refused.json()["message"]?.string)
      #expect(message == "API rate limit exceeded for user ID \(World.userNumber("ann")).")

      bench.simulator.advanceClock(by: 3599)
      #expect(try await bench.get("/users/octocat").status == 403)
      bench.simulator.advanceClock(by: 1)
      let answer = try await bench.get("/users/octocat")
      #expect(answer.status == 200)
      #expect(answer.rate == "2 1 1 core")
      #expect(answer.fields["X-RateLimit-Reset"] == "1767232800")
    }
  }

  @Test func tokensOfOneOwnerShareABudgetAndOthersDoNot() async throws {
    try await Bench.run { bench async throws in
      _ = try await bench.get("/users/octocat", token: "tok")
      #expect(try await bench.get("/users/octocat", token: "tok-2").rate == "5000 4998 2 core")
      #expect(try await bench.get("/users/octocat", token: "other").rate == "5000 4999 1 core")
      #expect(try await bench.get("/users/octocat", token: nil).rate == "60 59 1 core")
      #expect(bench.simulator.remaining(of: "ann") == 4998)
    }
  }

  @Test func missesCountAndUnknownRoutesDoNot() async throws {
    try await Bench.run { bench async throws in
      #expect(try await bench.get("/users/nobody-here").rate == "5000 4999 1 core")
      #expect(try await bench.get("/nothing/here").rate == nil)
      #expect(bench.simulator.remaining(of: "ann") == 4999)
    }
  }

  @Test func askingForTheLimitsIsFree() async throws {
    try await Bench.run { bench async throws in
      _ = try await bench.get("/users/octocat")
      let answer = try await bench.get("/rate_limit")
      #expect(answer.rate == "5000 4999 1 core")
      #expect(answer.fields[.etag] == nil)
      let core = #"{"limit":5000,"used":1,"remaining":4999,"reset":1767229200}"#
      #expect(
        answer.text
          == #"{"resources":{"core":\#(core),"search":{"limit":30,"used":0,"remaining":30,"reset":1767225660},"#
          + #""graphql":{"limit":5000,"used":0,"remaining":5000,"reset":1767229200}},"rate":\#(core)}"#)
    }
  }

  @Test func primaryRefusalCanBeA429() async throws {
    try await Bench.run { bench async throws in
      var limits = Simulator.Configuration.Limits()
      limits.primaryStatus = 429
      bench.simulator.setLimits(limits)
      bench.simulator.setBudget(of: "ann", remaining: 0, reset: 1_767_225_700)
      let answer = try await bench.get("/users/octocat")
      #expect(answer.status == 429)
      #expect(answer.fields["X-RateLimit-Reset"] == "1767225700")
    }
  }

  @Test func oneRequestTooManyAtATimeIsASecondaryRefusal() async throws {
    try await Bench.run(configure: { $0.limits.concurrent = 2 }) { bench async throws in
      bench.simulator.hold("/users/octocat")
      async let first = bench.get("/users/octocat")
      async let second = bench.get("/users/octocat")
      #expect(await bench.simulator.waitUntilHeld(2))
      let refused = try await bench.get("/user/583231")
      #expect(refused.status == 403)
      #expect(refused.fields[.retryAfter] == "60")
      #expect(refused.rate == "5000 5000 0 core")
      #expect(try refused.json()["message"]?.string?.contains("secondary rate limit") == true)
      #expect(try await bench.get("/user/583231", token: "other").status == 200)
      #expect(bench.simulator.release() == 2)
      #expect(try await first.status == 200)
      #expect(try await second.status == 200)
      #expect(try await bench.get("/user/583231").status == 200)
    }
  }

  @Test func secondaryRefusalMayNameNoTime() async throws {
    try await Bench.run(configure: { $0.limits.retryAfter = nil }) { bench async throws in
      bench.simulator.add(Fault(.secondaryLimit, on: "/users/*", times: 1))
      let refused = try await bench.get("/users/octocat")
      #expect(refused.status == 403)
      #expect(refused.fields[.retryAfter] == nil)
      #expect(refused.rate == "5000 5000 0 core")
      #expect(try await bench.get("/users/octocat").status == 200)
    }
  }
}
