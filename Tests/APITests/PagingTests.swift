import HTTP
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// Paging by number and by cursor, also while the list is read anew.
@Suite struct PagingTests {
  private static let path = "/github/users/octocat/followers"
  private static let refresh: Fields = [.cacheControl: "no-cache", .prefer: "wait=20"]

  private static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250, following: 250), .init("second", followers: 120))) {
      world in
      let token = try await world.token()
      _ = try await world.pages(from: "\(path)?per_page=100", as: token)
      try await world.untilIdle()
      try await body(world, token)
    }
  }

  @Test(arguments: [false, true])
  func pagedReadStaysConsistentWhileTheListIsReadAnew(walkIsOld: Bool) async throws {
    try await Self.run { world, token async throws in
      let old = try world.simulator.followers(of: "octocat")
      let first = try await world.get("\(Self.path)?per_page=100", as: token)
      // However long the list has been there, its reader may go on.
      if walkIsOld { try await world.sql("UPDATE magpie.walk SET finished_at = now() - interval '2 hours'") }
      for _ in 0..<6 { try world.simulator.churnOnce("octocat") }
      let fresh = try await world.get("\(Self.path)?per_page=100", as: token, Self.refresh)
      let new = try world.simulator.followers(of: "octocat")
      #expect(new.count == 253)
      #expect(try fresh.ids == Array(new[..<100]))
      let rest = try await world.pages(from: try #require(first.links["next"]), as: token)
      #expect(try first.ids + rest.flatMap { try $0.ids } == old)
      #expect(rest.last?.coverage == "250/250")
      let whole = try await world.pages(from: "\(Self.path)?per_page=100", as: token)
      #expect(try whole.flatMap { try $0.ids } == new)
    }
  }

  @Test func walkThatIsForgottenLeadsToThePresentOne() async throws {
    try await Self.run { world, token async throws in
      let expected = try world.simulator.followers(of: "octocat")
      for walk in ["999999", "1"] {
        let answer = try await world.get("\(Self.path)?per_page=100&page=2&walk=\(walk)", as: token)
        #expect(try answer.ids == Array(expected[100..<200]))
      }
      // Another list's walk is nothing here.
      _ = try await world.pages(from: "/github/users/second/followers?per_page=100", as: token)
      let foreign: Int64 = try await world.value("SELECT max(w.id) FROM magpie.walk w")
      let answer = try await world.get("\(Self.path)?per_page=100&page=2&walk=\(foreign)", as: token)
      #expect(try answer.ids == Array(expected[100..<200]))
    }
  }

  @Test func walkUnderWayCannotBePinned() async throws {
    try await Self.run { world, token async throws in
      let old = try world.simulator.followers(of: "octocat")
      try world.simulator.churnOnce("octocat")
      world.simulator.hold("/user/*/followers?page=2")
      _ = try await world.get(Self.path, as: token, [.cacheControl: "no-cache"])
      await world.simulator.waitUntilHeld()
      // Page 1 is stored while page 2 is asked for.
      try await eventually { try await world.value("SELECT count(*) FROM magpie.walk w WHERE w.pages = 1") == Int64(1) }
      let running: Int64 = try await world.value("SELECT w.id FROM magpie.walk w WHERE w.state = 'walking'")
      let pinned = try await world.get("\(Self.path)?per_page=100&walk=\(running)", as: token)
      #expect(try pinned.ids == Array(old[..<100]))
      #expect(pinned.coverage == "250/250")
      world.simulator.release()
    }
  }

  @Test func cursorsLeadThroughTheWholeList() async throws {
    try await Self.run { world, token async throws in
      let expected = try world.simulator.followers(of: "octocat")
      let pages = try await world.pages(from: "\(Self.path)?per_page=60&cursor=", as: token)
      #expect(pages.count == 5)
      #expect(try pages.flatMap { try $0.ids } == expected)
      for sort in ["login", "-login", "first_seen", "-first_seen"] {
        let sorted = try await world.pages(from: "\(Self.path)?per_page=60&cursor=&sort=\(sort)", as: token)
        #expect(sorted.count == 5, "\(sort)")
        let ids = try sorted.flatMap { try $0.ids }
        #expect(ids.count == 250 && Set(ids) == Set(expected), "\(sort)")
        if sort.hasSuffix("login") {
          let logins = ids.compactMap { world.simulator.login(of: $0)?.lowercased() }
          #expect(logins == (sort == "login" ? logins.sorted() : logins.sorted(by: >)))
        }
      }
      let numbered = try await world.pages(from: "\(Self.path)?per_page=60&sort=login", as: token)
      #expect(try Set(numbered.flatMap { try $0.ids }) == Set(expected) && numbered.count == 5)
    }
  }

  @Test func cursorsOfOthersAreRefused() async throws {
    try await Self.run { world, token async throws in
      func cursor(_ path: String) async throws -> String {
        let next = try #require(try await world.get(path, as: token).links["next"])
        return try #require(Target(String(next.dropFirst(world.servers[0].baseURL.count))).query["cursor"])
      }
      let own = try await cursor("\(Self.path)?per_page=60&cursor=")
      let filtered = try await cursor("\(Self.path)?per_page=60&cursor=&q=a")
      #expect(try await world.get("\(Self.path)?cursor=\(own)", as: token).status == 200)
      var forged = Array(own)
      forged[20] = forged[20] == "A" ? "B" : "A"
      let cases = [
        (Self.path, String(forged)), (Self.path, String(own.dropLast())), (Self.path, "x"), (Self.path, "%20"),
        (Self.path, filtered), ("/github/users/octocat/following", own), ("/github/users/second/followers", own),
        ("\(Self.path)?q=b", filtered), ("\(Self.path)?q=a&sort=-login", filtered),
        (Self.path, String(repeating: "A", count: 6_001)), ("/v1/favorites", own), ("/v1/favorites", "x"),
        ("/v1/favorites", String(repeating: "A", count: 6_001)),
      ]
      for (path, cursor) in cases {
        let answer = try await world.get("\(path)\(path.contains("?") ? "&" : "?")cursor=\(cursor)", as: token)
        #expect(answer.status == 400, "\(path) \(cursor.prefix(60))")
        #expect(answer.code == "request/invalid-cursor")
      }
    }
  }

  @Test func nonsenseOfPagesHasOneClearAnswer() async throws {
    try await Self.run { world, token async throws in
      for (name, value) in [
        ("per_page", "0"), ("per_page", "-1"), ("per_page", "abc"), ("per_page", "1e9"), ("per_page", ""),
        ("per_page", "+5"),
        ("per_page", "٣"), ("page", "0"), ("page", "-1"), ("page", "1.0"), ("page", "00"), ("walk", "x"), ("walk", "0"),
      ] {
        let answer = try await world.get("\(Self.path)?\(name)=\(PercentEncoding.encode(value))", as: token)
        #expect(answer.status == 422, "\(name)=\(value)")
        #expect(answer.code == "request/invalid-parameter")
        #expect(answer.pointers == ["/\(name)"])
        #expect(try answer.json["message"]?.string == "Validation Failed")
      }
      let sort = try await world.get("\(Self.path)?sort=up", as: token)
      #expect(sort.status == 422 && sort.pointers == ["/sort"])
      #expect(try await world.get("\(Self.path)?per_page=101", as: token).ids.count == 100)
      #expect(try await world.get("\(Self.path)?per_page=99999999999999999999", as: token).ids.count == 100)
      let far = try await world.get("\(Self.path)?page=99999999999999999999", as: token)
      #expect(far.status == 200 && far.text == "[]")
    }
  }

  @Test func filterTakesItsTextLiterally() async throws {
    try await Self.run { world, token async throws in
      for text in ["%", "_____", "\\", "％", "＿＿", "%\u{308}", "a%a", "💥"] {
        let answer = try await world.get("\(Self.path)?q=\(PercentEncoding.encode(text))", as: token)
        #expect(answer.status == 200)
        #expect(answer["Magpie-Matches"] == "0", "\(text)")
      }
      let owner: Int64 = try await world.value("SELECT e.member_id FROM magpie.follow_edge e LIMIT 1")
      try await world.sql(
        "UPDATE magpie.github_user u SET name = 'x', search = magpie.fold('50%_Ångström\\') WHERE u.id = \(owner)")
      for text in ["0%_å", "ANGSTROM", "m\\", "０％"] {
        let answer = try await world.get("\(Self.path)?q=\(PercentEncoding.encode(text))", as: token)
        #expect(try answer.ids == [owner], "\(text)")
      }
      let long = try await world.get("\(Self.path)?q=\(String(repeating: "a", count: 201))", as: token)
      #expect(long.status == 422 && long.pointers == ["/q"])
      #expect(try await world.get("\(Self.path)?q=\(String(repeating: "a", count: 200))", as: token).status == 200)
    }
  }
}
