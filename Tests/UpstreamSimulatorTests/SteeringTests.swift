import HTTP
import Testing

@testable import UpstreamSimulator

/// The same over HTTP, as scripts steer.
@Suite struct SteeringTests {
  @Test func peopleAndListsChange() async throws {
    try await Bench.run { bench async throws in
      #expect(try await bench.steer("users", #"{"login":"newbie","followers":3,"id":42}"#).text == #"{"id":42}"#)
      #expect(try await bench.steer("follow", #"{"user":"octocat","by":"newbie"}"#).text == #"{"changed":true}"#)
      #expect(try await bench.steer("follow", #"{"user":"octocat","by":"newbie"}"#).text == #"{"changed":false}"#)
      #expect(try bench.simulator.followers(of: "octocat").first == 42)
      #expect(try await bench.steer("rename", #"{"user":"newbie","login":"oldie"}"#).status == 204)
      #expect(try await bench.get("/users/oldie").json()["id"]?.int == 42)
      #expect(try await bench.steer("unfollow", #"{"user":"octocat","by":"oldie"}"#).text == #"{"changed":true}"#)
      #expect(try await bench.steer("edit", #"{"user":"oldie","name":"Old","bio":null}"#).status == 204)
      #expect(try await bench.get("/users/oldie").json()["name"]?.string == "Old")
      for (command, status) in [("suspend", 404), ("revive", 200), ("delete", 404), ("revive", 200)] {
        #expect(try await bench.steer(command, #"{"user":"oldie"}"#).status == 204)
        #expect(try await bench.get("/users/oldie").status == status)
      }
      for (command, count) in [("private", 0), ("public", 1240)] {
        #expect(try await bench.steer(command, #"{"user":"octocat"}"#).status == 204)
        #expect(try await bench.get("/users/octocat").json()["followers"]?.int == Int64(count))
      }
      #expect(try await bench.steer("churn", #"{"user":"octocat"}"#).status == 204)
      #expect(try bench.simulator.followers(of: "octocat").count == 1241)
    }
  }

  @Test func listAnswersIDsAndCount() async throws {
    try await Bench.run(configure: { $0.users = [.init("duo", followers: 2)] }) { bench async throws in
      let ids = try bench.simulator.followers(of: "duo")
      let id = try bench.simulator.id(of: "duo")
      #expect(
        try await bench.get("/_sim/list?user=duo").text == #"{"id":\#(id),"count":2,"ids":[\#(ids[0]),\#(ids[1])]}"#)
    }
  }

