import HTTP
import JSONText
import Testing
import Upstream

@Suite("Reading a page of followers")
struct FollowPageTests {
  @Test("takes members in their order, each once, and the links")
  func readsAPage() throws {
    let body = #"""
      [ {"login":"rook","id":5,"type":"User","avatar_url":"https://avatars.example/u/5"} ,
      {"login":"dependabot[bot]","id":3000000002,"type":"Bot","name":"\u0000Dep"},{"login":"rook","id":5},{"login":"jay","id":4,"name":null}]
      """#
    let link =
      #"<https://api.github.com/user/1/followers?per_page=100&page=3>; rel="next", <https://api.github.com/user/1/followers?per_page=100&page=12>; rel="last", <https://x.example>; rel="deprecation"; type="text/html""#
    let page = try #require(pageReply(answer(200, body, ["Link": link])).outcome.value)
    #expect(page.members.map(\.id) == [5, 3_000_000_002, 4])
    #expect(page.members.map(\.login) == ["rook", "dependabot[bot]", "jay"])
    #expect(page.members.map(\.name) == [nil, "Dep", nil])
    #expect(page.members.map(\.type) == ["User", "Bot", nil])
    #expect(page.members[0].avatarURL == "https://avatars.example/u/5")
    #expect(
      page.members.map { String(decoding: $0.document, as: UTF8.self) } == [
        #"{"login":"rook","id":5,"type":"User","avatar_url":"https://avatars.example/u/5"}"#,
        #"{"login":"dependabot[bot]","id":3000000002,"type":"Bot","name":"Dep"}"#,
        #"{"login":"jay","id":4,"name":null}"#,
      ])
    #expect(page.next == "https://api.github.com/user/1/followers?per_page=100&page=3")
    #expect(page.lastPage == 12)
  }

  @Test("takes an empty page and a page without links for what they are")
  func readsEmptyPages() throws {
    let page = try #require(
      pageReply(answer(200, "[]", ["link": #"<https://x.example>; rel="deprecation""#])).outcome.value)
    #expect(page.members.isEmpty)
    #expect(page.next == nil)
    #expect(page.lastPage == nil)
  }

  @Test("reads links from several lines and relative ones, and keeps strange ones for the walk to refuse")
  func readsLinks() throws {
    let two: Fields = [
      "link": #"</user/1/followers?page=9>; rel=last"#, "Link": #"</user/1/followers?page=2>; rel="next""#,
    ]
    let page = try #require(pageReply(answer(200, "[]", two)).outcome.value)
    #expect(page.next == "https://api.github.com/user/1/followers?page=2")
    #expect(page.lastPage == 9)
    let strange = try #require(pageReply(answer(200, "[]", ["link": #"<javascript:1>; rel="next""#])).outcome.value)
    #expect(strange.next == "javascript:1")
  }

  @Test(
    "refuses a whole page for one bad item",
    arguments: [
      ("{}", "not an array"), (#"{"message":"x"}"#, "not an array"),
      (#"[{"id":1,"login":"a"},{}]"#, "/1/id: not a positive integer"),
      ("[null]", "/0: not an object"), (#"[{"id":"1","login":"a"}]"#, "/0/id: not a positive integer"),
      (#"[{"id":1}]"#, "/0/login: not a login"),
      (#"[{"id":1,"login":"a"}"#, "JSON ends too early (byte 21)"), ("[[]]", "/0: not an object"),
    ])
  func refusesBadItems(body: String, reason: String) {
    #expect(pageReply(answer(200, body)).outcome.summary == "invalid \(reason)")
  }

  @Test("limits a page to 1,000 items")
  func limitsItems() {
    func page(_ count: Int) -> String {
      "[" + (1...count).map { #"{"id":\#($0),"login":"a"}"# }.joined(separator: ",") + "]"
    }
    #expect(pageReply(answer(200, page(1_000))).outcome.value?.members.count == 1_000)
    #expect(pageReply(answer(200, page(1_001))).outcome.summary == "invalid more than 1000 items")
  }
}
