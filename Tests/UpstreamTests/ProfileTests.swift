import HTTP
import JSONText
import Testing
import Upstream

@Suite("Reading a profile")
struct ProfileTests {
  private static let wren = #"""
    {"login":"wren-of-kew","id":3000000001,"avatar_url":"https://avatars.example/u/3000000001?v=4","type":"User","name":"Wren \u0000Kew",
    "company":null,"blog":"","followers":12,"following":0,"public_repos":3,"public_gists":1,"created_at":"2019-04-01T00:00:00Z",
    "updated_at":"2025-12-31T23:59:59Z","plan":{"name":"pro"},"private_gists":2,"bio":"a \ud83d b","two_factor_authentication":true,
    "notification_email":"wren@example.com"}
    """#

  @Test("takes identity, counts and the document, cleaned and without private members")
  func readsAProfile() throws {
    let fields: Fields = ["ETag": #"W/"abc""#, "Last-Modified": "Wed, 31 Dec 2025 23:59:59 GMT"]
    let reply = profileReply(answer(200, Self.wren, fields))
    #expect(reply.outcome.summary == #"ok W/"abc" Wed, 31 Dec 2025 23:59:59 GMT"#)
    let account = try #require(reply.outcome.value)
    #expect(account.id == 3_000_000_001)
    #expect(account.login == "wren-of-kew")
    #expect(account.name == "Wren Kew")
    #expect(account.type == "User")
    #expect(account.avatarURL == "https://avatars.example/u/3000000001?v=4")
    #expect([account.followers, account.following, account.publicRepos, account.publicGists] == [12, 0, 3, 1])
    #expect(account.createdAt == "2019-04-01T00:00:00Z")
    #expect(account.updatedAt == "2025-12-31T23:59:59Z")
    let document = try JSONView(account.document)
    #expect(
      document.members.map(\.key) == [
        "login", "id", "avatar_url", "type", "name", "company", "blog", "followers", "following", "public_repos",
        "public_gists",
        "created_at", "updated_at", "bio",
      ])
    #expect(document["bio"]?.string == "a  b")
  }

  @Test("leaves unknown what is missing or of another type")
  func toleratesGaps() throws {
    let text =
      #"{"id":1,"login":"a","name":5,"type":"Mannequin","followers":"12","following":-1,"public_repos":1.5,"public_gists":null,"avatar_url":""}"#
    let account = try #require(profileReply(answer(200, text)).outcome.value)
    #expect(account.name == nil)
    #expect(account.type == "Mannequin")
    #expect([account.followers, account.following, account.publicRepos, account.publicGists] == [nil, nil, nil, nil])
    #expect(account.avatarURL == nil)
    #expect(account.createdAt == nil)
  }

  @Test(
    "refuses a 200 of the wrong shape",
    arguments: [
      ("", "JSON ends too early (byte 0)"), ("<html>", "JSON has an unexpected byte (byte 0)"),
      (#"{"id":1,"login":"a""#, "JSON ends too early (byte 19)"),
      (#"[{"id":1,"login":"a"}]"#, "not an object"), ("null", "not an object"),
      (#"{"id":"1","login":"a"}"#, "/id: not a positive integer"),
      (#"{"id":0,"login":"a"}"#, "/id: not a positive integer"),
      (#"{"id":1.0,"login":"a"}"#, "/id: not a positive integer"),
      (#"{"id":9223372036854775808,"login":"a"}"#, "/id: not a positive integer"),
      (#"{"login":"a"}"#, "/id: not a positive integer"),
      (#"{"id":1}"#, "/login: not a login"), (#"{"id":1,"login":""}"#, "/login: not a login"),
      (#"{"id":1,"login":null}"#, "/login: not a login"),
      (#"{"message":"Not Found"}"#, "/id: not a positive integer"),
    ])
  func refusesWrongShapes(body: String, reason: String) {
    #expect(profileReply(answer(200, body)).outcome.summary == "invalid \(reason)")
  }

  @Test("limits depth, size and login: the limit passes, one more does not")
  func limits() {
    func deep(_ levels: Int) -> String {
      #"{"id":1,"login":"a","x":"# + String(repeating: "[", count: levels - 1)
        + String(repeating: "]", count: levels - 1) + "}"
    }
    #expect(profileReply(answer(200, deep(64))).outcome.value != nil)
    #expect(profileReply(answer(200, deep(65))).outcome.summary.hasPrefix("invalid JSON nested deeper"))
    func large(_ bytes: Int) -> String {
      let start = #"{"id":1,"login":"a","x":""#
      return start + String(repeating: "x", count: bytes - start.utf8.count - 2) + "\"}"
    }
    #expect(profileReply(answer(200, large(1 << 20))).outcome.value != nil)
    #expect(profileReply(answer(200, large(1 << 20 + 1))).outcome.summary.hasPrefix("invalid JSON longer"))
    func named(_ count: Int) -> String { #"{"id":1,"login":"\#(String(repeating: "x", count: count))"}"# }
    #expect(profileReply(answer(200, named(255))).outcome.value != nil)
    #expect(profileReply(answer(200, named(256))).outcome.value == nil)
  }

  @Test("keeps the budget of every answer, good or bad")
  func keepsTheBudget() {
    let fields: Fields = ["X-RATELIMIT-REMAINING": "7", "x-ratelimit-limit": "oops"]
    for status in [200, 304, 404, 500] {
      let budget = profileReply(answer(status, "", fields)).budget
      #expect(
        budget == RateBudget(resource: "core", limit: nil, remaining: 7, used: nil, reset: nil, secondsToReset: nil))
    }
    #expect(profileReply(answer(401)).budget == nil)
    #expect(profileReply(answer(200, "", ["x-ratelimit-remaining": "-1"])).budget == nil)
  }
}
