import HTTP
import HTTPClient
import JSONText
import Testing

@testable import UpstreamSimulator

@Suite struct FaultTests {
  @Test func faultHappensAsOftenAsSaidAndToNobodyElse() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.status(502), on: "/user/*/followers?page=2", times: 2, after: 1))
      let page = "/user/583231/followers?per_page=100&page=2"
      var statuses: [Int] = []
      for _ in 0..<5 { statuses.append(try await bench.get(page).status) }
      #expect(statuses == [200, 502, 502, 200, 200])
      #expect(try await bench.get("/user/583231/followers?per_page=100&page=3").status == 200)
      #expect(bench.simulator.count("/**", status: 502) == 2)
    }
  }

  @Test func edgeFailuresHaveNoRateFieldsAndCostNothing() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.status(503), on: "/users/*", times: 1))
      bench.simulator.add(Fault(.html(200), on: "/users/*", times: 1))
      let unavailable = try await bench.get("/users/octocat")
      #expect(unavailable.status == 503)
      #expect(unavailable.rate == nil)
      let html = try await bench.get("/users/octocat")
      #expect(html.status == 200)
      #expect(html.fields[.contentType] == "text/html; charset=utf-8")
      #expect(html.text.hasPrefix("<!DOCTYPE html>"))
      #expect(bench.simulator.remaining(of: "ann") == 5000)
    }
  }

  @Test func brokenConnectionsBreakOffForTheClient() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.cut, on: "/users/octocat", times: 1))
      bench.simulator.add(Fault(.reset, on: "/users/octocat", times: 1))
      for _ in 0..<2 {
        do {
          _ = try await bench.get("/users/octocat")
          Issue.record("answered")
        } catch let failure as HTTPClient.Failure {
          #expect(failure == .truncated || failure == .connectionLost)
        }
      }
      #expect(try await bench.get("/users/octocat").status == 200)
      #expect(bench.simulator.log().map(\.status) == [0, 0, 200])
    }
  }

  @Test func spoiledBodiesAreSpoiledAsNamed() async throws {
    try await Bench.run { bench async throws in
      let path = "/users/octocat/followers?per_page=2"
      let whole = try await bench.get(path).body
      func spoiled(_ effect: Fault.Effect) async throws -> Answer {
        bench.simulator.add(Fault(effect, on: "/users/octocat/followers", times: 1))
        let answer = try await bench.get(path)
        #expect(answer.status == 200)
        return answer
      }
      let invalid = try await spoiled(.invalidJSON)
      #expect(throws: JSONText.Invalid.self) { try JSONText.check(invalid.body) }
      #expect(try await spoiled(.truncatedJSON).body == Array(whole[..<(whole.count / 2)]))
      #expect(try await spoiled(.deepJSON(depth: 3)).text == "[[[]]]")
      let huge = try await spoiled(.huge(bytes: 3_000_000)).body
      #expect(huge.count == 3_000_000)
      #expect(try await spoiled(.otherShape).text == #"{"message":"Not a list"}"#)
      let strings = try await spoiled(.idsAsStrings).json().elements.map { $0["id"]?.kind }
      #expect(strings == [.string, .string])
      #expect(try await bench.get(path).body == whole)
    }
  }

  @Test func nextLinkCanLeadInCirclesOrAway() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.nextIsSelf, on: "/user/*/followers", times: 1))
      bench.simulator.add(Fault(.nextIs("https://evil.example/x?page=3"), on: "/user/*/followers", times: 1))
      let path = "/user/583231/followers?per_page=100&page=2"
      let circle = try await bench.get(path)
      #expect(circle.links["next"] == bench.simulator.baseURL + path)
      #expect(circle.links["prev"] == bench.simulator.baseURL + "/user/583231/followers?per_page=100&page=1")
      #expect(try await bench.get(path).links["next"] == "https://evil.example/x?page=3")
    }
  }

  @Test func refusalsAreNoLimits() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.notFound, on: "/users/*", times: 1))
      bench.simulator.add(Fault(.unavailable, on: "/users/*", times: 1))
      bench.simulator.add(Fault(.forbidden, on: "/users/*", times: 1))
      bench.simulator.add(Fault(.redirect("/user/583231"), on: "/users/*", times: 1))
      #expect(try await bench.get("/users/octocat").status == 404)
      let blocked = try await bench.get("/users/octocat")
      #expect(blocked.status == 451)
      #expect(try blocked.json()["block"]?["reason"]?.string == "dmca")
      let forbidden = try await bench.get("/users/octocat")
      #expect(forbidden.status == 403)
      #expect(forbidden.rate == "5000 4997 3 core")
      let moved = try await bench.get("/users/octocat")
      #expect(moved.status == 301)
      #expect(moved.fields[.location] == "\(bench.simulator.baseURL)/user/583231")
      #expect(try moved.json()["message"]?.string == "Moved Permanently")
    }
  }

  @Test func primaryLimitUsesTheBudgetUp() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.primaryLimit, on: "/users/*", times: 1))
      #expect(try await bench.get("/users/octocat").rate == "5000 0 5000 core")
      #expect(try await bench.get("/users/octocat").status == 403)
      bench.simulator.advanceClock(by: 3600)
      #expect(try await bench.get("/users/octocat").status == 200)
    }
  }

  @Test func listsDriftBetweenPages() async throws {
    try await Bench.run { bench async throws in
      let before = try bench.simulator.followers(of: "octocat")
      bench.simulator.add(Fault(.dropFirst, on: "/user/583231/followers?page=2", times: 1))
      let missing = try await bench.walk("/users/octocat/followers?per_page=100")
      var expected = before
      expected.remove(at: 100)
      #expect(missing == expected)

      bench.simulator.add(Fault(.insertFirst, on: "/user/583231/followers?page=2", times: 1))
      let twice = try await bench.walk("/users/octocat/followers?per_page=100")
      #expect(twice.count == 1240)
      #expect(Set(twice).count == 1239)
      #expect(twice[99] == twice[100])
      #expect(try bench.simulator.followers(of: "octocat").count == 1240)
    }
  }

  @Test func slowAnswerIsOtherwiseUsual() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.slow(milliseconds: 30), on: "/users/octocat", times: 1))
      let clock = ContinuousClock()
      let start = clock.now
      #expect(try await bench.get("/users/octocat").status == 200)
      #expect(clock.now - start >= .milliseconds(30))
    }
  }

  @Test func faultsAreForgottenWhenCleared() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.add(Fault(.status(500), on: "/**"))
      #expect(try await bench.get("/users/octocat").status == 500)
      bench.simulator.clearFaults()
      #expect(try await bench.get("/users/octocat").status == 200)
    }
  }

  @Test func onlyAThousandFaultsAreKept() {
    var faults = Faults()
    let taken = (0...1000).map { _ in faults.add(Fault(.cut, on: "/x")) }
    #expect(taken == Array(repeating: true, count: 1000) + [false])
  }
}

@Suite struct PathPatternTests {
  @Test(arguments: [
    ("/users/octocat", "/users/octocat"), ("/users/*", "/users/octocat?page=2"), ("/**", "/"), ("/**", "/a/b/c?d"),
    ("/user/*/followers?page=3", "/user/1/followers?per_page=100&page=3"), ("/u*/x", "/user/x"),
    ("/user/*/followers?page=3&per_page=100", "/user/1/followers?per_page=100&page=3"),
    ("/**/followers", "/a/b/followers"),
  ])
  func matches(pattern: String, target: String) throws {
    #expect(PathPattern(pattern).matches(try Target(target)))
  }

  @Test(arguments: [
    ("/users/octocat", "/users/Octocat"), ("/users/*", "/users/octocat/followers"), ("/users/*", "/user/1"),
    ("/user/*/followers?page=3", "/user/1/followers?page=30"), ("/user/*/followers?page=3", "/user/1/followers"),
    ("", "/"), ("*", "/a"), ("/**/followers", "/followers"),
  ])
  func doesNotMatch(pattern: String, target: String) throws {
    #expect(!PathPattern(pattern).matches(try Target(target)))
  }
}
