import HTTP
import Testing

@testable import HTTPServer

@Suite struct HeadParserTests {
  /// What a parser makes of a text, in one piece.
  private func outcome(_ text: String) -> HeadParser.Outcome { parse(Array(text.utf8)).outcome }

  private func parse(_ bytes: [UInt8]) -> (outcome: HeadParser.Outcome, head: RequestHead) {
    var parser = HeadParser()
    let outcome = bytes.withUnsafeBytes { parser.parse($0) }
    return (outcome, parser.head)
  }

  @Test func partsAreWhereTheyStand() {
    let text = "GET /a?b=c HTTP/1.1\r\nHost: h:80\r\nX-A: \t v w \t\r\nX-E:\r\n\r\nrest"
    let bytes = Array(text.utf8)
    let (outcome, head) = parse(bytes)
    func part(_ span: RequestHead.Span) -> String { String(decoding: bytes[span.range], as: UTF8.self) }
    #expect(outcome == .complete)
    #expect(head.length == bytes.count - 4)
    #expect(head.method == .get)
    #expect(part(head.target) == "/a?b=c")
    #expect(head.fieldCount == 3)
    #expect(head.host.map(part) == "h:80")
    #expect(part(head.fields[1].name) == "X-A")
    #expect(part(head.fields[1].value) == "v w")
    #expect(part(head.fields[2].value) == "")
    #expect(head.framing == .none)
    #expect(head.keepsAlive)
  }

