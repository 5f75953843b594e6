import Postgres
import TestSupport
import Testing

@testable import Magpie

@Suite struct BudgetTests {
  private static let core = "core"

  private func withBudgets(
    limit: Int = 100, window: Duration = .seconds(3_600), pace: Budgets.Pace = .unlimited, outstanding: Int = 10_000,
    _ body: (QueueFixture, Budgets) async throws -> Void
  ) async throws {
    try await QueueFixture.make(loops: 2) { fixture in
      let budgets = Budgets(database: fixture.database)
      try await budgets.register([
        Budgets.Credential(
          id: "k", pool: "github", label: "one",
          resources: [
            Budgets.Resource("core", limit: limit, window: window),
            Budgets.Resource("search", limit: 10, window: .seconds(60)),
          ], pace: pace, maximumOutstanding: outstanding)
      ])
      try await body(fixture, budgets)
    }
  }

  private func granted(_ admission: Budgets.Admission) -> Budgets.Grant? {
    if case .granted(let grant) = admission { return grant }
    return nil
  }

  private func refused(_ admission: Budgets.Admission) -> (Budgets.Refusal, Duration?)? {
    if case .wait(let wait, let refusal) = admission { return (refusal, wait) }
    return nil
  }

  private func remaining(_ budgets: Budgets, _ resource: String = "core") async throws -> Int? {
    try await budgets.lines(pool: "github").first { $0.resource == resource }?.remaining
  }

  /// Sixteen takers together get exactly what each class may have, and not one request more.
  @Test(arguments: [(3, 50), (2, 80), (1, 95), (0, 100)])
  func takersOfAClassGetExactlyItsPart(_ priority: Int, _ expected: Int) async throws {
    try await withBudgets { fixture, budgets in
      let count = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<16 {
          group.addTask {
            var count = 0
            while true {
              switch try await budgets.take(["k"], resource: "core", priority: Job.Priority(rawValue: priority)) {
              case .granted: count += 1
              case .wait(_, .busy): continue
              case .wait: return count
              }
            }
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(count == expected)
      let line = try #require(try await budgets.lines(pool: "github").first { $0.resource == "core" })
      #expect(line.remaining == 100 - expected)
      #expect(try await remaining(budgets, "search") == 10)
    }
  }

  @Test func whatIsKeptForOthersIsToldApartFromWhatIsSpent() async throws {
    try await withBudgets { _, budgets in
      #expect(granted(try await budgets.take(["k"], resource: "core", priority: .background, count: 80)) != nil)
      let reserved = try #require(refused(try await budgets.take(["k"], resource: "core", priority: .background)))
      #expect(reserved.0 == .reserved)
      #expect(granted(try await budgets.take(["k"], resource: "core", priority: .interactive, count: 20)) != nil)
      let spent = try #require(refused(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      #expect(spent.0 == .spent)
      // The window is guessed to have begun with the first grant; callers come back spread over up to five seconds.
      #expect((3_590...3_605).contains(try #require(spent.1).inSeconds))
      #expect(try #require(refused(try await budgets.take(["nobody"], resource: "core", priority: .soon))).0 == .none)
      #expect(try #require(refused(try await budgets.take(["k"], resource: "graphql", priority: .soon))).0 == .none)
    }
  }

  @Test func floorsCanBeMovedByAdministrators() async throws {
    try await withBudgets { fixture, budgets in
      _ = try await withDatabase(fixture.url, configure: { $0.role = "magpie_admin" }) { database in
        try await database.query("SELECT admin.set_budget_floor('background', 90)::text")
        let failure = await #expect(throws: PostgresError.self) {
          try await database.query("SELECT admin.set_budget_floor('nobody', 1)::text")
        }
        #expect(failure?.sqlState == "22023")
      }
      #expect(granted(try await budgets.take(["k"], resource: "core", priority: .background, count: 10)) != nil)
      #expect(refused(try await budgets.take(["k"], resource: "core", priority: .background))?.0 == .reserved)
    }
  }

  @Test func upstreamsFiguresCorrectTheGuess() async throws {
    try await withBudgets(limit: 60) { _, budgets in
      let first = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      let second = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      let third = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      // Two others are under way: what the upstream has left is not ours alone.
      try await budgets.settle(second, .init(.ok, limit: 5_000, remaining: 4_999, reset: .seconds(1_800)))
      #expect(try await remaining(budgets) == 4_997)
      // Answers overtake each other; the lowest figure of a window is the latest.
      try await budgets.settle(first, .init(.ok, limit: 5_000, remaining: 4_990, reset: .seconds(1_800)))
      #expect(try await remaining(budgets) == 4_990)
      try await budgets.settle(third, .init(.ok, limit: 5_000, remaining: 4_995, reset: .seconds(1_800)))
      #expect(try await remaining(budgets) == 4_990)
      let line = try #require(try await budgets.lines(pool: "github").first { $0.resource == "core" })
      #expect(line.limit == 5_000)
      #expect((1_790...1_801).contains(try #require(line.reset).inSeconds))
    }
  }

  /// A reset in milliseconds, or a clock that is decades wrong.
  @Test func aWindowOfDecadesIsNotBelieved() async throws {
    try await withBudgets(limit: 60) { _, budgets in
      for seconds in [86_401, 1_767_225_600, 1_767_225_600_000] as [Int64] {
        let grant = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
        try await budgets.settle(grant, .init(.ok, limit: 60, remaining: 5, reset: .seconds(seconds)))
        let line = try #require(try await budgets.lines(pool: "github").first { $0.resource == "core" })
        #expect(try #require(line.reset).inSeconds <= 3_600)
      }
      // A good answer is heard after that.
      let grant = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      try await budgets.settle(grant, .init(.ok, limit: 60, remaining: 50, reset: .seconds(1_800)))
      #expect(try await remaining(budgets) == 50)
    }
  }

  @Test func aNewWindowIsTakenOverAndALateAnswerOfTheOldOneIsNot() async throws {
    try await withBudgets { _, budgets in
      func take() async throws -> Budgets.Grant {
        try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      }
      try await budgets.settle(try await take(), .init(.ok, limit: 100, remaining: 3, reset: .seconds(30)))
      let late = try await take()
      try await budgets.settle(try await take(), .init(.ok, limit: 100, remaining: 99, reset: .seconds(3_600)))
      #expect(try await remaining(budgets) == 98)
      try await budgets.settle(late, .init(.ok, limit: 100, remaining: 1, reset: .seconds(25)))
      #expect(try await remaining(budgets) == 98)
      // An answer without figures changes nothing.
      try await budgets.settle(try await take(), .init(.ok))
      #expect(try await remaining(budgets) == 97)
    }
  }

  @Test func whatWasNotChargedIsGivenBack() async throws {
    try await withBudgets { _, budgets in
      let grant = try #require(
        granted(try await budgets.take(["k"], resource: "core", priority: .interactive, count: 5)))
      #expect(try await remaining(budgets) == 95)
      try await budgets.settle(grant, .init(.ok, refund: 2))
      #expect(try await remaining(budgets) == 97)
    }
  }

