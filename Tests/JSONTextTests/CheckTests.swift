import JSONText
import Testing

@Suite("Checking a document")
struct CheckTests {
  @Test(
    "accepts every form of the grammar",
    arguments: [
      "0", "-0", "12", "-1.5", "1e999", "-1E-999", "1e0000999", "1E+2", "0.0e-0", "123456789012345678901234567890",
      "true", "false", "null",
      "\"\"",
      "[]", "{}", " [ ] ", "\t\r\n{ }\n", "[1,2,[3,{\"a\":[]}]]", #"{"a":1,"a":2,"":null}"#,
      #""\"\\\/\b\f\n\r\t\u00e9\u0000\ud83d\ude00\ud83d""#, "\"é€😀\u{10FFFF}\u{7f}\u{2028}\"",
    ])
  func acceptsTheGrammar(text: String) {
    #expect(refusal(text) == nil)
  }

  @Test(
    "refuses with reason and place",
    arguments: [
      ("", .unfinished, 0), ("  ", .unfinished, 2), ("[1", .unfinished, 2), ("{\"a\":", .unfinished, 5),
      ("\"abc", .unfinished, 4),
      ("tru", .unfinished, 3), ("[1]]", .trailing, 3), ("1 2", .trailing, 2), ("{}x", .trailing, 2),
      ("[1,]", .unexpected, 3),
      ("{\"a\":1,}", .unexpected, 7), ("{a:1}", .unexpected, 1), ("{\"a\" 1}", .unexpected, 5), ("[1}", .unexpected, 2),
      ("{\"a\":1]", .unexpected, 6), ("[1 2]", .unexpected, 3), ("'a'", .unexpected, 0), ("NaN", .unexpected, 0),
      ("nul1", .unexpected, 3),
      ("+1", .unexpected, 0), ("// x\n1", .unexpected, 0), ("01", .number, 1), ("-", .unfinished, 1),
      ("-a", .number, 1), (".5", .unexpected, 0),
      ("[1.]", .number, 3), ("[1e]", .number, 3), ("[1e+]", .number, 4), ("1.2.3", .trailing, 3),
      ("1e1000", .magnitude, 2), ("[1.5E-131071]", .magnitude, 6), ("[1e+01000,2]", .magnitude, 4),
      (#""\x""#, .escape, 1),
      (#""\u12g4""#, .escape, 1), (#""\u123"#, .escape, 1), ("\"\\", .escape, 1), ("\"a\nb\"", .control, 2),
      ("\"a\u{0}\"", .control, 2),
      ("\u{FEFF}1", .unexpected, 0), ("\u{A0}1", .unexpected, 0), ("[1\u{0}]", .unexpected, 2),
    ] as [(String, JSONText.Invalid.Reason, Int)])
  func refuses(text: String, reason: JSONText.Invalid.Reason, offset: Int) {
    #expect(refusal(text) == JSONText.Invalid(reason, at: offset))
  }

  @Test(
    "refuses bytes that are not UTF-8",
    arguments: [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0xBF], [0xE2, 0x82],
      [0xED, 0xA0, 0x80],
      [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
      [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xFE],
    ] as [[UInt8]])
  func refusesOtherEncodings(bytes: [UInt8]) {
    #expect(refusal([0x22] + bytes + [0x22]) == JSONText.Invalid(.encoding, at: 1))
    #expect(refusal(Array(repeating: 0x61, count: 9).reduce([0x22]) { $0 + [$1] } + bytes)?.reason == .encoding)
  }

  @Test("counts depth: 64 levels pass, 65 do not")
  func limitsDepth() {
    func nested(_ depth: Int, _ open: String, _ close: String, inner: String = "") -> [UInt8] {
      [UInt8](text: String(repeating: open, count: depth) + inner + String(repeating: close, count: depth))
    }
    #expect(refusal(nested(64, "[", "]")) == nil)
    #expect(refusal(nested(65, "[", "]")) == JSONText.Invalid(.tooDeep, at: 64))
    #expect(refusal(nested(64, "{\"a\":", "}", inner: "1")) == nil)
    #expect(refusal(nested(65, "{\"a\":", "}", inner: "1"))?.reason == .tooDeep)
    #expect(refusal(nested(64, "[", "]", inner: "{}"))?.reason == .tooDeep)
    #expect(refusal(nested(3, "[", "]"), limits: .init(maxDepth: 2))?.offset == 2)
    #expect(refusal(nested(1_000_000, "[", "]"))?.reason == .tooDeep)
    #expect(JSONText.Limits(maxDepth: 1000).maxDepth == 64)
  }

  @Test("counts width for nothing: many containers in a row pass")
  func allowsWidth() {
    let row = Array(repeating: "[{}]", count: 200).joined(separator: ",")
    #expect(refusal("[\(row)]") == nil)
  }

  @Test("limits size: the limit passes, one byte more does not")
  func limitsSize() {
    #expect(refusal([UInt8](text: "[123]"), limits: .init(maxBytes: 5)) == nil)
    #expect(refusal([UInt8](text: "[1234]"), limits: .init(maxBytes: 5)) == JSONText.Invalid(.tooLong, at: 5))
  }

  @Test("finds a special byte at every place of a word")
  func looksAtEveryByte() {
    for length in 0..<24 {
      let run = String(repeating: "x", count: length)
      #expect(refusal("\"\(run)\"") == nil)
      #expect(refusal("\"\(run)\u{1F}\"") == JSONText.Invalid(.control, at: length + 1))
      #expect(refusal("\"\(run)\\q\"") == JSONText.Invalid(.escape, at: length + 1))
      #expect(refusal([0x22] + Array(run.utf8) + [0xFF, 0x22])?.offset == length + 1)
    }
  }

  @Test("never quotes the document in an error")
  func keepsContentOutOfErrors() {
    let error = refusal("[\"secret\" x]")
    #expect(error?.description == "not a valid JSON document")
    #expect(error?.debugDescription == "JSON has an unexpected byte (byte 10)")
  }
}