  @Test func clockIsReadAndSet() async throws {
    try await Bench.run { bench async throws in
      #expect(
        try await bench.steer("clock", #"{"advance":90}"#).text
          == #"{"seconds":1767225690,"time":"2026-01-01T00:01:30Z"}"#)
      #expect(
        try await bench.steer("clock", #"{"set":"2026-02-01T00:00:00Z"}"#).text
          == #"{"seconds":1769904000,"time":"2026-02-01T00:00:00Z"}"#)
      #expect(try await bench.get("/_sim/clock").json()["seconds"]?.int == 1_769_904_000)
      #expect(try await bench.steer("clock", #"{"set":"tomorrow"}"#).status == 422)
      #expect(bench.simulator.now == 1_769_904_000)
    }
  }

  @Test func budgetsTokensAndLimitsAreSet() async throws {
    try await Bench.run { bench async throws in
      #expect(try await bench.steer("budget", #"{"owner":"ann","remaining":1}"#).status == 204)
      #expect(try await bench.get("/users/octocat").rate == "5000 0 5000 core")
      #expect(try await bench.get("/users/octocat").status == 403)
      #expect(try await bench.steer("budget", #"{"remaining":0,"reset":1767225700}"#).status == 204)
      #expect(try await bench.get("/users/octocat", token: nil).status == 403)
      #expect(try await bench.steer("tokens", #"{"token":"new","owner":"cid"}"#).status == 204)
      #expect(try await bench.get("/users/octocat", token: "new").status == 200)
      #expect(try await bench.steer("tokens", #"{"token":"new","revoked":true}"#).status == 204)
      #expect(try await bench.get("/users/octocat", token: "new").status == 401)
      #expect(
        try await bench.steer("limits", #"{"concurrent":0,"secondary_status":429,"retry_after":5}"#).status == 204)
      let refused = try await bench.get("/users/octocat", token: "other")
      #expect(refused.status == 429)
      #expect(refused.fields[.retryAfter] == "5")
      #expect(
        try await bench.get("/_sim/stats").text
          == #"{"requests":6,"primary_refusals":2,"secondary_refusals":1,"counts":{"GET /users/{login} 200":2,"#
          + #""GET /users/{login} 401":1,"GET /users/{login} 403":2,"GET /users/{login} 429":1}}"#)
    }
  }

  @Test(arguments: [
    #"{"match":"/users/*","effect":"status","status":500}"#, #"{"match":"/users/*","effect":"html","status":500}"#,
  ])
  func faultsAreAddedAndCleared(fault: String) async throws {
    try await Bench.run { bench async throws in
      #expect(try await bench.steer("faults", fault).status == 204)
      #expect(try await bench.get("/users/octocat").status == 500)
      _ = try await bench.client.send(.init(.delete, "\(bench.simulator.baseURL)/_sim/faults"))
      #expect(try await bench.get("/users/octocat").status == 200)
    }
  }

  @Test(arguments: [
    ("slow", #","milliseconds":5"#, Fault.Effect.slow(milliseconds: 5)), ("cut", "", .cut), ("reset", "", .reset),
    ("primary-limit", "", .primaryLimit), ("secondary-limit", "", .secondaryLimit), ("not-found", "", .notFound),
    ("unavailable", "", .unavailable), ("forbidden", "", .forbidden), ("redirect", #","to":"/x""#, .redirect("/x")),
    ("invalid-json", "", .invalidJSON), ("truncated-json", "", .truncatedJSON),
    ("deep-json", #","depth":9"#, .deepJSON(depth: 9)), ("huge", #","bytes":9"#, .huge(bytes: 9)),
    ("other-shape", "", .otherShape), ("ids-as-strings", "", .idsAsStrings), ("next-is-self", "", .nextIsSelf),
    ("next-is", #","to":"x""#, .nextIs("x")), ("drop-first", "", .dropFirst), ("insert-first", "", .insertFirst),
    ("single-sign-on", "", .singleSignOn), ("incomplete-search", "", .incompleteSearch),
    ("unstable-search", "", .unstableSearch),
  ])
  func everyEffectHasAName(name: String, rest: String, effect: Fault.Effect) async throws {
    try await Bench.run { bench async throws in
      #expect(
        try await bench.steer("faults", #"{"match":"/a","times":2,"after":1,"effect":"\#(name)"\#(rest)}"#).status
          == 204)
      let list = bench.simulator.engine.world.withLock { $0.faults.list }
      #expect(list == [Fault(effect, on: "/a", times: 2, after: 1)])
    }
  }

  @Test func gatesAreClosedWaitedForAndOpened() async throws {
    try await Bench.run { bench async throws in
      #expect(try await bench.get("/_sim/waiting?count=1&timeout=0").text == #"{"reached":false,"held":[]}"#)
      let gate = try await bench.steer("hold", #"{"match":"/users/octocat","times":2}"#).json()["gate"]?.int
      async let answer = bench.get("/users/octocat")
      #expect(try await bench.get("/_sim/waiting?count=1").text == #"{"reached":true,"held":["/users/octocat"]}"#)
      #expect(try await bench.steer("release", #"{"gate":\#(gate ?? 0)}"#).text == #"{"released":1}"#)
      #expect(try await answer.status == 200)
      #expect(try await bench.steer("release", "").text == #"{"released":0}"#)
    }
  }

  @Test func logIsReadAndReset() async throws {
    try await Bench.run { bench async throws in
      _ = try await bench.get("/users/octocat")
      _ = try await bench.get("/user/583231")
      #expect(
        try await bench.get("/_sim/log?match=/user/*").text
          == #"{"count":1,"entries":[{"number":2,"method":"GET","target":"/user/583231","status":200,"#
          + #""credential":"ann","conditional":false,"time":1767225600}]}"#)
      let reset = try await bench.client.send(.init(.delete, "\(bench.simulator.baseURL)/_sim/stats"))
      #expect(reset.status == .noContent)
      #expect(try await bench.get("/_sim/log").text == #"{"count":0,"entries":[]}"#)
    }
  }

  @Test(arguments: [
    ("nonsense", "{}", 404), ("follow", "{}", 422), ("follow", "[]", 422), ("follow", "{", 422),
    ("follow", #"{"user":"octocat","by":"nobody-x"}"#, 422), ("users", #"{"login":"octocat"}"#, 422),
    ("users", #"{"login":"a","unheard":1}"#, 422), ("faults", #"{"match":"/x","effect":"magic"}"#, 422),
    ("hold", "{}", 422), ("latency", #"{"milliseconds":"1"}"#, 422),
  ])
  func nonsenseIsRefused(command: String, body: String, status: Int) async throws {
    try await Bench.run { bench async throws in
      let answer = try await bench.steer(command, body)
      #expect(answer.status == status)
      #expect(answer.fields[.contentType] == "application/problem+json")
    }
  }
}