  @Test func aSecondaryLimitClosesTheGateForEverybodyUntilTheNamedTime() async throws {
    try await withBudgets { fixture, budgets in
      let grant = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      try await budgets.settle(grant, .init(.limited, blockedFor: .seconds(120)))
      let other = Budgets(database: fixture.database)
      for resource in ["core", "search"] {
        let refusal = try #require(refused(try await other.take(["k"], resource: resource, priority: .interactive)))
        #expect(refusal.0 == .limited)
        #expect((110...132).contains(try #require(refusal.1).inSeconds))
      }
      let outlook = try #require(try await budgets.outlook(pool: "github", resource: "core", priority: .interactive))
      #expect(outlook.refusal == .limited)
      #expect((110...120).contains(try #require(outlook.opensIn).inSeconds))
    }
  }

  /// The flow starts again with one request, and goes on at its pace.
  @Test func reopeningDoesNotLetEverybodyThroughAtOnce() async throws {
    try await withBudgets(pace: .init(perSecond: 0.001, burst: 50)) { fixture, budgets in
      let grant = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      try await budgets.settle(grant, .init(.limited, blockedFor: .seconds(1)))
      try await fixture.database.query(
        "UPDATE magpie.credential SET blocked_until = now() - interval '1 s', bucket_at = now()")
      #expect(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)) != nil)
      #expect(refused(try await budgets.take(["k"], resource: "core", priority: .interactive))?.0 == .paced)
    }
  }

