import Testing

@testable import Magpie

@Suite struct CursorCodecTests {
  private let codec = CursorCodec(key: Array("key".utf8))

  @Test func cursorsComeBackAsTheyWere() throws {
    for fields in [[], ["a"], ["", "", ""], ["x\"\\\n\u{1}💥", "2026-01-01 00:00:00.000001+00", "é"], ["[\"a\"]"]] {
      let text = codec.encode(fields, scope: "list")
      #expect(codec.decode(text, scope: "list") == fields)
      #expect(text.utf8.allSatisfy { Base62.contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
    }
  }

  @Test func everyForgeryIsRefused() throws {
    let text = codec.encode(["17", "100"], scope: "list")
    let characters = Array(text.utf8)
    for index in characters.indices {
      var forged = characters
      forged[index] = forged[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let decoded = codec.decode(String(decoding: forged, as: UTF8.self), scope: "list")
      // The last character of Base64 has bits that stand for nothing.
      #expect(decoded == nil || (index == characters.count - 1 && decoded == ["17", "100"]))
      #expect(codec.decode(String(decoding: characters[..<index], as: UTF8.self), scope: "list") == nil)
    }
    #expect(codec.decode(text, scope: "list2") == nil)
    #expect(codec.decode(text, scope: "") == nil)
    #expect(CursorCodec(key: Array("kez".utf8)).decode(text, scope: "list") == nil)
    for other in ["", "A", "====", text + "=", text + "A", " " + text, "é", String(repeating: "A", count: 6_001)] {
      #expect(codec.decode(other, scope: "list") == nil)
    }
  }

  @Test func scopeCannotRunIntoThePayload() {
    let text = codec.encode(["b"], scope: "a")
    #expect(codec.decode(text, scope: "a\0") == nil)
  }

  @Test func longestCursorIsWithinTheLimit() throws {
    // A title of 500 characters that are all escaped, and the longest id.
    let fields = [String(repeating: "\u{1}", count: 500), "github-repo", String(repeating: "\"", count: 200)]
    let text = codec.encode(fields, scope: "list")
    #expect(text.utf8.count <= CursorCodec.maxLength)
    #expect(codec.decode(text, scope: "list") == fields)
  }
}

@Suite struct Base64Tests {
  /// RFC 4648, section 10, without padding.
  @Test(arguments: [
    ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
    ("foobar", "Zm9vYmFy"),
  ])
  func vectorsOfTheStandardMatch(plain: String, encoded: String) {
    #expect(Base64.encode(Array(plain.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(plain.utf8))
  }

  @Test func everyByteComesBack() {
    for count in [1, 2, 3, 64, 255] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 251) }
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
    #expect(Base64.encode([0xFB, 0xFF]) == "+/8")
    #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
  }

  @Test func othersAreRefused() {
    for text in ["A", "AAAAA", "Zg==", "Z g", "Zg\n", "Zé", "-_8"] { #expect(Base64.decode(text) == nil, "\(text)") }
    for text in ["+/8", "Zg=="] { #expect(Base64URL.decode(text) == nil, "\(text)") }
  }
}
