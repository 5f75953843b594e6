import HTTP
import Testing

@Suite struct ConditionalTests {
  private let tag = EntityTag(opaque: "a")

  @Test func tagsAreReadAndCompared() {
    #expect(EntityTag("\"a\"")?.description == "\"a\"")
    #expect(EntityTag("W/\"a,b\"")?.isWeak == true)
    for bad in ["a", "w/\"a\"", "\"a", "\"a\"b\"", "\"", "\"a b\"", ""] { #expect(EntityTag(bad) == nil, "\(bad)") }
    let strong = EntityTag("\"a\"")!
    let weak = EntityTag("W/\"a\"")!
    #expect(strong.matchesStrongly(strong) && !strong.matchesStrongly(weak) && !weak.matchesStrongly(weak))
    #expect(strong.matchesWeakly(weak) && !strong.matchesWeakly(EntityTag("\"b\"")!))
    #expect(EntityTag.Condition(" * ") == .any)
    #expect(
      EntityTag.Condition("\"a,b\", W/\"c\",nope, \"d\"")
        == .oneOf([EntityTag("\"a,b\"")!, EntityTag("W/\"c\"")!, EntityTag("\"d\"")!]))
  }

  @Test func hashTagsTellZerosAndTheOrderOfWordsApart() {
    let zeros = (0..<300).map { EntityTag(hashing: [UInt8](repeating: 0, count: $0)).opaque }
    #expect(Set(zeros).count == 300)
    let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }
    var seen: Set<String> = [EntityTag(hashing: bytes).opaque]
    for first in stride(from: 0, to: 200, by: 8) {
      for second in stride(from: first + 8, to: 200, by: 8) {
        var swapped = bytes
        for index in 0..<8 { swapped.swapAt(first + index, second + index) }
        seen.insert(EntityTag(hashing: swapped).opaque)
      }
    }
    #expect(seen.count == 1 + 25 * 24 / 2)
  }

  @Test func hashTagsDependOnEveryByteAndNothingElse() {
    var seen: Set<String> = []
    for count in 0..<150 {
      var bytes = (0..<count).map { UInt8($0) }
      seen.insert(EntityTag(hashing: bytes).opaque)
      #expect(EntityTag(hashing: bytes) == EntityTag(hashing: bytes))
      for index in bytes.indices {
        bytes[index] ^= 0x40
        seen.insert(EntityTag(hashing: bytes).opaque)
        bytes[index] ^= 0x40
      }
    }
    #expect(seen.count == 150 + 149 * 150 / 2)
    #expect(EntityTag(hashing: []).opaque.utf8.count == 32)
    #expect(EntityTag(hashing: [0]) != EntityTag(hashing: [0, 0]))
    // The same in every process and on every machine, since clients keep it.
    #expect(EntityTag(hashing: Array("magpie".utf8)).opaque == EntityTag(hashing: Array("magpie".utf8)).opaque)
  }

  @Test(
    arguments: [
      (["If-None-Match": "\"a\""], HTTP.Method.get, Conditional.Outcome.notModified),
      (["If-None-Match": "\"b\", W/\"a\""], .head, .notModified),
      (["If-None-Match": "\"b\""], .get, .proceed),
      (["If-None-Match": "nope"], .get, .proceed),
      (["If-None-Match": "*"], .get, .notModified),
      (["If-None-Match": "*"], .put, .preconditionFailed),
      (["If-None-Match": "\"a\""], .delete, .preconditionFailed),
      (["If-Match": "\"a\""], .put, .proceed),
      (["If-Match": "W/\"a\""], .put, .preconditionFailed),
      (["If-Match": "\"b\""], .get, .preconditionFailed),
      (["If-Match": "nope"], .put, .preconditionFailed),
      (["If-Match": "*"], .put, .proceed),
      (["If-Match": "\"a\"", "If-None-Match": "\"a\""], .get, .notModified),
      (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], .get, .notModified),
      (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"], .get, .proceed),
      (["If-Modified-Since": "yesterday"], .get, .proceed),
      (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], .put, .proceed),
      (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT", "If-None-Match": "\"b\""], .get, .proceed),
      (["If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"], .put, .preconditionFailed),
      (["If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], .put, .proceed),
      (["If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:36 GMT", "If-Match": "\"a\""], .put, .proceed),
    ] as [([String: String], HTTP.Method, Conditional.Outcome)])
  func conditionsAreEvaluatedInOrder(lines: [String: String], method: HTTP.Method, outcome: Conditional.Outcome) {
    var fields = Fields()
    for (name, value) in lines { fields.append(Fields.Name(stringLiteral: name), value) }
    #expect(Conditional.evaluate(fields, etag: tag, lastModified: 784_111_777, method: method) == outcome)
  }

  @Test func nothingMatchesWhatDoesNotExist() {
    #expect(Conditional.evaluate(["If-Match": "*"], etag: nil, method: .put) == .preconditionFailed)
    #expect(Conditional.evaluate(["If-None-Match": "*"], etag: nil, method: .put) == .proceed)
    #expect(Conditional.evaluate(["If-None-Match": "\"a\""], etag: nil, method: .get) == .proceed)
  }
}
