import HTTP
import JSONText
import Testing

@testable import Upstream

/// How a search is asked, and how its answers are read.
@Suite("Searching") struct SearchTests {
  private let search = GitHub.Search(.users, query: "a b", sort: nil, order: nil, perPage: 30, page: 1)

  private func outcome(_ status: Int, _ body: String) -> Outcome<GitHub.SearchAnswer> {
    search.reply(to: answer(status, body), from: github).outcome
  }

  @Test(
    "the query is encoded once",
    arguments: [
      ("a b", "a%20b"), ("c++", "c%2B%2B"),
      ("type:user location:\"São Paulo\"", "type%3Auser%20location%3A%22S%C3%A3o%20Paulo%22"),
      ("a&sort=x", "a%26sort%3Dx"), ("100%", "100%25"), ("followers:>5", "followers%3A%3E5"),
    ])
  func encoding(query: String, expected: String) {
    let request = GitHub.Search(.users, query: query, sort: "joined", order: "asc", perPage: 100, page: 3)
    #expect(
      request.url(at: github)
        == "https://api.github.com/search/users?q=\(expected)&sort=joined&order=asc&per_page=100&page=3")
    #expect(request.resource == "search")
    #expect(search.url(at: github) == "https://api.github.com/search/users?q=a%20b&per_page=30&page=1")
  }

  @Test("no validator is sent: searches have none")
  func unconditional() {
    let call = search.call(to: github, credential: Credential(token: "t"), validators: Validators(etag: "\"x\""))
    #expect(call.fields[.ifNoneMatch] == nil)
    #expect(call.fields[.authorization] == "Bearer t")
  }

  @Test("items are kept as they came, each once, and without the score as list items")
  func items() throws {
    let item = #"{"login":"a","id":5,"score":1.0,"new":[1],"text_matches":[]}"#
    guard
      case .ok(.page(let page), _) = outcome(
        200,
        #"{"total_count":3000000000,"incomplete_results":true,"items":[\#(item),\#(item),{"id":6,"full_name":"x/y"}]}"#)
    else {
      Issue.record("not read")
      return
    }
    #expect(page.totalCount == 3_000_000_000 && page.isIncomplete)
    #expect(page.items.map(\.id) == [5, 6])
    #expect(page.items.map { String(decoding: $0.document, as: UTF8.self) } == [item, #"{"id":6,"full_name":"x/y"}"#])
    #expect(page.items[0].account?.login == "a")
    #expect(try JSONView(try #require(page.items[0].account?.document)).members.map(\.key) == ["login", "id", "new"])
    #expect(page.items[1].account == nil)
  }

  @Test(
    "what is no page is refused whole",
    arguments: [
      "[]", "{}", #"{"total_count":1}"#, #"{"total_count":-1,"items":[]}"#, #"{"total_count":1,"items":{}}"#,
      #"{"total_count":1,"items":[{"id":"5"}]}"#, #"{"total_count":2,"items":[{"id":1},{"id":0}]}"#, "<html>", "",
    ])
  func malformed(body: String) {
    guard case .invalid = outcome(200, body) else {
      Issue.record("read: \(body)")
      return
    }
  }

  @Test("a refused query is an answer, in whichever shape its errors come")
  func refusals() {
    func refusal(_ body: String) -> GitHub.SearchRefusal? {
      guard case .ok(.refused(let refusal), _) = outcome(422, body) else { return nil }
      return refusal
    }
    let object = refusal(
      #"{"message":"Validation Failed","errors":[{"resource":"Search","field":"q","code":"missing"}]}"#)
    #expect(object?.message == "Validation Failed")
    #expect(object?.faults == [.init(resource: "Search", field: "q", code: "missing", message: nil)])
    #expect(refusal(#"{"errors":["no"]}"#)?.faults == [.init(resource: nil, field: nil, code: nil, message: "no")])
    #expect(refusal(#"{"errors":"no"}"#)?.faults == [.init(resource: nil, field: nil, code: nil, message: "no")])
    #expect(refusal("<html>")?.message == "Validation Failed")
    #expect(refusal("<html>")?.faults.isEmpty == true)
    let long = String(repeating: "x", count: 5_000)
    #expect(refusal(#"{"message":"\#(long)"}"#)?.message.count == 200)
  }
}
