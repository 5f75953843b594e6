import HTTP
import Testing
import Upstream

@Suite("Knowing the budget")
struct RateBudgetTests {
  private func budget(_ remaining: Int?, used: Int?, reset: Int64?) -> RateBudget {
    RateBudget(
      resource: "core", limit: 60, remaining: remaining, used: used, reset: reset, secondsToReset: reset.map { _ in 5 })
  }

  @Test("trusts the lowest remaining of a window and leaves it only for a later one")
  func updates() {
    let known = budget(10, used: 50, reset: 1000)
    #expect(known.updated(with: budget(12, used: 48, reset: 1000)) == known)
    #expect(known.updated(with: budget(9, used: 51, reset: 1000)) == budget(9, used: 51, reset: 1000))
    #expect(known.updated(with: budget(60, used: 0, reset: 999)) == known)
    #expect(known.updated(with: budget(60, used: 0, reset: 4600)) == budget(60, used: 0, reset: 4600))
    #expect(known.updated(with: budget(nil, used: nil, reset: 1000)) == known)
    #expect(known.updated(with: budget(3, used: nil, reset: nil)) == budget(3, used: nil, reset: nil))
  }

  @Test("reads every field whatever its case")
  func reads() {
    let answer = answer(
      200, "",
      [
        "X-RateLimit-Limit": "5000", "x-RateLimit-Remaining": "4999", "X-RATELIMIT-USED": "1",
        "x-ratelimit-reset": "\(newYear + 60)",
        "x-ratelimit-resource": "search",
      ])
    #expect(
      RateBudget(of: answer, assuming: "core")
        == RateBudget(
          resource: "search", limit: 5000, remaining: 4999, used: 1, reset: newYear + 60, secondsToReset: 60))
  }

  private func limits(reset: String, limit: String) -> UpstreamAnswer {
    UpstreamTests.answer(200, "", ["x-ratelimit-reset": reset, "x-ratelimit-limit": limit])
  }

  @Test("takes absurd numbers for unknown, whatever the date")
  func refusesAbsurdNumbers() {
    let most = "\(Int64.max)"
    let fields: Fields = [
      "date": "Mon, 01 Jan 0001 00:00:00 GMT", "x-ratelimit-reset": most, "x-ratelimit-remaining": "0",
    ]
    let reply = profileReply(UpstreamAnswer(status: 403, fields: fields, body: [], receivedAt: 0))
    #expect(reply.outcome.summary == "limited primary 60 unnamed")
    #expect(reply.budget?.reset == nil)
    // In milliseconds, a second more than a day, and a day.
    let resets: [(Int64, Int64?)] = [(newYear * 1_000, nil), (newYear + 86_401, nil), (newYear + 86_400, 86_400)]
    for (reset, seconds) in resets {
      let budget = RateBudget(of: limits(reset: "\(reset)", limit: "5000"), assuming: "core")
      #expect(budget?.secondsToReset == seconds && budget?.limit == 5_000)
    }
    for (limit, expected) in [("2147483647", 2_147_483_647), ("2147483648", nil)] as [(String, Int?)] {
      #expect(RateBudget(of: limits(reset: "\(newYear)", limit: limit), assuming: "core")?.limit == expected)
    }
    let later: Fields = ["date": "Mon, 01 Jan 0001 00:00:00 GMT", "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"]
    #expect(
      profileReply(UpstreamAnswer(status: 503, fields: later, body: [], receivedAt: 0)).outcome.summary
        == "transient 503 86400")
  }
}
