import HTTP
import Testing

@Suite struct FieldsTests {
  @Test func namesCompareWithoutCaseAndKeepIt() {
    var fields: Fields = ["X-One": "1", "x-one": "2", .etag: "\"a\""]
    #expect(fields["X-ONE"] == "1")
    #expect(fields[values: "x-oNe"] == ["1", "2"])
    #expect(fields[joined: "x-one"] == "1, 2")
    #expect(fields[joined: .link] == nil)
    #expect(fields.map(\.name.description) == ["X-One", "x-one", "ETag"])
    fields.set("x-ONE", "3")
    #expect(fields[values: "X-One"] == ["3"])
    #expect(fields.first?.value == "3")
    fields[.etag] = nil
    #expect(!fields.contains(.etag))
    fields[.link] = "<a>"
    #expect(fields.count == 2)
  }

  @Test func namesAreComparedByBytesOfASCIIOnly() {
    func name(_ text: String) -> Fields.Name? { Fields.Name(text) }
    #expect(name("K") == name("k"))
    for bad in ["\u{212A}", "@", "[", "", "a b", "a:", "\u{E9}"] { #expect(name(bad) == nil, "\(bad)") }
    #expect(name("^") != name("~"))
    #expect(Set([name("A-b"), name("a-B")]).count == 1)
  }

  @Test(arguments: ["a\rb", "a\nb", "\r\n", "a\u{0}", "\u{1B}[0m", "\u{7F}"])
  func controlCharactersNeverGetIn(value: String) {
    var fields: Fields = ["A": value, "B": "kept"]
    #expect(fields.count == 1)
    let appended = fields.append("C", value)
    let set = fields.set("B", value)
    fields["B"] = value
    #expect(!appended && !set)
    #expect(fields.map(\.value) == ["kept"])
  }

  @Test func tabsAndTextBeyondASCIIAreValues() {
    #expect(Fields.isValid("a\tb caf\u{E9}"))
    #expect(Fields.isValid(""))
  }

  @Test func methodsAreCaseSensitive() {
    #expect(HTTP.Method(rawValue: "GET") == .get)
    #expect(HTTP.Method(rawValue: "get") != .get)
    #expect(!HTTP.Method(rawValue: "get").isKnown)
    #expect(HTTP.Method(rawValue: "BREW").rawValue == "BREW")
    #expect(HTTP.Method.put.isIdempotent && !HTTP.Method.put.isSafe && !HTTP.Method.post.isIdempotent)
  }

  @Test func statusKnowsItsReasonAndKind() {
    #expect(Status.notFound.description == "404 Not Found")
    #expect(Status(299).description == "299")
    #expect(Status(299).kind == .successful && Status(99).kind == .invalid && Status(503).kind == .serverError)
    #expect(Status.noContent.forbidsBody && Status.notModified.forbidsBody && !Status.ok.forbidsBody)
  }
}
