import HTTP
import JSONText
import Testing

@testable import Upstream

@Suite struct GiphyTests {
  private let service = UpstreamService(base: "https://gifs.example", userAgent: "test")
  private static let search = Giphy.Question(.gifs, .search("Happy Cat"), ["limit": "25", "offset": "0"], rating: "g")

  private func outcome(
    _ body: String, status: Int = 200, _ fields: Fields = [:], to question: Giphy.Question = search
  ) throws -> Outcome<Giphy.Answer> {
    Giphy.Ask(question).reply(
      to: UpstreamAnswer(status: status, fields: fields, body: Array(body.utf8), receivedAt: 0),
      from: try #require(service)
    ).outcome
  }

  @Test func `the key is in the call and in no question`() throws {
    let credential = try #require(Credential(token: "CanaryKey&1"))
    let call = Giphy.Ask(Self.search).call(to: try #require(service), credential: credential, validators: nil)
    #expect(
      call.url
        == "https://gifs.example/v1/gifs/search?limit=25&offset=0&q=Happy%20Cat&rating=g&api_key=CanaryKey%261")
    #expect(Self.search.text == "/v1/gifs/search?limit=25&offset=0&q=Happy%20Cat&rating=g")
    #expect(Self.search.normalText == "/v1/gifs/search?limit=25&offset=0&q=happy%20cat&rating=g")
    #expect("\(Giphy.Ask(Self.search))".contains("Canary") == false)
  }

  @Test func `each endpoint has its address`() {
    func text(_ kind: Giphy.Kind, _ endpoint: Giphy.Question.Endpoint) -> String {
      Giphy.Question(kind, endpoint, rating: "pg").text
    }
    #expect(text(.stickers, .trending) == "/v1/stickers/trending?rating=pg")
    #expect(text(.gifs, .tags("ha")) == "/v1/gifs/search/tags?q=ha&rating=pg")
    #expect(text(.gifs, .random(tag: nil)) == "/v1/gifs/random?rating=pg")
    #expect(text(.gifs, .random(tag: "a b")) == "/v1/gifs/random?tag=a%20b&rating=pg")
    #expect(text(.gifs, .one(id: "aBc1")) == "/v1/gifs/aBc1?rating=pg")
    #expect(text(.gifs, .several(ids: ["a", "B"])) == "/v1/gifs?ids=a%2CB&rating=pg")
  }

  private static let meta = #""meta":{"status":200,"msg":"OK","response_id":"r1"}"#
  private static let pagination = #""pagination":{"total_count":4235,"count":3,"offset":"0"}"#

  @Test func `a list keeps each item once and as it came`() throws {
    let gif = #"{"id":"a1", "images":{"hd":{}},"trending_datetime":"0000-00-00 00:00:00"}"#
    guard
      case .ok(let answer, _) = try outcome(
        #"{"data":[\#(gif),{"id":"b"},\#(gif)],\#(Self.pagination),\#(Self.meta)}"#),
      case .list(let gifs) = answer.data
    else { return fail("no list") }
    #expect(gifs.map(\.id) == ["a1", "b"])
    #expect(String(decoding: gifs[0].document, as: UTF8.self) == gif)
    let place = try #require(answer.pagination)
    #expect((place.total, place.count, place.offset) == (4235, 3, 0))
    #expect(answer.responseID == "r1")
  }

  @Test func `an answer that is made up is a failure`() throws {
    for body in [
      #"{"data":[],"meta":{"status":200,"msg":"OK","response_id":""}}"#, #"{"data":[],\#(Self.meta)}"#,
      #"{"data":[],\#(Self.pagination)}"#,
    ] {
      guard case .transient = try outcome(body) else { return fail("\(body)") }
    }
    // Nothing found is something else.
    guard case .ok = try outcome(#"{"data":[],"pagination":{"total_count":0,"count":0,"offset":0},\#(Self.meta)}"#)
    else { return fail("an empty page") }
  }

  @Test func `one object may be none`() throws {
    let random = Giphy.Question(.gifs, .random(tag: "x"), rating: "g")
    guard case .ok(let answer, _) = try outcome(#"{"data":[],\#(Self.meta)}"#, to: random), case .one(nil) = answer.data
    else { return fail("none") }
    guard case .ok(let other, _) = try outcome(#"{"data":{"id":"x9"},\#(Self.meta)}"#, to: random),
      case .one(let gif?) = other.data
    else { return fail("one") }
    #expect(gif.id == "x9")
  }

  @Test(arguments: [
    "<html>", "", "[]", #"{"data":{},\#(pagination),\#(meta)}"#, #"{"data":[{"id":"a/b"}],\#(pagination),\#(meta)}"#,
    #"{"data":[{"id":7}],\#(pagination),\#(meta)}"#, #"{"data":[7],\#(pagination),\#(meta)}"#, #"{\#(meta)}"#,
  ])
  func `what makes no sense is not stored`(body: String) throws {
    guard case .invalid = try outcome(body) else { return fail("taken: \(body)") }
  }

  @Test func `refusals are told apart in both shapes`() throws {
    for body in [#"{"data":[],"meta":{"status":401}}"#, #"{"message":"Invalid authentication credentials"}"#] {
      guard case .unauthorized = try outcome(body, status: 401) else { return fail("401") }
      guard case .unauthorized = try outcome(body, status: 403) else { return fail("403") }
      guard case .limited(let limit) = try outcome(body, status: 429, [.retryAfter: "0"]) else {
        return fail("429")
      }
      #expect(limit == Limit(.secondary, seconds: 60, isNamed: false))
    }
    guard case .transient = try outcome("<html>no</html>", status: 403) else { return fail("the network's 403") }
    guard case .transient = try outcome("", status: 502) else { return fail("502") }
    guard case .gone(404, _) = try outcome("", status: 404) else { return fail("404") }
    guard case .refused = try outcome("", status: 414) else { return fail("414") }
    guard case .invalid = try outcome("", status: 302) else { return fail("302") }
  }
}

/// Ends a test that has seen something else.
private func fail(_ what: String) { Issue.record("\(what)") }
