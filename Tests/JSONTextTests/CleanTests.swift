import JSONText
import Testing

@Suite("Cleaning a document")
struct CleanTests {
  @Test(
    "removes what PostgreSQL cannot hold and nothing else",
    arguments: [
      (#""a\u0000b""#, #""ab""#), (#""\u0000\u0000""#, #""""#), (#"{"\u0000a":"\ud800"}"#, #"{"a":""}"#),
      (#""x\ud83dy""#, #""xy""#), (#""\ude00\ud83d""#, #""""#), (#""\ud83d\ud83d\ude00""#, #""\ud83d\ude00""#),
      (#""\ud83d\u0000\ude00""#, #""""#), (#""\\u0000""#, #""\\u0000""#), (#""\\\u0000""#, #""\\""#),
      (#""\\\\ud83d""#, #""\\\\ud83d""#),
      (#""\uD83D\uDE00\u00e9\u0001\uFFFD""#, #""\uD83D\uDE00\u00e9\u0001\uFFFD""#), (#""\ud83d\n""#, #""\n""#),
      (" [1.50, 1e400 ,\"\\/\"]\n", " [1.50, 1e400 ,\"\\/\"]\n"), ("\u{FEFF}[1]", "[1]"),
      ("\u{FEFF}\"\\u0000\u{FEFF}\"", "\"\u{FEFF}\""),
    ])
  func removes(text: String, expected: String) throws {
    #expect(try clean(text) == expected)
  }

  @Test("refuses what is not JSON, raw surrogates and a second byte order mark included")
  func refusesTheRest() {
    #expect(throws: JSONText.Invalid(.encoding, at: 1)) {
      try JSONText.clean([0x22, 0xED, 0xA0, 0x80, 0x22])
    }
    #expect(throws: JSONText.Invalid(.control, at: 1)) { try JSONText.clean([0x22, 0x00, 0x22]) }
    #expect(throws: JSONText.Invalid(.unexpected, at: 0)) { try clean("\u{FEFF}\u{FEFF}1") }
    #expect(throws: JSONText.Invalid(.unfinished, at: 0)) { try clean("\u{FEFF}") }
  }
}
