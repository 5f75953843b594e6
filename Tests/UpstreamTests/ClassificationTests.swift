import HTTP
import Testing
import Upstream

/// Every way GitHub is known to refuse, with what must come of it.
@Suite("Telling GitHub's answers apart")
struct ClassificationTests {
  private static let spent: Fields = [
    "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Used": "60", "X-RateLimit-Resource": "core",
    "X-RateLimit-Reset": "\(newYear + 900)",
  ]
  private static let left: Fields = [
    "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "14", "x-ratelimit-reset": "\(newYear + 900)",
    "x-ratelimit-resource": "core",
  ]
  private static let blocked =
    #"{"message":"Repository access blocked","block":{"reason":"tos","created_at":"2020-01-01T00:00:00Z","html_url":null}}"#

  private static func adding(_ fields: Fields, to base: Fields) -> Fields {
    var all = base
    for field in fields { all.append(field.name, field.value) }
    return all
  }

  @Test("primary limits rest until the window's end by GitHub's clock", arguments: [403, 429])
  func primary(status: Int) {
    let message = #"{"message":"API rate limit exceeded for user ID 1."}"#
    let reply = profileReply(answer(status, message, Self.spent))
    #expect(reply.outcome.summary == "limited primary 901 named")
    #expect(reply.budget?.remaining == 0)
    #expect(reply.budget?.secondsToReset == 900)
    #expect(
      profileReply(answer(status, message, ["x-ratelimit-remaining": "0"])).outcome.summary
        == "limited primary 60 unnamed")
  }

  @Test("a clock of ours that is wrong changes nothing, and a reset in the past is over")
  func clocks() {
    var late = answer(403, "{}", Self.spent)
    late.receivedAt = newYear + 1_000_000
    #expect(profileReply(late).outcome.summary == "limited primary 901 named")
    var undated = answer(403, "{}", Self.spent)
    undated.fields.remove(.date)
    undated.receivedAt = newYear + 890
    #expect(profileReply(undated).outcome.summary == "limited primary 11 named")
    undated.receivedAt = newYear + 1_000_000
    #expect(profileReply(undated).outcome.summary == "limited primary 1 named")
    undated.receivedAt = 0
    // A window that ends in decades is none.
    #expect(profileReply(undated).outcome.summary == "limited primary 60 unnamed")
  }

  @Test(
    "secondary limits are known by header, words, page or status", arguments: [403, 429])
  func secondary(status: Int) {
    func summary(_ body: String, _ fields: Fields) -> String {
      profileReply(answer(status, body, fields)).outcome.summary
    }
    #expect(summary("{}", ["Retry-After": "7"]) == "limited secondary 7 named")
    #expect(summary("{}", Self.adding(["retry-after": "7"], to: Self.spent)) == "limited secondary 7 named")
    #expect(summary("{}", ["retry-after": HTTPDate.format(newYear + 30)]) == "limited secondary 30 named")
    #expect(summary("{}", ["retry-after": "0"]) == "limited secondary 1 named")
    #expect(summary("{}", ["retry-after": "99999999"]) == "limited secondary 86400 named")
    #expect(summary("<html>slow down</html>", ["retry-after": "60"]) == "limited secondary 60 named")
    let words = #"{"message":"You have exceeded a SECONDARY Rate Limit."}"#
    #expect(summary(words, [:]) == "limited secondary 60 unnamed")
    #expect(summary(words, Self.left) == "limited secondary 900 unnamed")
    #expect(
      summary(#"{"message":"You have triggered an abuse detection mechanism"}"#, [:]) == "limited secondary 60 unnamed")
    #expect(
      summary(#"{"documentation_url":"https://docs.example/rest#abuse-rate-limits"}"#, [:])
        == "limited secondary 60 unnamed")
    #expect(
      summary(#"{"documentation_url":"https://docs.example/rest/about-secondary-rate-limits"}"#, [:])
        == "limited secondary 60 unnamed")
  }

  @Test("a primary limit that only its words tell is a limit", arguments: [403, 429])
  func words(status: Int) {
    func summary(_ message: String, _ fields: Fields = [:]) -> String {
      profileReply(answer(status, #"{"message":"\#(message)"}"#, fields)).outcome.summary
    }
    #expect(summary("API rate limit exceeded for 203.0.113.7.") == "limited secondary 60 unnamed")
    #expect(summary("API Rate Limit Exceeded") == "limited secondary 60 unnamed")
    // The window's end is told, and what should be left in it was not there.
    #expect(summary("API rate limit exceeded for user ID 1.", Self.left) == "limited primary 901 named")
    #expect(
      summary("API rate limit exceeded", ["x-ratelimit-reset": "\(newYear + 20)"]) == "limited primary 21 named")
    guard status == 403 else { return }
    #expect(summary("No, for the API rate limit exceeded that").hasPrefix("refused forbidden"))
  }

  @Test("a 429 that says nothing is a secondary limit, a 403 that says nothing is none")
  func silence() {
    #expect(profileReply(answer(429)).outcome.summary == "limited secondary 60 unnamed")
    #expect(profileReply(answer(429, "{}", ["retry-after": "soon"])).outcome.summary == "limited secondary 60 unnamed")
    #expect(profileReply(answer(429, "{}", ["retry-after": "-5"])).outcome.summary == "limited secondary 60 unnamed")
    #expect(profileReply(answer(403)).outcome.summary == "refused forbidden(message: nil)")
    let html = "<html>Request forbidden by administrative rules.</html>"
    #expect(
      profileReply(answer(403, html, ["content-type": "application/json"])).outcome.summary
        == "refused forbidden(message: nil)")
    let policy = #"{"message":"Resource not accessible by personal access token"}"#
    #expect(
      profileReply(answer(403, policy, Self.left)).outcome.summary
        == #"refused forbidden(message: Optional("Resource not accessible by personal access token"))"#)
  }

  @Test("a block or a missing sign-on is no limit, even with nothing remaining")
  func refusalsBeforeLimits() {
    for fields in [[:], Self.spent, Self.adding(["retry-after": "60"], to: Self.spent)] as [Fields] {
      #expect(profileReply(answer(403, Self.blocked, fields)).outcome.summary == #"refused blocked(reason: "tos")"#)
      let signOn = Self.adding(["X-GitHub-SSO": "required; url=https://github.example/sso"], to: fields)
      #expect(profileReply(answer(403, "{}", signOn)).outcome.summary == "refused singleSignOn")
    }
    #expect(
      profileReply(answer(403, "{}", ["x-github-sso": "partial-results; organizations=1"])).outcome.summary
        == "refused forbidden(message: nil)")
    #expect(profileReply(answer(403, #"{"block":{}}"#)).outcome.summary == #"refused blocked(reason: "unavailable")"#)
    #expect(profileReply(answer(403, #"{"block":null}"#)).outcome.summary == "refused forbidden(message: nil)")
  }

  @Test(
    "other statuses are facts, trouble or nonsense",
    arguments: [
      (304, "", [:], "not modified"), (401, #"{"message":"Bad credentials"}"#, [:], "unauthorized"),
      (404, #"{"message":"Not Found"}"#, [:], "gone 404 -"),
      (404, "", [:], "gone 404 -"), (404, "<html>", [:], "gone 404 -"), (410, "{}", [:], "gone 410 -"),
      (451, "{}", [:], "gone 451 -"),
      (451, #"{"message":"Repository access blocked","block":{"reason":"dmca"}}"#, [:], "gone 451 dmca"),
      (
        410, #"{"message":"This API version is retired."}"#, [:],
        #"refused version(message: Optional("This API version is retired."))"#
      ),
      (
        400, #"{"message":"x","documentation_url":"https://d/rest/api-versions"}"#, [:],
        #"refused version(message: Optional("x"))"#
      ),
      (400, "{}", [:], "refused request(status: 400, message: nil)"),
      (
        422, #"{"message":"Validation Failed","errors":["x"]}"#, [:],
        #"refused request(status: 422, message: Optional("Validation Failed"))"#
      ),
      (409, "{}", [:], "refused request(status: 409, message: nil)"), (408, "", [:], "transient 408 -"),
      (500, "<html>", [:], "transient 500 -"),
      (502, "", [:], "transient 502 -"), (503, "", ["retry-after": "30"], "transient 503 30"),
      (504, "", [:], "transient 504 -"),
      (204, "", [:], "invalid unexpected status 204"), (303, "", [:], "invalid unexpected status 303"),
      (600, "", [:], "invalid unexpected status 600"),
    ] as [(Int, String, Fields, String)])
  func others(status: Int, body: String, fields: Fields, expected: String) {
    #expect(profileReply(answer(status, body, fields)).outcome.summary == expected)
    #expect(pageReply(answer(status, body, fields)).outcome.summary == expected)
  }

  @Test(
    "redirects are told with their origin",
    arguments: [
      (301, "https://api.github.com/user/2", "moved https://api.github.com/user/2 same:true permanent:true"),
      (308, "/user/2", "moved https://api.github.com/user/2 same:true permanent:true"),
      (302, "https://evil.example/user/2", "moved https://evil.example/user/2 same:false permanent:false"),
      (307, "http://api.github.com/user/2", "moved http://api.github.com/user/2 same:false permanent:false"),
      (301, "//evil.example/x", "invalid redirect without a usable address"),
      (301, "javascript:1", "invalid redirect without a usable address"),
      (301, "", "invalid redirect without a usable address"),
    ])
  func redirects(status: Int, location: String, expected: String) {
    #expect(profileReply(answer(status, "{}", ["Location": location])).outcome.summary == expected)
  }

  @Test("a redirect's body is asked when there is no Location")
  func redirectByBody() {
    let body = #"{"message":"Moved Permanently","url":"https://api.github.com/user/2"}"#
    #expect(
      profileReply(answer(301, body)).outcome.summary == "moved https://api.github.com/user/2 same:true permanent:true")
    #expect(profileReply(answer(301)).outcome.summary == "invalid redirect without a usable address")
  }

  @Test("no message of an upstream grows without bound")
  func boundsMessages() {
    let long = String(repeating: "x", count: 5_000)
    guard case .refused(.forbidden(let message)) = profileReply(answer(403, #"{"message":"\#(long)"}"#)).outcome else {
      Issue.record("not refused")
      return
    }
    #expect(message?.count == 200)
  }
}
