import Testing
import Upstream
import WorldSupport

@testable import Magpie

/// What an upstream's refusals mean for the job that has met them.
@Suite struct UpstreamVerdictTests {
  private let grant = Budgets.Grant(credential: "c", resource: "core", count: 1)

  private func end(_ limit: Limit, charged resource: String?) -> JobResult? {
    let budget = resource.map {
      RateBudget(resource: $0, limit: 60, remaining: 0, used: 60, reset: nil, secondsToReset: nil)
    }
    let verdict = UpstreamVerdict<Int>(Reply(.limited(limit), budget: budget), grant: grant)
    guard case .ended(let result) = verdict else { return nil }
    return result
  }

  /// The gate knows when to go on, and with whom. It stays open when another resource was spent than the one it let through.
  @Test func aLimitIsWaitedForAtTheGate() {
    let hour = Limit(.primary, seconds: 3_600, isNamed: true)
    let rest = Limit(.secondary, seconds: 3_600, isNamed: false)
    for limit in [hour, rest] {
      for resource in ["core", nil] as [String?] {
        #expect(end(limit, charged: resource) == .snooze(.milliseconds(10)))
      }
    }
    #expect(end(hour, charged: "search") == .snooze(.seconds(3_600)))
    #expect(end(rest, charged: "search") == .snooze(.milliseconds(10)))
  }

  /// An answer without figures, or with one that cannot be, still closes the gate.
  @Test(arguments: [Int?.none, 14])
  func aPrimaryLimitLeavesNothing(remaining: Int?) {
    let budget = remaining.map {
      RateBudget(resource: "core", limit: 60, remaining: $0, used: nil, reset: nil, secondsToReset: nil)
    }
    let reply = Reply<Int>(.limited(Limit(.primary, seconds: 61, isNamed: true)), budget: budget)
    let answer = Budgets.Answer(reply, refund: 0)
    #expect(answer.outcome == .spent && answer.remaining == 0 && answer.reset == .seconds(61))
  }

  /// Credentials that nobody has announced yet are not bad ones, and cost no attempt.
  @Test func credentialsThatAreNotAnnouncedAreWaitedFor() {
    guard case .ended(let result) = UpstreamVerdict<Int>(Budgets.Refusal.none, nil) else {
      Issue.record("an answer")
      return
    }
    #expect(result == .snooze(.seconds(2)))
    guard case .ended(.retry) = UpstreamVerdict<Int>(Budgets.Refusal.disabled, nil) else {
      Issue.record("no retry")
      return
    }
  }
}
