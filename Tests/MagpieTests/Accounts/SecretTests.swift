import Testing

@testable import Magpie

@Suite struct SecretTests {
  @Test func checksumIsTheOneOfZip() {
    // The check value of CRC-32 (ISO 3309).
    #expect(Digest.crc32("123456789".utf8) == 0xCBF4_3926)
    #expect(Digest.crc32([]) == 0)
    #expect(String(decoding: Base62.encode(0), as: UTF8.self) == "000000")
    #expect(String(decoding: Base62.encode(61), as: UTF8.self) == "00000z")
    #expect(String(decoding: Base62.encode(62), as: UTF8.self) == "000010")
    #expect(String(decoding: Base62.encode(.max), as: UTF8.self) == "4gfFC3")
  }

  @Test func newSecretsAreWellFormedAndDifferent() throws {
    var texts: Set<String> = []
    var characters: Set<Character> = []
    for _ in 0..<200 {
      let secret = Secret(random: .token)
      #expect(secret.text.utf8.count == 40)
      #expect(secret.text.hasPrefix("mgp_"))
      #expect(Secret(secret.text, kind: .token)?.text == secret.text)
      #expect(Secret(secret.text, kind: .invitation) == nil)
      #expect(secret.hash == Digest.sha256(secret.text.utf8))
      #expect(secret.hint == secret.text.suffix(4))
      texts.insert(secret.text)
      characters.formUnion(secret.text.dropFirst(4).prefix(30))
    }
    #expect(texts.count == 200)
    #expect(characters.count == 62)
  }

  @Test func anyChangeOfOneCharacterIsRefused() {
    let text = Array(Secret(random: .token).text.utf8)
    for index in text.indices {
      var changed = text
      changed[index] = changed[index] == UInt8(ascii: "a") ? UInt8(ascii: "b") : UInt8(ascii: "a")
      if changed == text { continue }
      #expect(Secret(String(decoding: changed, as: UTF8.self), kind: .token) == nil)
    }
  }

  @Test func otherLengthsAndAlphabetsAreRefused() {
    let text = Secret(random: .invitation).text
    for other in [
      "", "mgi_", text + " ", " " + text, text + "0", String(text.dropLast()), text.replacing("mgi_", with: "mgi-"),
    ] {
      #expect(Secret(other, kind: .invitation) == nil)
    }
    // The right checksum over characters that cannot be.
    let random = String(repeating: "-", count: 30)
    let sum = String(decoding: Base62.encode(Digest.crc32(random.utf8)), as: UTF8.self)
    #expect(Secret("mgi_" + random + sum, kind: .invitation) == nil)
  }
}
