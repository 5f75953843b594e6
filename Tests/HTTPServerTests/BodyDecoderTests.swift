import Testing

@testable import HTTPServer

@Suite struct BodyDecoderTests {
  struct Decoded: Equatable {
    var body = ""
    var used = 0
    var isComplete = false
    var error: HTTPError?
  }

  /// Decodes a text in pieces of `step` bytes.
  private func decode(_ text: String, _ framing: RequestHead.Framing = .chunked, step: Int = .max) -> Decoded {
    let bytes = Array(text.utf8)
    var decoder = BodyDecoder(framing)
    var decoded = Decoded()
    var start = 0
    do throws(HTTPError) {
      while start < bytes.count, !decoder.isComplete {
        let end = step > bytes.count - start ? bytes.count : start + step
        let used = try Array(bytes[start..<end]).decoded(by: &decoder, into: &decoded.body)
        start += used
      }
    } catch {
      decoded.error = error
    }
    decoded.used = start
    decoded.isComplete = decoder.isComplete
    return decoded
  }

  @Test(arguments: [1, 2, 3, 7, .max]) func chunksAreJoinedAndTrailersDropped(step: Int) {
    let text = "5\r\nhello\r\n6;a=\"b\"\r\n world\r\n000\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n"
    let decoded = decode(text + "GET", step: step)
    #expect(decoded == Decoded(body: "hello world", used: text.utf8.count, isComplete: true))
  }

  @Test(arguments: [1, 4, .max]) func lengthTakesSoMuchAndNoMore(step: Int) {
    #expect(decode("hello!", .length(5), step: step) == Decoded(body: "hello", used: 5, isComplete: true))
    #expect(decode("hell", .length(5), step: step) == Decoded(body: "hell", used: 4, isComplete: false))
    #expect(decode("x", .none) == Decoded(body: "", used: 0, isComplete: true))
  }

  @Test(arguments: [
    "0x5\r\nhello\r\n", "-5\r\n", "+5\r\n", "\r\n", ";\r\n", "5 \r\nhello\r\n", "5\nhello\r\n", "5\r\nhelloX\r\n",
    "5\r\nhello0\r\n",
    "1000000000000000\r\n", "5;a\n", "5;\u{7F}\r\n", "g\r\n", "0\r\nX-T: 1\n\r\n", "0\r\n X: 1\r\n\r\n",
    "0\r\nX-T : 1\r\n\r\n",
    "0\r\nX\r\n\r\n", "0\r\n\rX", "1\r\na\rb",
  ]) func badChunksAreRefused(text: String) {
    #expect(decode(text).error == .badBody)
    #expect(decode(text, step: 1).error == .badBody)
  }

  @Test func largestSizesFit() {
    #expect(decode("fffffffffffffff\r\n").error == nil)
    #expect(decode("000000000000001\r\na\r\n0\r\n\r\n").isComplete)
    #expect(decode("0000000000000001\r\n").error == .badBody)
  }

  @Test func limitsHoldAtTheirValueAndNotOnePast() {
    func chunk(_ line: Int) -> String { "1;" + String(repeating: "x", count: line - 2) + "\r\na\r\n0\r\n\r\n" }
    #expect(decode(chunk(256)).isComplete)
    #expect(decode(chunk(257)).error == .badBody)
    func trailers(_ count: Int) -> String { "0\r\nX: " + String(repeating: "x", count: count - 5) + "\r\n\r\n" }
    #expect(decode(trailers(8192)).isComplete)
    #expect(decode(trailers(8193)).error == .headerSectionTooLarge)
  }

  @Test func remainingIsKnownForLengthsOnly() {
    #expect(BodyDecoder(.length(7)).remaining == 7)
    #expect(BodyDecoder(.none).remaining == 0)
    #expect(BodyDecoder(.chunked).remaining == nil)
  }
}

extension [UInt8] {
  /// Feeds these bytes and appends what comes out.
  func decoded(by decoder: inout BodyDecoder, into body: inout String) throws(HTTPError) -> Int {
    var pieces: [UInt8] = []
    defer { body += String(decoding: pieces, as: UTF8.self) }
    let input = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { input.deallocate() }
    input.copyBytes(from: self)
    return try decoder.decode(UnsafeRawBufferPointer(input)) { pieces += $0 }
  }
}
