import JSONText
import Testing

@testable import Magpie

/// What json-server 0.17 answers, by its own rules.
@Suite struct JSONServerTests {
  private static let items = [
    #"{"albumId":1,"id":1,"title":"zeta Alpha","url":"https://a.example/600/92c952","more":null}"#,
    #"{"albumId":1,"id":2,"title":"beta \"quoted\" é","url":"https://a.example/600/771796"}"#,
    #"{ "albumId": 2, "id": 3, "title": "beta", "url": "https://a.example/150/24f355", "more": true }"#,
    #"{"albumId":10,"id":4,"title":"Gamma","url":"https://a.example/150/24f355"}"#,
  ]

  private static let table: JSONTable = {
    var builder = JSONTable.Builder { name, text in
      name == "url" && text.hasSuffix("92c952") ? "https://here.example/1.png" : nil
    }
    for (index, item) in items.enumerated() { builder.append(id: Int64(index + 1), Array(item.utf8)) }
    return builder.finish()
  }()

  private func ids(_ parameters: (String, String)...) throws -> [Int64] {
    try select(parameters).items.map { Self.table.ids[$0] }
  }

  private func select(_ parameters: [(String, String)]) throws -> JSONTable.Selection {
    Self.table.select(try JSONServerQuery(parameters.map { (name: $0, value: $1) }, known: Self.table.has))
  }

