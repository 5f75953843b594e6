import HTTP
import Testing

@testable import Upstream

/// Answers that others' programs could not read.
@Suite struct TroubleTests {
  /// danger/swift#637, octokit.net#3081: a new kind of account lost the whole page.
  @Test func kindsOfAccountsThatNobodyHasHeardOfAreKept() throws {
    let body =
      #"[{"id":1,"login":"a","type":"Mannequin"},{"id":2,"login":"b","type":"enterprise"},{"id":3,"login":"c"}]"#
    guard case .ok(let page, _) = pageReply(answer(200, body)).outcome else {
      Issue.record("not read")
      return
    }
    #expect(page.members.map(\.type) == ["Mannequin", "enterprise", nil])
  }

  /// kean/Get#4: a profile of somebody who has told nothing.
  @Test func profilesWithNothingInThemAreRead() {
    let body = """
      {"id":9007199254740991,"login":"a","name":null,"company":null,"blog":null,"location":null,"email":null,"bio":null,
      "hireable":null,"twitter_username":null,"avatar_url":null,"created_at":null}
      """
    guard case .ok(let account, _) = profileReply(answer(200, body)).outcome else {
      Issue.record("not read")
      return
    }
    #expect(account.id == 9_007_199_254_740_991)
    #expect(account.name == nil && account.avatarURL == nil && account.followers == nil && account.createdAt == nil)
  }

  /// An index has room for so much; the document has the whole name.
  @Test func namesAreSearchedByTheirFirstCharacters() throws {
    let name = String(repeating: "é", count: 255)
    for (given, kept) in [(name, name), (name + "x", name)] {
      let body = #"[{"id":1,"login":"a","name":"\#(given)"}]"#
      let page = try #require(pageReply(answer(200, body)).outcome.value)
      #expect(page.members.map(\.name) == [kept])
      #expect(String(decoding: page.members[0].document, as: UTF8.self).contains(given))
      let profile = try #require(profileReply(answer(200, String(body.dropFirst().dropLast()))).outcome.value)
      #expect(profile.name == kept)
    }
  }

  /// lychee#367: the edge answers 429 with a page for people.
  @Test func aPageInsteadOfJSONIsALimitWhenItsHeaderSaysSo() {
    let reply = profileReply(
      answer(429, "<html>Whoa there!</html>", ["content-type": "text/html", "Retry-After": "60", "server": "Varnish"]))
    #expect(reply.outcome.summary == "limited secondary 60 named")
    #expect(reply.budget == nil)
  }

  /// NuGetGallery#7987: names of fields arrive in any case.
  @Test(arguments: ["X-RateLimit-", "x-ratelimit-", "X-RATELIMIT-"])
  func namesOfFieldsAreReadInAnyCase(prefix: String) throws {
    var fields: Fields = [:]
    for (name, value) in [("Limit", "5000"), ("REMAINING", "7"), ("reset", "\(newYear + 60)"), ("resource", "search")] {
      fields.append(try #require(Fields.Name(prefix + name)), value)
    }
    let budget = try #require(profileReply(answer(200, #"{"id":1,"login":"a"}"#, fields)).budget)
    #expect(
      budget
        == RateBudget(
          resource: "search", limit: 5_000, remaining: 7, used: nil, reset: newYear + 60, secondsToReset: 60))
  }
}
