import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// The upstream misbehaves over repositories: nothing of it is stored, and what is stored stays.
@Suite struct RepositoryTroubleTests {
  private static let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=20"]
  private static let list = "/github/users/octocat/repos?sort=updated"
  private static let paths = [
    list, "/github/users/octocat/gists", "/github/repos/octocat/Nest", "/github/repos/octocat/Nest/languages",
    "/github/repos/octocat/Nest/commits",
  ]
  /// What the upstream is asked for each of them.
  private static let patterns: [PathPattern] = [
    "/users/octocat/repos", "/users/octocat/gists", "/repos/octocat/Nest", "/repos/octocat/Nest/languages",
    "/repos/octocat/Nest/commits",
  ]

  private static func run(
    _ repositories: Int = 12, _ body: @escaping @Sendable (TestWorld, String) async throws -> Void
  ) async throws {
    try await TestWorld.run(RepositoryListTests.options(repositories, gists: 3)) { world in
      try world.simulator.addRepository("Nest", of: "octocat")
      try await body(world, try await world.token())
    }
  }

  @Test(arguments: paths.indices, [Fault.Effect.otherShape, .invalidJSON, .truncatedJSON, .html(200)])
  func answerThatMakesNoSenseIsNotStored(number: Int, effect: Fault.Effect) async throws {
    try await Self.run { world, token in
      world.simulator.add(Fault(effect, on: Self.patterns[number]))
      let answer = try await world.get(Self.paths[number], as: token, [.prefer: "wait=20"])
      #expect(answer.status == 503 && answer.code == "upstream/invalid-answer", "\(answer.text)")
      let stored: Int64 = try await world.value(
        """
        SELECT (SELECT count(*) FROM magpie.walk_page) + (SELECT count(*) FROM magpie.github_languages)
             + (SELECT count(*) FROM magpie.github_commits) + (SELECT count(*) FROM magpie.github_gist)
        """)
      #expect(stored == 0)
      world.simulator.clearFaults()
      try await world.makeJobsDue()
      #expect(try await world.get(Self.paths[number], as: token, [.prefer: "wait=20"]).status == 200)
    }
  }

  @Test(arguments: paths.indices, [Fault.Effect.status(502), .html(503), .primaryLimit, .secondaryLimit])
  func storedAnswersStayWhenTheUpstreamFails(number: Int, effect: Fault.Effect) async throws {
    try await Self.run { world, token in
      let before = try await world.get(Self.paths[number], as: token)
      #expect(before.status == 200)
      try await world.untilIdle()
      world.simulator.add(Fault(effect, on: "/**"))
      let answer = try await world.get(Self.paths[number], as: token, Self.wish)
      #expect(answer.status == 200 && answer.body == before.body)
      #expect(answer.cacheStatus?.hasPrefix("magpie; fwd=stale; detail=") == true)
      #expect(answer["Magpie-Validated-At"] == before["Magpie-Validated-At"])
    }
  }

  @Test func walkThatBreaksOffChangesNothing() async throws {
    try await Self.run(230) { world, token in
      let before = try await world.pages(from: "\(Self.list)&per_page=100", as: token).flatMap { try $0.ids }
      try world.simulator.set(.deleted, "Nest", of: "octocat")
      world.simulator.add(Fault(.status(500), on: "/user/*/repos?page=3"))
      let answer = try await world.get("\(Self.list)&per_page=100", as: token, Self.wish)
      #expect(answer.cacheStatus == "magpie; fwd=stale; detail=offline")
      #expect(try await world.pages(from: "\(Self.list)&per_page=100", as: token).flatMap { try $0.ids } == before)
      world.simulator.clearFaults()
      try await world.makeJobsDue()
      try await world.untilIdle()
      let after = try await world.pages(from: "\(Self.list)&per_page=100", as: token).flatMap { try $0.ids }
      #expect(after == before.filter { $0 != 5_000_000_000 } && after.count == 230)
    }
  }