  @Test func limitsWithoutATimeBackOffAndCountOncePerWave() async throws {
    try await withBudgets { fixture, budgets in
      func wave() async throws -> Double {
        var grants: [Budgets.Grant] = []
        for _ in 0..<3 {
          grants.append(try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive))))
        }
        for grant in grants { try await budgets.settle(grant, .init(.limited)) }
        let seconds: Double = try await fixture.value(
          "SELECT extract(epoch FROM blocked_until - now())::float8 FROM magpie.credential")
        try await fixture.database.query(
          "UPDATE magpie.credential SET blocked_until = now() - interval '1 s', bucket = burst, bucket_at = now()")
        return seconds
      }
      #expect((50...75).contains(try await wave()))
      #expect(try await fixture.value("SELECT strikes FROM magpie.credential") == 1)
      #expect((110...150).contains(try await wave()))
      #expect((230...300).contains(try await wave()))
      let grant = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      try await budgets.settle(grant, .init(.ok))
      #expect(try await fixture.value("SELECT strikes FROM magpie.credential") == 0)
    }
  }

  /// A minute, or the end of the window that the answer names: the later of the two.
  @Test(arguments: [(20, 50.0, 76.0), (900, 890.0, 905.0), (90_000, 50.0, 76.0)] as [(Int, Double, Double)])
  func limitsWithoutATimeLastUntilTheWindowsEndIfThatIsLater(reset: Int, least: Double, most: Double) async throws {
    try await withBudgets { fixture, budgets in
      let grant = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      try await budgets.settle(grant, .init(.limited, limit: 100, remaining: 14, reset: .seconds(reset)))
      let seconds: Double = try await fixture.value(
        "SELECT extract(epoch FROM blocked_until - now())::float8 FROM magpie.credential")
      #expect((least...most).contains(seconds))
      #expect(try await fixture.value("SELECT strikes FROM magpie.credential") == 1)
    }
  }

  @Test func aSpentWindowClosesItsResourceAlone() async throws {
    try await withBudgets { _, budgets in
      let grant = try #require(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      try await budgets.settle(grant, .init(.spent, limit: 60, remaining: 0, reset: .seconds(600)))
      let refusal = try #require(refused(try await budgets.take(["k"], resource: "core", priority: .interactive)))
      #expect(refusal.0 == .spent)
      #expect((590...606).contains(try #require(refusal.1).inSeconds))
      #expect(granted(try await budgets.take(["k"], resource: "search", priority: .interactive)) != nil)
    }
  }

  @Test func anUnknownCredentialIsDisabledAndTheOthersGoOn() async throws {
    try await withBudgets { fixture, budgets in
      try await budgets.register([
        Budgets.Credential(
          id: "l", pool: "github", label: "two", resources: [.init("core", limit: 10, window: .seconds(60))],
          pace: .unlimited)
      ])
      let grant = try #require(
        granted(try await budgets.take(["k", "l"], resource: "core", priority: .interactive, preferred: "l")))
      #expect(grant.credential == "l")
      try await budgets.settle(grant, .init(.unauthorized))
      for _ in 0..<5 {
        let next = try #require(
          granted(try await budgets.take(["k", "l"], resource: "core", priority: .interactive, preferred: "l")))
        #expect(next.credential == "k")
      }
      let alone = try #require(refused(try await budgets.take(["l"], resource: "core", priority: .interactive)))
      #expect(alone.0 == .disabled && alone.1 == nil)
      let states = try await withDatabase(fixture.url, configure: { $0.role = "magpie_admin" }) { database in
        try await database.column(String.self, "SELECT state FROM admin.budgets WHERE label = 'two'")
      }
      #expect(states == ["disabled"])
    }
  }

  @Test func requestsUnderWayAreBoundedAndLostGrantsComeBack() async throws {
    try await withBudgets(outstanding: 2) { fixture, budgets in
      for _ in 0..<2 {
        #expect(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)) != nil)
      }
      #expect(refused(try await budgets.take(["k"], resource: "core", priority: .interactive))?.0 == .busy)
      // A process died with its grants. No request lasts a minute.
      try await fixture.database.query("UPDATE magpie.credential SET taken_at = now() - interval '61 s'")
      try await budgets.register([
        Budgets.Credential(
          id: "k", pool: "github", label: "one", resources: [], pace: .unlimited, maximumOutstanding: 2)
      ])
      #expect(granted(try await budgets.take(["k"], resource: "core", priority: .interactive)) != nil)
    }
  }

  @Test func patienceWaitsForTheGateAndNoLonger() async throws {
    try await withBudgets(pace: .init(perSecond: 20, burst: 1)) { fixture, budgets in
      try await fixture.group.loops[0].run {
        for _ in 0..<5 {
          guard
            case .granted = try await budgets.take(
              ["k"], resource: "core", priority: .interactive, patience: .seconds(60))
          else {
            Issue.record("the gate did not open")
            return
          }
        }
      }
    }
    try await withBudgets(pace: .init(perSecond: 0.001, burst: 1)) { fixture, budgets in
      try await fixture.group.loops[0].run {
        _ = try await budgets.take(["k"], resource: "core", priority: .interactive)
        guard
          case .wait(_, .paced) = try await budgets.take(
            ["k"], resource: "core", priority: .interactive, patience: .milliseconds(20))
        else {
          Issue.record("two requests within the pace of one")
          return
        }
      }
    }
  }
}