  @Test func `items keep their text but for what is turned`() throws {
    let whole = try JSONView(Self.table.document)
    #expect(Array(whole.elements).count == 4)
    let first = Self.table.withItem(0) { String(decoding: $0, as: UTF8.self) }
    #expect(first == Self.items[0].replacing("https://a.example/600/92c952", with: "https://here.example/1.png"))
    #expect(Self.table.withItem(2) { String(decoding: $0, as: UTF8.self) } == Self.items[2])
    #expect(Self.table.index(of: "3") == 2)
    for id in ["0", "5", "03", "", "x", "99999999999999999999"] { #expect(Self.table.index(of: id) == nil) }
  }

  @Test func `values are compared as texts, repeats are alternatives, different members must all fit`() throws {
    #expect(try ids(("albumId", "1")) == [1, 2])
    #expect(try ids(("albumId", "1"), ("albumId", "10")) == [1, 2, 4])
    #expect(try ids(("id", "3"), ("id", "1")) == [1, 3])
    #expect(try ids(("albumId", "1"), ("id", "2")) == [2])
    #expect(try ids(("albumId", "01")) == [])
    #expect(try ids(("title", #"beta "quoted" é"#)) == [2])
    #expect(try ids(("url", "https://here.example/1.png")) == [1])
    #expect(try ids(("more", "true")) == [3])
  }

  @Test func `unknown members and misspelled parameters are dropped, unless they end like an operator`() throws {
    #expect(try ids(("nosuchfield", "x")) == [1, 2, 3, 4])
    #expect(try ids(("_limits", "1"), ("", "")) == [1, 2, 3, 4])
    #expect(try ids(("nosuchfield_like", "x")) == [])
    #expect(try ids(("nosuchfield_ne", "x")) == [])
  }

  @Test func `operators`() throws {
    #expect(try ids(("id_gte", "2"), ("id_lte", "3")) == [2, 3])
    #expect(try ids(("albumId_gte", "9")) == [4])
    #expect(try ids(("albumId_gte", "x")) == [])
    #expect(try ids(("title_gte", "c")) == [1])
    #expect(try ids(("albumId_ne", "1")) == [3, 4])
    #expect(try ids(("title_like", "BETA")) == [2, 3])
    #expect(try ids(("title_like", "^beta$")) == [3])
    #expect(try ids(("title_like", "^z.*a$")) == [1])
    #expect(try ids(("url_like", "600/77")) == [2])
    #expect(try ids(("id_like", "4")) == [4])
    #expect(try ids(("title_like", "É")) == [2])
  }

  @Test func `full text looks into every value`() throws {
    #expect(try ids(("q", "GAMMA")) == [4])
    #expect(try ids(("q", "24f355")) == [3, 4])
    #expect(try ids(("q", "É")) == [2])
    #expect(try ids(("q", "\"quoted\"")) == [2])
    #expect(try ids(("q", "nothing")) == [])
    #expect(try ids(("q", "")) == [1, 2, 3, 4])
  }

  @Test func `order is stable, and unknown members change nothing`() throws {
    #expect(try ids(("_sort", "title")) == [4, 3, 2, 1])
    #expect(try ids(("_sort", "title"), ("_order", "DESC")) == [1, 2, 3, 4])
    #expect(try ids(("_sort", "albumId,id"), ("_order", "desc,asc")) == [4, 3, 1, 2])
    #expect(try ids(("_sort", "albumId"), ("_order", "desc")) == [4, 3, 1, 2])
    #expect(try ids(("_sort", "nothing")) == [1, 2, 3, 4])
    #expect(try ids(("_sort", "nothing,url")) == [3, 4, 2, 1])
  }

  @Test func `pages`() throws {
    let first = try select([("_page", "1"), ("_limit", "3")])
    #expect(first.items == [0, 1, 2])
    #expect(first.total == 4)
    #expect(first.page == JSONTable.Page(number: 1, last: 2, hasNext: true, hasPrevious: false))
    let second = try select([("_page", "2"), ("_limit", "3")])
    #expect(second.page == JSONTable.Page(number: 2, last: 2, hasNext: false, hasPrevious: true))
    // Ten are the standard, below 1 and no number count as 1, and on one page only there is nowhere to go.
    for page in ["1", "0", "-3", "x", "1x"] {
      let only = try select([("_page", page)])
      #expect(only.items.count == 4)
      #expect(only.page == JSONTable.Page(number: 1, last: nil, hasNext: false, hasPrevious: false))
    }
    let beyond = try select([("_page", "9"), ("_limit", "3")])
    #expect(beyond.items == [])
    #expect(beyond.total == 4)
    #expect(beyond.page == nil)
    #expect(try select([("_page", "99999999999999999999"), ("_limit", "99999999999999999999")]).items == [])
  }

  @Test func `slices`() throws {
    #expect(try ids(("_limit", "2")) == [1, 2])
    #expect(try ids(("_start", "1"), ("_limit", "2")) == [2, 3])
    #expect(try ids(("_start", "1"), ("_end", "3")) == [2, 3])
    #expect(try ids(("_start", "-2"), ("_end", "4")) == [3, 4])
    #expect(try ids(("_start", "3"), ("_end", "1")) == [])
    #expect(try ids(("_start", "2")) == [1, 2, 3, 4])
    #expect(try ids(("_limit", "x")) == [])
    #expect(try ids(("_limit", "1000000000000")) == [1, 2, 3, 4])
    #expect(try select([("_limit", "2")]).total == 4)
    #expect(try select([("albumId", "1")]).total == nil)
  }

  @Test func `patterns that could take for ever are refused, and those that are taken do not`() throws {
    for pattern in [
      "(a+)+$", "[a-z]", "a|b", "a{2}", "a?", "*", "a+", #"\d"#, "\\", "a^b", String(repeating: "a", count: 201),
    ] {
      #expect(throws: JSONServerQuery.Refusal.self, "\(pattern)") { try ids(("title_like", pattern)) }
    }
    #expect(try ids(("title_like", #"\."#)) == [])
    #expect(try ids(("url_like", #"a\.example/1"#)) == [3, 4])
    let text = String(repeating: "a", count: 500)
    let slow = try TextPattern(String(repeating: "a.*", count: 60) + "b")
    #expect(!slow.matches(text))
    #expect(try TextPattern("^.*$").matches(""))
    #expect(try !TextPattern("^a$").matches("aa"))
    #expect(try TextPattern("a.c").matches("xabcx"))
  }

  @Test func `too many parameters are refused`() throws {
    #expect(throws: JSONServerQuery.Refusal.self) {
      try select(Array(repeating: ("id", "1"), count: JSONServerQuery.maxParameters + 1))
    }
    #expect(try select(Array(repeating: ("id", "1"), count: JSONServerQuery.maxParameters)).items == [0])
  }
}
