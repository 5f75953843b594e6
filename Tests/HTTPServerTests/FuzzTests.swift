import Testing

@testable import HTTPServer

/// Mutated inputs in a fixed order: the parsers must neither crash nor read past what they were given, and where the bytes were
/// cut must not change what they mean. Run under the address sanitizer, reading past the end is caught, too, since each piece
/// is in memory of exactly its size.
@Suite struct FuzzTests {
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) << 32 | (state &* 0x9E37_79B9_7F4A_7C15) >> 32
    }
  }

  private static let heads = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /x?y=%20z HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 12\r\nX-A: \t b\r\n\r\n",
    "PUT http://h:1/p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: a, close\r\n\r\n",
    "\r\nOPTIONS * HTTP/1.1\r\nhost:h\r\nExpect: 100-continue\r\nX-Request-Id: a.b\r\n\r\n",
  ].map { Array($0.utf8) }

  private static let bodies = [
    "5\r\nhello\r\n0\r\n\r\n", "a;x=y\r\n0123456789\r\n1\r\nz\r\n00\r\nX-T: v\r\n\r\n", "0\r\nA: b\r\nC:d\r\n\r\n",
  ].map { Array($0.utf8) }

  private static let interesting = Array("\r\n\r\n :;,%/?#\u{0}\t0fg-+\u{7F}".utf8) + [0x80, 0xFF]

  private static func mutate(_ seed: [UInt8], _ random: inout Generator) -> [UInt8] {
    var bytes = seed
    for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[at] = interesting.randomElement(using: &random)!
      case 1: bytes.insert(interesting.randomElement(using: &random)!, at: at)
      case 2: bytes.remove(at: at)
      case 3: bytes.removeSubrange(at..<min(bytes.count, at + 8))
      default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 12)], at: at)
      }
    }
    return bytes
  }

  /// Ascending cuts, the last one at the end.
  private static func cuts(_ count: Int, _ random: inout Generator) -> [Int] {
    (0..<2).map { _ in Int.random(in: 0...count, using: &random) }.sorted() + [count]
  }

  private static func withExactCopy<R>(_ bytes: ArraySlice<UInt8>, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return body(UnsafeRawBufferPointer(copy))
  }

  @Test func headsMeanTheSameHoweverTheyAreCut() async {
    var random = Generator(state: 1)
    var whole = HeadParser()
    var split = HeadParser()
    var complete = 0
    for round in 0..<120_000 {
      if round % 500 == 0 { await Task.yield() }  // other tests want the thread, too
      let bytes = Self.mutate(Self.heads.randomElement(using: &random)!, &random)
      whole.reset()
      split.reset()
      let expected = Self.withExactCopy(bytes[...]) { whole.parse($0) }
      var outcome = HeadParser.Outcome.needMore
      for cut in Self.cuts(bytes.count, &random) where outcome == .needMore {
        outcome = Self.withExactCopy(bytes[..<cut]) { split.parse($0) }
      }
      if outcome != expected || whole.head.length != split.head.length
        || whole.head.framing != split.head.framing || whole.head.fieldCount != split.head.fieldCount
      {
        Issue.record("\(bytes): \(expected) whole, \(outcome) in pieces")
        return
      }
      if expected == .complete { complete += 1 }
    }
    // The generator is of use only while it makes both kinds.
    #expect((20_000...100_000).contains(complete))
  }

  @Test func bodiesMeanTheSameHoweverTheyAreCut() async {
    var random = Generator(state: 2)
    var complete = 0
    for round in 0..<80_000 {
      if round % 500 == 0 { await Task.yield() }
      let bytes = Self.mutate(Self.bodies.randomElement(using: &random)!, &random)
      let whole = Self.decode(bytes, [bytes.count])
      let split = Self.decode(bytes, Self.cuts(bytes.count, &random))
      if whole.body != split.body || whole.used != split.used || whole.error != split.error {
        Issue.record("\(bytes): \(whole) whole, \(split) in pieces")
        return
      }
      if whole.complete { complete += 1 }
    }
    #expect((10_000...70_000).contains(complete))
  }

  private static func decode(_ bytes: [UInt8], _ cuts: [Int]) -> (
    body: [UInt8], used: Int, complete: Bool, error: HTTPError?
  ) {
    var decoder = BodyDecoder(.chunked)
    var body: [UInt8] = []
    var used = 0
    var failure: HTTPError?
    for cut in cuts where cut > used && !decoder.isComplete && failure == nil {
      withExactCopy(bytes[used..<cut]) { input in
        do throws(HTTPError) {
          used += try decoder.decode(input) { body += $0 }
        } catch {
          failure = error
        }
      }
    }
    // How far a failing piece was read is nobody's concern, since reading ends with it.
    return (body, failure == nil ? used : -1, decoder.isComplete, failure)
  }
}
