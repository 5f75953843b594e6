import JSONText
import Testing

@Suite("Reading a request's body")
struct JSONObjectReaderTests {
  /// The issues as `pointer detail`, empty if the body passes.
  private func issues(_ text: String, _ body: (inout JSONObjectReader) throws -> Void) throws -> [String] {
    do {
      try JSONObjectReader.read([UInt8](text: text), body)
      return []
    } catch JSONObjectReader.Refusal.issues(let issues) {
      return issues.map { "\($0.pointer) \($0.detail)" }
    }
  }

  @Test("gives typed members")
  func givesTypedMembers() throws {
    let text = #"{"s":"x","i":5,"d":0.5,"b":true,"l":["a","b"],"o":{"n":1},"os":[{"n":2},{"n":3}],"r":[null],"z":null}"#
    let result = try JSONObjectReader.read([UInt8](text: text)) { reader in
      #expect(reader.required("s") == "x")
      #expect(reader.required("i") == 5)
      #expect(reader.optional("d") == 0.5)
      #expect(reader.optional("b") == true)
      #expect(reader.optional("none", as: Int64.self) == nil)
      #expect(reader.list("l", of: String.self, maxCount: 2) == ["a", "b"])
      #expect(reader.object("o") { $0.required("n", as: Int64.self) } == 1)
      #expect(reader.objects("os", maxCount: 2) { $0.required("n", as: Int64.self) } == [2, 3])
      #expect(reader.raw("r")?.bytes.text == "[null]")
      #expect(reader.has("z"))
      #expect(!reader.has("none"))
      guard case .null = reader.field("z", as: String.self) else { return "not null" }
      guard case .absent = reader.field("none", as: String.self) else { return "not absent" }
      guard case .value("x") = reader.field("s", as: String.self) else { return "no value" }
      return "read"
    }
    #expect(result == "read")
  }

  @Test("collects every issue with its pointer")
  func collectsIssues() throws {
    let text = #"{"name":1,"tags":["a",2],"o":{"n":"x","m":1},"os":[{},3],"x/y~z":1,"long":"abc","l":{},"one":[1,2]}"#
    let found = try issues(text) { reader in
      #expect(reader.required("name", as: String.self) == nil)
      #expect(reader.required("password", as: String.self) == nil)
      #expect(reader.list("tags", of: String.self, maxCount: 10) == ["a"])
      _ = reader.object("o") { #expect($0.required("n", as: Int64.self) == nil) }
      _ = reader.objects("os", maxCount: 5) { #expect($0.required("n", as: Bool.self) == nil) }
      if reader.required("long", as: String.self)?.count == 3 { reader.refuse("long", "must be shorter") }
      #expect(reader.list("l", of: Int64.self, maxCount: 1) == nil)
      #expect(reader.list("one", of: Int64.self, maxCount: 1) == nil)
    }
    #expect(
      found == [
        "/name must be a string", "/password is required", "/tags/1 must be a string", "/o/n must be an integer",
        "/o/m is not known here", "/os/0/n is required", "/os/1 must be an object", "/long must be shorter",
        "/l must be an array",
        "/one must not have more than 1 items", "/x~1y~0z is not known here",
      ])
  }

  @Test("refuses text that cannot be stored instead of changing it")
  func refusesUnstorableText() throws {
    let text = #"{"a":"x\u0000","b":["ok\n",{"c\ud800":"\ude00"}],"fine":"\ud83d\ude00 \ufffd \\u0000","g\uFFFD":1}"#
    let found = try issues(text) { reader in
      for name in ["a", "b", "fine", "g\u{FFFD}"] { _ = reader.raw(name) }
    }
    let detail = "must not contain the character U+0000 or half of a surrogate pair"
    #expect(found == ["/a \(detail)", "/b/1/c\u{FFFD} \(detail)", "/b/1/c\u{FFFD} \(detail)"])
  }

  @Test("refuses what is no object and what is no JSON")
  func refusesOtherDocuments() throws {
    #expect(try issues("[]") { _ in } == [" must be an object"])
    #expect(throws: JSONObjectReader.Refusal.invalid(JSONText.Invalid(.unfinished, at: 1))) {
      try JSONObjectReader.read([UInt8](text: "{")) { _ in }
    }
    #expect(throws: JSONObjectReader.Refusal.invalid(JSONText.Invalid(.tooLong, at: 3))) {
      try JSONObjectReader.read([UInt8](text: "{  }"), limits: .init(maxBytes: 3)) { _ in }
    }
  }

  @Test("takes the first of duplicates, and knows all of them")
  func takesTheFirst() throws {
    let found = try issues(#"{"a":1,"a":"x"}"#) { reader in
      #expect(reader.required("a") == Int64(1))
    }
    #expect(found == [])
  }

  @Test("bounds what a hostile body can make it say")
  func boundsItsAnswer() throws {
    let members = (0..<60).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(try issues("{\(members)}") { _ in }.count == JSONObjectReader.maxIssues)
    let nulls = Array(repeating: #""\u0000""#, count: 60).joined(separator: ",")
    #expect(try issues("{\"a\":[\(nulls)]}") { _ = $0.raw("a") }.count == JSONObjectReader.maxIssues)
    let name = String(repeating: "n", count: 100_000)
    #expect(try issues("{\"\(name)\":1}") { _ in } == [" has a member that is not known here"])
    #expect(try issues("{\"a\":{\"\(name)\":\"\\u0000\"}}") { _ = $0.raw("a") }.map { $0.prefix(3) } == ["/a "])
  }
}