  @Test func changeOnOnePageIsSeenThoughTheOthersAreUnchanged() async throws {
    try await Self.run(230) { world, token in
      _ = try await world.get(Self.list, as: token)
      try await world.untilIdle()
      // Of pages of a hundred, the oldest first, this one is on the third.
      try world.simulator.push(to: "Nest", of: "octocat")
      let answer = try await world.get(Self.list, as: token, Self.wish)
      #expect(try answer.ids.first == 5_000_000_000)
      #expect(world.simulator.count("/**", status: 304) == 2)
      let log = world.simulator.log("/**")
      #expect(log.filter(\.conditional).count == 3 && log.count == 6)
    }
  }

  /// A page that is added behind a full one leaves that one's body, and so its validator, as they were.
  @Test func whatComesBehindAFullLastPageIsSeen() async throws {
    try await Self.run(99) { world, token in
      let before = try await world.get("\(Self.list)&per_page=100", as: token).ids
      #expect(before.count == 100)
      let new = try world.simulator.addRepository("Twig", of: "octocat")
      _ = try await world.get("\(Self.list)&per_page=100", as: token, Self.wish)
      let after = try await world.pages(from: "\(Self.list)&per_page=100", as: token).flatMap { try $0.ids }
      #expect(Set(after) == Set(before + [new]) && after.count == 101)
    }
  }

  /// Two readings that do not agree are no agreement: what was there stays, and the list is left alone for some minutes.
  @Test func readingsThatDoNotAgreeChangeNothing() async throws {
    try await Self.run(60) { world, token in
      let before = try await world.get("\(Self.list)&per_page=100", as: token).ids
      let names = try before.map { try #require(world.simulator.repositoryName($0)) }
      for name in names.dropFirst(20) { try world.simulator.set(.deleted, name, of: "octocat") }
      world.simulator.hold("/users/octocat/repos")
      async let refreshed = world.get("\(Self.list)&per_page=100", as: token, Self.wish)
      await world.simulator.waitUntilHeld()
      world.simulator.releaseOne()
      await world.simulator.waitUntilHeld()
      for number in 20..<35 { world.simulator.restore(before[number], names[number]) }
      world.simulator.release()
      let answer = try await refreshed
      #expect(answer.status == 200 && answer.cacheStatus == "magpie; fwd=stale; detail=offline")
      #expect(try answer.ids == before)
      let wait: Double = try await world.value(
        "SELECT extract(epoch FROM j.available_at - now())::float8 FROM magpie.job j WHERE j.kind = 'github-repos'")
      #expect((60...300).contains(wait))
      // The third shows what the second has shown.
      try await world.makeJobsDue()
      try await world.untilIdle()
      #expect(try await world.get("\(Self.list)&per_page=100", as: token).ids == Array(before.prefix(35)))
    }
  }

  @Test(arguments: [false, true])
  func listThatSeemsToLoseTooManyIsReadTwice(isTrue: Bool) async throws {
    try await Self.run(60) { world, token in
      let before = try await world.get("\(Self.list)&per_page=100", as: token).ids
      for id in before.dropFirst(20) {
        try world.simulator.set(.deleted, try #require(world.simulator.repositoryName(id)), of: "octocat")
      }
      if !isTrue {
        // The first reading is a glitch, the second is as it was.
        world.simulator.hold("/users/octocat/repos")
        async let refreshed = world.get("\(Self.list)&per_page=100", as: token, Self.wish)
        await world.simulator.waitUntilHeld()
        world.simulator.releaseOne()
        await world.simulator.waitUntilHeld()
        let gone = try before.dropFirst(20).map { try #require(world.simulator.repositoryName($0)) }
        for (id, name) in zip(before.dropFirst(20), gone) { world.simulator.restore(id, name) }
        world.simulator.release()
        #expect(try await refreshed.ids == before)
      } else {
        #expect(try await world.get("\(Self.list)&per_page=100", as: token, Self.wish).ids == Array(before.prefix(20)))
      }
      let states: [String] = try await world.owner.query("SELECT w.state FROM magpie.walk w ORDER BY w.id").decode(
        String.self)
      #expect(states == ["complete", "abandoned", "complete"])
    }
  }
}
