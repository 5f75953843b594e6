import JSONText
import Testing

@Suite("Looking into a document")
struct JSONViewTests {
  private func view(_ text: String) throws -> JSONView { try JSONView([UInt8](text: text)) }

  @Test("finds members by name, the first of duplicates")
  func findsMembers() throws {
    let object = try view(#" { "a" : {"b":[1,"]}"]}, "c\"\u0064" : 2, "a": 3, "": 4, "\\n":5 } "#)
    #expect(object["a"]?.rawBytes.elementsEqual(#"{"b":[1,"]}"]}"#.utf8) == true)
    #expect(object["a"]?["b"]?.kind == .array)
    #expect(object["c\"d"]?.int == 2)
    #expect(object[""]?.int == 4)
    #expect(object["\\n"]?.int == 5)
    #expect(object["\n"] == nil)
    #expect(object["b"] == nil)
    #expect(object["a"]?["b"]?["x"] == nil)
    #expect(object.members.map(\.key) == ["a", "c\"d", "a", "", "\\n"])
  }

  @Test("does not take an escape for the text it is written with")
  func tellsEscapesFromText() throws {
    let object = try view(#"{"\n":1,"\\n":2}"#)
    #expect(object["\\n"]?.int == 2)
    #expect(object["\n"]?.int == 1)
  }

  @Test("walks arrays")
  func walksArrays() throws {
    let array = try view("[1, [2,3] ,\"a,b\",{}, null ]")
    #expect(array.elements.map { Array($0.rawBytes).text } == ["1", "[2,3]", "\"a,b\"", "{}", "null"])
    #expect(try view("[ ]").elements.map(\.kind) == [])
    #expect(try view("{\"a\":1}").elements.map(\.kind) == [])
    #expect(try view("[1]").members.map(\.key) == [])
  }

  @Test("reads scalars only of the right kind and range")
  func readsScalars() throws {
    #expect(try view("9223372036854775807").int == .max)
    #expect(try view("-9223372036854775808").int == .min)
    #expect(try view("9223372036854775808").int == nil)
    #expect(try view("1.0").int == nil)
    #expect(try view("1e2").int == nil)
    #expect(try view("\"1\"").int == nil)
    #expect(try view("-0").int == 0)
    #expect(try view("1e400").double == nil)
    #expect(try view("1e2").double == 100)
    #expect(try view("true").bool == true)
    #expect(try view("false").bool == false)
    #expect(try view("null").isNull)
    #expect(try view("0").bool == nil)
    #expect(try view(#""\ud83d\ude00\u00e9\t""#).string == "😀é\t")
    #expect(try view(#""\ud83d\u0000""#).string == "\u{FFFD}\0")
    #expect(try view("1").string == nil)
  }

  @Test("takes views out that are documents of their own")
  func copiesParts() throws {
    let part = try #require(view("{\"a\": [1] }")["a"])
    #expect(part.bytes.text == "[1]")
    #expect(part.withRawBytes { $0.count } == 3)
    #expect(try JSONView(part.bytes).elements.map(\.int) == [1])
  }

  @Test(
    "removes members and leaves the rest byte for byte",
    arguments: [
      (#"{"a":1,"b":2,"c":3}"#, #"{"a":1,"c":3}"#, ["b"]), (#"{"a":1,"b":2}"#, #"{"b":2}"#, ["a"]),
      (#"{ "a":1 , "b" : [2] }"#, #"{"a":1 }"#, ["b"]), (#"{"a":1}"#, "{}", ["a"]),
      (#"{"a":1,"b":2,"a":3}"#, #"{"b":2}"#, ["a"]),
      (#"{"x":{"a":1},"\u0061":2}"#, #"{"x":{"a":1}}"#, ["a"]), ("{}", "{}", ["a"]), ("[1]", "[1]", ["a"]),
      (#"{"a":1}"#, #"{"a":1}"#, []),
    ])
  func removesMembers(text: String, expected: String, names: [String]) throws {
    #expect(try view(text).removing(members: Set(names)).text == expected)
  }

  @Test("stays within bounds on text that was never checked")
  func staysWithinBounds() {
    for text in [
      "", "{", "[", "\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":[", "[\"\\", "[1,", ",", "}", "{\"a\":1", "[[[[",
    ] {
      let view = JSONView(checked: [UInt8](text: text))
      #expect(view.elements.reduce(0) { count, _ in count + 1 } <= 1)
      #expect(view.members.reduce(0) { count, _ in count + 1 } <= 1)
      _ = view["a"]?.string
      _ = view.removing(members: ["a"])
    }
  }

  @Test("cleans and views in one step")
  func cleans() throws {
    #expect(try JSONView(cleaning: [UInt8](text: "\u{FEFF}[\"\\u0000a\"]")).bytes.text == "[\"a\"]")
  }
}
