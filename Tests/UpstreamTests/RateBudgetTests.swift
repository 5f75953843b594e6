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

  @Test("takes absurd numbers for unknown, whatever the date")
  func refusesAbsurdNumbers() {
    let most = "\(Int64.max)"
    let fields: Fields = [
      "date": "Mon, 01 Jan 0001 00:00:00 GMT", "x-ratelimit-reset": most, "x-ratelimit-remaining": "0",
    ]
    let reply = profileReply(UpstreamAnswer(status: 403, fields: fields, body: [], receivedAt: 0))
    #expect(reply.outcome.summary == "limited primary 60 unnamed")
    #expect(reply.budget?.reset == nil)
    let largest: Fields = ["date": "Mon, 01 Jan 0001 00:00:00 GMT", "x-ratelimit-reset": "\(1 << 53)"]
    #expect(
      profileReply(UpstreamAnswer(status: 403, fields: largest, body: [], receivedAt: 0)).budget?.reset == 1 << 53)
    let later: Fields = ["date": "Mon, 01 Jan 0001 00:00:00 GMT", "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"]
    #expect(
      profileReply(UpstreamAnswer(status: 503, fields: later, body: [], receivedAt: 0)).outcome.summary
        == "transient 503 86400")
  }
}
