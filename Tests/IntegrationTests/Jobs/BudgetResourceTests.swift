import Postgres
import TestSupport
import Testing

@testable import Magpie

/// Each resource of the upstream has a record of its own, also one that nobody has heard of.
@Suite struct BudgetResourceTests {
  private func withBudgets(_ body: (QueueFixture, Budgets) async throws -> Void) async throws {
    try await QueueFixture.make { fixture in
      let budgets = Budgets(database: fixture.database)
      try await budgets.register([
        Budgets.Credential(
          id: "k", pool: "github", label: "one",
          resources: [
            Budgets.Resource("core", limit: 5_000, window: .seconds(3_600)),
            Budgets.Resource("search", limit: 30, window: .seconds(60)),
          ], pace: .unlimited)
      ])
      try await body(fixture, budgets)
    }
  }

  private func take(_ budgets: Budgets, _ resource: String) async throws -> Budgets.Grant {
    guard
      case .granted(let grant) = try await budgets.take(["k"], resource: resource, priority: .interactive)
    else { throw Refused() }
    return grant
  }

  private struct Refused: Error {}

  private func remaining(_ budgets: Budgets, _ resource: String) async throws -> Int? {
    try await budgets.lines(pool: "github").first { $0.resource == resource }?.remaining
  }

  /// PyGithub#1988: the few requests of a search were taken for all that was left of everything.
  @Test func aSearchAnswersSmallRemainderThrottlesNoOtherWork() async throws {
    try await withBudgets { _, budgets in
      try await budgets.settle(
        try await take(budgets, "search"), .init(.ok, resource: "search", limit: 30, remaining: 0, reset: .seconds(50)))
      #expect(try await remaining(budgets, "search") == 0)
      #expect(try await remaining(budgets, "core") == 5_000)
      #expect(try await take(budgets, "core").resource == "core")
    }
  }

  @Test func figuresGoToTheResourceTheAnswerNames() async throws {
    try await withBudgets { _, budgets in
      let grant = try await take(budgets, "core")
      #expect(try await remaining(budgets, "core") == 4_999)
      try await budgets.settle(grant, .init(.ok, resource: "search", limit: 30, remaining: 3, reset: .seconds(40)))
      #expect(try await remaining(budgets, "search") == 3)
      // What was granted was not charged.
      #expect(try await remaining(budgets, "core") == 5_000)
    }
  }

  @Test func anUnknownResourceAppears() async throws {
    try await withBudgets { fixture, budgets in
      try await budgets.settle(
        try await take(budgets, "core"),
        .init(.ok, resource: "code_search", limit: 10, remaining: 7, reset: .seconds(60)))
      let line = try #require(try await budgets.lines(pool: "github").first { $0.resource == "code_search" })
      #expect(line.limit == 10 && line.remaining == 7)
      // An upstream that makes names up fills no table.
      for number in 0..<40 {
        try await budgets.settle(
          try await take(budgets, "core"),
          .init(.ok, resource: "made-up-\(number)", limit: 10, remaining: 7, reset: .seconds(60)))
      }
      #expect(try await fixture.value("SELECT count(*) FROM magpie.budget") == 32)
      #expect(try await remaining(budgets, "core") == 5_000)
    }
  }

  @Test func requestsUnderWayForOneResourceAreNotTakenFromAnother() async throws {
    try await withBudgets { _, budgets in
      for _ in 0..<25 { _ = try await take(budgets, "core") }
      try await budgets.settle(
        try await take(budgets, "search"), .init(.ok, resource: "search", limit: 30, remaining: 29, reset: .seconds(59))
      )
      #expect(try await remaining(budgets, "search") == 29)
      // Others of the same resource are.
      let first = try await take(budgets, "search")
      let second = try await take(budgets, "search")
      try await budgets.settle(first, .init(.ok, resource: "search", limit: 30, remaining: 29, reset: .seconds(200)))
      #expect(try await remaining(budgets, "search") == 28)
      try await budgets.settle(second, .init(.ok, resource: "search", limit: 30, remaining: 28, reset: .seconds(200)))
      #expect(try await remaining(budgets, "search") == 28)
    }
  }

  @Test func aTokensRecordsAreItsOwn() async throws {
    try await withBudgets { _, budgets in
      try await budgets.register([
        Budgets.Credential(
          id: "l", pool: "github", label: "two",
          resources: [
            .init("core", limit: 5_000, window: .seconds(3_600)), .init("search", limit: 30, window: .seconds(60)),
          ], pace: .unlimited)
      ])
      let admission = try await budgets.take(
        ["k", "l"], resource: "search", priority: .interactive, preferred: "l")
      guard case .granted(let grant) = admission else { throw Refused() }
      try await budgets.settle(grant, .init(.spent, resource: "search", limit: 30, remaining: 0, reset: .seconds(50)))
      let lines = try await budgets.lines(pool: "github").map { "\($0.credential) \($0.resource) \($0.remaining)" }
      #expect(lines == ["k core 5000", "k search 30", "l core 5000", "l search 0"])
    }
  }
}
