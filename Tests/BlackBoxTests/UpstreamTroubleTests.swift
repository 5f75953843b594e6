import Glibc
import HTTP
import TestSupport
import Testing

/// GitHub is away, slow, or limits us: what is stored still comes at once, and says how old it is; what is not is refused
/// with a reason and a time, no later than the client would wait.
@Suite(.timeLimit(.minutes(5)))
struct UpstreamTroubleTests {
  private static let stored = "/github/users/octocat/followers?per_page=30"
  private static let missing = "/github/users/hubot/followers?per_page=30"

  /// A server with one list stored, which is stale at once.
  private struct Scene {
    let simulator: SimulatorProgram
    let visitor: Visitor

    init(_ site: Site, _ further: [String: String] = [:]) async throws {
      simulator = try await site.simulator(["--user", "octocat:120", "--user", "hubot:120"])
      let database = try await site.database()
      let settings = ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url, "MAGPIE_TTL_LIST": "0"]
      let server = try await site.serve([], settings.merging(further) { $1 })
      visitor = server.api.account(try await site.token("alice", database))
      let visitor = visitor
      try await eventually {
        try await visitor.get(UpstreamTroubleTests.stored).isOfWholeList(120)
      }
    }

    /// The stored list, at once, and marked.
    func expectStored(_ details: Set<String>) async throws {
      let answer = try await visitor.get(UpstreamTroubleTests.stored)
      #expect(answer.status == 200)
      #expect(try answer.ids.count == 30)
      // Less than the ten seconds that whoever says nothing waits for what is missing.
      #expect(answer.seconds < 9)
      #expect(answer.fields["Age"] != nil && answer.fields["Magpie-Validated-At"] != nil)
      let status = answer.fields["Cache-Status"] ?? ""
      #expect(details.contains { status == "magpie; fwd=stale; detail=\($0)" }, "\(status)")
    }

    /// Nothing, with a reason and a time; when the wait is over, or, given a long one, well before.
    func expectRefusal(_ codes: Set<String>, wait: Int = 10) async throws {
      let answer = try await visitor.get(UpstreamTroubleTests.missing, ["Prefer": "wait=\(wait)"])
      #expect(answer.seconds < 15)
      #expect(answer.status == (answer.code == "mirror/not-ready" ? 504 : 503))
      #expect(codes.contains(answer.code ?? ""), "\(answer.text)")
      #expect(try answer.json["retry_after"]?.int.map { (1...3601).contains($0) } == true)
      #expect(answer.fields["Retry-After"] != nil)
    }
  }

  @Test func `the upstream is away, and comes back`() async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      let url = scene.simulator.peer.url
      scene.simulator.program.signal(SIGTERM)
      #expect(try await scene.simulator.program.waitForEnd() == .exit(0))
      try await scene.expectStored(["refreshing", "offline"])
      try await scene.expectRefusal(["upstream/offline"])
      // Known by now, so nobody waits.
      try await eventually {
        try await scene.visitor.get(Self.stored).fields["Cache-Status"] == "magpie; fwd=stale; detail=offline"
      }
      try await scene.expectStored(["offline"])
      try await scene.expectRefusal(["upstream/offline"], wait: 30)
      // At the same address; without anybody's help.
      let again = try await site.simulator(
        ["--user", "octocat:120", "--user", "hubot:120"], listen: String(url.dropFirst("http://".count)))
      try await eventually {
        try await scene.visitor.get(Self.missing, ["Prefer": "wait=0"]).status == 200
      }
      #expect(try await again.requests("/users/hubot/**").count == 1)
    }
  }

  @Test(arguments: ["primary-limit", "secondary-limit"])
  func `the upstream limits us`(effect: String) async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      try await scene.simulator.command("faults", #"{"match":"/user*/**","effect":"\#(effect)"}"#)
      try await scene.expectRefusal(["upstream/rate-limited"], wait: 30)
      try await scene.expectStored(["rate-limited"])
      let asked = try await scene.simulator.requests("/user*/**").count
      // Known by now: nobody waits, and nobody asks the upstream.
      try await scene.expectRefusal(["upstream/rate-limited"], wait: 30)
      try await scene.expectStored(["rate-limited"])
      #expect(try await scene.simulator.requests("/user*/**").count == asked)
    }
  }

  @Test func `the upstream takes its time`() async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      try await scene.simulator.command("hold", #"{"match":"/user*/**"}"#)
      try await scene.expectStored(["refreshing"])
      try await scene.expectRefusal(["mirror/not-ready"], wait: 3)
      try await scene.expectStored(["refreshing"])
      // Whoever has no time at all is told where to look.
      let job = try await scene.visitor.get(Self.missing, ["Prefer": "respond-async"])
      #expect(job.status == 202)
      let address = try #require(job.fields["Location"])
      #expect(try await scene.visitor.get(address).json["state"]?.string == "running")
      try await scene.simulator.command("release")
      try await eventually { try await scene.visitor.get(address).json["state"]?.string == "completed" }
      #expect(try await scene.visitor.get(Self.missing).status == 200)
    }
  }

  @Test(arguments: ["html", "invalid-json", "truncated-json", "other-shape", "cut", "deep-json", "ids-as-strings"])
  func `answers that make no sense harm nothing that is stored`(effect: String) async throws {
    try await Site.with { site async throws in
      let scene = try await Scene(site)
      try await scene.simulator.command("faults", #"{"match":"/user*/**","effect":"\#(effect)"}"#)
      try await scene.expectRefusal(["upstream/invalid-answer", "upstream/offline"])
      try await scene.expectStored(["refreshing", "offline"])
      try await scene.simulator.peer.send(.delete, "/_sim/faults")
      try await eventually {
        try await scene.visitor.get(Self.missing, ["Prefer": "wait=0"]).status == 200
      }
    }
  }
}