  @Test(arguments: [
    ("GET / HTTP/1.0\r\n\r\n", false), ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", true),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE ,y\r\n\r\n", false),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", true),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", true),
  ]) func connectionPersistsUnlessSaidOtherwise(text: String, keepsAlive: Bool) {
    let (outcome, head) = parse(Array(text.utf8))
    #expect(outcome == .complete)
    #expect(head.keepsAlive == keepsAlive)
  }

  @Test(arguments: [
    ("Content-Length: 5", RequestHead.Framing.length(5)), ("content-length:0", .none),
    ("Content-Length: 007", .length(7)), ("Content-Length: 999999999999999999", .length(999_999_999_999_999_999)),
    ("Transfer-Encoding: \tCHUNKED ", .chunked), ("Content_Length: 5", .none),
  ]) func framingIsRead(field: String, framing: RequestHead.Framing) {
    let (outcome, head) = parse(Array("POST / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n".utf8))
    #expect(outcome == .complete)
    #expect(head.framing == framing)
  }

  @Test(arguments: [
    ("Content-Length: +5", HTTPError.badFraming), ("Content-Length: -0", .badFraming),
    ("Content-Length: 5, 5", .badFraming), ("Content-Length:", .badFraming), ("Content-Length: 0x5", .badFraming),
    ("Content-Length: 1000000000000000000", .badFraming), ("Content-Length: 5\r\nContent-Length: 5", .badFraming),
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", .badFraming),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .badFraming),
    ("Transfer-Encoding: gzip, chunked", .transferCodingUnsupported),
    ("Transfer-Encoding: chun\u{212A}ed", .transferCodingUnsupported),
    ("Transfer-Encoding: chunked,", .transferCodingUnsupported),
    ("X-A : b", .badField), ("X-A\t: b", .badField), (": b", .badField), ("X A: b", .badField),
    ("X-\u{E9}: b", .badField),
    (" X-A: b", .badField), ("X-A: b\r\n c", .badField), ("X-A: b\nX-B: c", .badField), ("X-A: b\u{0}c", .badField),
    ("X-A: b\rc", .badField), ("X-A: \u{7F}", .badField), ("X-A", .badField), ("\rX-A: b", .badField),
    ("Content-Type: a/b\r\nContent-Type: a/b", .badField), ("Host: a", .badHost),
  ]) func badFieldsAreRefused(field: String, error: HTTPError) {
    #expect(outcome("POST / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n") == .failed(error))
  }

  @Test(arguments: [
    ("GET  / HTTP/1.1", HTTPError.badRequestLine), ("GET / HTTP/1.1 ", .badRequestLine), ("GET /", .badRequestLine),
    ("GET HTTP/1.1", .badRequestLine), ("GET / HTTP/1.10", .badRequestLine), ("GET / http/1.1", .badRequestLine),
    ("GET / HTTP/1,1", .badRequestLine), ("GET /\tHTTP/1.1", .badRequestLine), ("G(T / HTTP/1.1", .badRequestLine),
    (" GET / HTTP/1.1", .badRequestLine), ("GET / HTTP/2.0", .versionUnsupported),
    ("GET / HTTP/0.9", .versionUnsupported),
    ("GET * HTTP/1.1", .badTarget), ("GET foo HTTP/1.1", .badTarget), ("GET /%zz HTTP/1.1", .badTarget),
    ("GET /a#b HTTP/1.1", .badTarget), ("GET /\u{1}a HTTP/1.1", .badTarget), ("GET /\u{E9} HTTP/1.1", .badTarget),
    ("GET /../x HTTP/1.1", .badTarget), ("GET ftp://a/ HTTP/1.1", .badTarget), ("GET http:///x HTTP/1.1", .badTarget),
    ("GET http://u@a/ HTTP/1.1", .badTarget), ("GET http://a:8x/ HTTP/1.1", .badTarget),
    ("GET https://a/ HTTP/1.1", .misdirected), ("CONNECT a:443 HTTP/1.1", .methodUnknown),
  ]) func badRequestLinesAreRefused(line: String, error: HTTPError) {
    #expect(outcome("\(line)\r\nHost: a\r\n\r\n") == .failed(error))
  }

  @Test(arguments: [
    ("a", true), ("a:80", true), ("a:", true), ("[::1]", true), ("[::1]:8080", true), ("127.0.0.1:1", true),
    ("", false),
    ("a b", false), ("u@a", false), ("[::1", false), ("[]", false), ("[g::1]", false), ("a:123456", false),
    ("a:8a", false),
    (":80", false), ("a/b", false), ("[::1]x", false),
  ]) func hostIsAHostWithAPort(host: String, isValid: Bool) {
    #expect(outcome("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") == (isValid ? .complete : .failed(.badHost)))
  }

  @Test func hostIsNeededOnceInHTTP11() {
    #expect(outcome("GET / HTTP/1.1\r\n\r\n") == .failed(.badHost))
    #expect(outcome("GET http://a/ HTTP/1.1\r\n\r\n") == .failed(.badHost))
    #expect(outcome("GET / HTTP/1.0\r\n\r\n") == .complete)
    #expect(outcome("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") == .failed(.badFraming))
  }

  @Test func absoluteFormGivesAuthorityAndPath() {
    let bytes = Array("GET HTTP://h:1?q=1 HTTP/1.1\r\nHost: other\r\n\r\n".utf8)
    let (outcome, head) = parse(bytes)
    #expect(outcome == .complete)
    #expect(head.authority.map { String(decoding: bytes[$0.range], as: UTF8.self) } == "h:1")
    #expect(head.impliesSlash)
    #expect(String(decoding: bytes[head.target.range], as: UTF8.self) == "?q=1")
  }

  @Test func limitsHoldAtTheirValueAndNotOnePast() {
    func line(_ count: Int) -> String { "GET /" + String(repeating: "a", count: count - 14) + " HTTP/1.1" }
    let end = "\r\nHost: a\r\n\r\n"
    #expect(outcome(line(8192) + end) == .complete)
    #expect(outcome(line(8193) + end) == .failed(.requestLineTooLong))
    #expect(outcome(String(line(8193).prefix(8192))) == .needMore)
    #expect(outcome(line(8193)) == .failed(.requestLineTooLong))

    let start = "GET / HTTP/1.1\r\nHost: a\r\n"
    func field(_ count: Int) -> String { "X: " + String(repeating: "a", count: count - 3) }
    #expect(outcome(start + field(8192) + "\r\n\r\n") == .complete)
    #expect(outcome(start + field(8193) + "\r\n\r\n") == .failed(.headerSectionTooLarge))
    #expect(outcome(start + field(8193)) == .failed(.headerSectionTooLarge))

    // 9 bytes of Host, three lines of 8192 + 2, and the rest.
    let most = start + (field(8192) + "\r\n" + field(8192) + "\r\n" + field(8192) + "\r\n")
    let rest = 32_768 - 9 - 3 * 8194 - 2
    #expect(outcome(most + field(rest) + "\r\n\r\n") == .complete)
    #expect(outcome(most + field(rest + 1) + "\r\n\r\n") == .failed(.headerSectionTooLarge))
    #expect(outcome(most + field(rest + 1)) == .needMore)
    #expect(outcome(most + field(rest + 3)) == .failed(.headerSectionTooLarge))

    func fields(_ count: Int) -> String { start + String(repeating: "X: y\r\n", count: count - 1) + "\r\n" }
    #expect(outcome(fields(100)) == .complete)
    #expect(outcome(fields(101)) == .failed(.headerSectionTooLarge))

    let method = String(repeating: "M", count: 32)
    #expect(outcome("\(method) / HTTP/1.1" + end) == .complete)
    #expect(outcome("\(method)M / HTTP/1.1" + end) == .failed(.methodUnknown))
    #expect(outcome(String(repeating: "\r\n", count: 8) + line(20) + end) == .complete)
    #expect(outcome(String(repeating: "\r\n", count: 9)) == .failed(.badRequestLine))
  }

  @Test func emptyLinesAloneAreNoRequest() {
    var parser = HeadParser()
    let bytes = Array("\r\n\r".utf8)
    #expect(bytes.withUnsafeBytes { parser.parse($0) } == .needMore)
    #expect(parser.sawOnlyEmptyLines)
    let more = Array("\r\n\r\nG".utf8)
    #expect(more.withUnsafeBytes { parser.parse($0) } == .needMore)
    #expect(!parser.sawOnlyEmptyLines)
  }

  @Test func bytesThatNoRequestBeginsWithAreRefusedAtOnce() {
    for text in ["\u{16}\u{3}\u{1}", " ", "\u{0}", "{"] { #expect(outcome(text) == .failed(.badRequestLine)) }
    #expect(outcome("\r") == .needMore)
  }
}
