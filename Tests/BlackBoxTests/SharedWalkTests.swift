import HTTP
import TestSupport
import Testing

/// Several processes on one database.
@Suite(.timeLimit(.minutes(5)))
struct SharedWalkTests {
  private static let list = "/github/users/octocat/followers"

  @Test func `fifty cold requests to two servers cause one walk`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:1240"])
      let database = try await site.database()
      let settings = ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url]
      let servers = [try await site.serve(["--no-worker"], settings), try await site.serve([], settings)]
      let token = try await site.token("alice", database)
      let followers = try await simulator.followers(of: "octocat")
      let answers = try await withThrowingTaskGroup { group in
        for number in 0..<50 {
          let visitor = servers[number % 2].api.account(token)
          group.addTask { try await visitor.get("\(Self.list)?per_page=100", ["Prefer": "wait=30"]) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.count == 50)
      #expect(Set(answers.filter { $0.status != 200 }.map(\.text)) == [])
      for answer in answers { #expect(try answer.ids == Array(followers.prefix(100))) }
      // Both see the whole list, through whichever of them it came.
      for server in servers {
        let ids = try await server.api.account(token).ids(of: "\(Self.list)?per_page=100")
        #expect(ids.count == 1240)
        #expect(Array(ids.prefix(1000)) == followers)
      }
      let requests = try await simulator.requests("/user*/**")
      #expect(requests.count == 13)
      #expect(Set(requests).count == 13)
      let stats = try await simulator.peer.get("/_sim/stats").json
      #expect(stats["requests"]?.int == 13)
    }
  }

  @Test func `the first page comes while the walk runs, coverage grows, and the end can be searched`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:1240"])
      let database = try await site.database()
      let server = try await site.serve(
        [], ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url])
      let visitor = server.api.account(try await site.token("alice", database))
      try await simulator.command("hold", #"{"match":"/user/*/followers?page=2"}"#)
      try await simulator.command("hold", #"{"match":"/user/*/followers?page=13"}"#)
      let first = try await visitor.get("\(Self.list)?per_page=30")
      #expect(first.status == 200)
      #expect(try first.ids.count == 30)
      #expect(first.fields["Cache-Status"]?.hasSuffix("detail=partial") == true)
      #expect(first.fields["Magpie-Coverage"]?.hasPrefix("100/") == true)
      #expect(first.fields["Magpie-Job"] != nil)

      // Only what is held can be let go: the page's answer may come before the walk asks for the next one.
      _ = try await simulator.peer.get("/_sim/waiting?count=1&timeout=30000")
      try await simulator.command("release", #"{"one":true}"#)
      try await eventually {
        try await visitor.get("\(Self.list)?per_page=30").fields["Magpie-Coverage"]?.hasPrefix("1200/") == true
      }
      // Not stored yet, so this waits as long as it may, and no longer.
      let early = try await visitor.get("\(Self.list)?per_page=100&page=13", ["Prefer": "wait=0"])
      #expect(early.status == 504)
      #expect(early.code == "mirror/not-ready")
      try await simulator.command("release")
      let last = try await visitor.get("\(Self.list)?per_page=100&page=13", ["Prefer": "wait=30"])
      #expect(last.status == 200)
      #expect(try last.ids.count == 40)

      let login = try #require(try last.logins.last)
      try await eventually {
        try await visitor.get("\(Self.list)?per_page=30").isOfWholeList(1240)
      }
      let found = try await visitor.get("\(Self.list)?q=\(login)")
      #expect(found.status == 200)
      #expect(try found.logins.contains(login))
    }
  }
}
