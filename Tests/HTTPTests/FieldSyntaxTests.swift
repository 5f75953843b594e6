import HTTP
import Testing

@Suite struct FieldSyntaxTests {
  @Test func linksAreReadAndWritten() {
    let text =
      "<https://a/x?page=2,3>; rel=\"next\", <https://a/x?page=1>; rel=prev; title=\"a, b; c\",, <b>;rel=\"First Last\""
    let links = Link.parse(text)
    #expect(links.map(\.target) == ["https://a/x?page=2,3", "https://a/x?page=1", "b"])
    #expect(links.map(\.relations) == [["next"], ["prev"], ["first", "last"]])
    #expect(Link.first("last", in: text)?.target == "b")
    #expect(Link.first("none", in: text) == nil)
    #expect(Link.parse("nonsense, <broken").isEmpty)
    #expect(
      [links[0], Link("/\u{E9}>\r\n\"", rel: "a\"b")].fieldValue
        == "<https://a/x?page=2,3>; rel=\"next\", </%C3%A9%3E%0D%0A%22>; rel=\"ab\"")
    #expect(Link.parse(links.fieldValue) == links)
  }

  @Test(
    arguments: [
      ("wait=10", 10, false), ("respond-async, wait=5", 5, true), ("Wait = \"7\"; x=y", 7, false),
      ("wait=1, wait=2", 1, false),
      ("wait=-1", nil, false), ("wait", nil, false), ("respond-async;q=1", nil, true),
      ("x=\"respond-async\"", nil, false),
      ("wait=99999999999999999999", 2_147_483_647, false),
    ] as [(String, Int?, Bool)]) func preferencesAreRead(text: String, wait: Int?, respondAsync: Bool)
  {
    let prefer = Prefer([.prefer: text])
    #expect(prefer.wait == wait)
    #expect(prefer.respondAsync == respondAsync)
  }

  @Test func preferencesOfSeveralLinesCountTogether() {
    let prefer = Prefer([.prefer: "respond-async", .prefer: "wait=3"])
    #expect(prefer.wait == 3 && prefer.respondAsync)
    #expect(Prefer([:]) == Prefer())
  }

  @Test func cacheDirectivesAreRead() {
    let control = CacheControl([
      .cacheControl: "No-Cache=\"x\", max-age=60, max-age = 5", .cacheControl: "only-if-cached",
    ])
    #expect(control.noCache && control.onlyIfCached && !control.noStore)
    #expect(control.maxAge == 5)
    let nothing = CacheControl([.cacheControl: "max-age=x, max-age=-1, max-age, public"])
    #expect(nothing == CacheControl())
    #expect(CacheControl([.cacheControl: "max-age=0"]).maxAge == 0)
  }

  @Test func problemHasItsMembersInOrder() {
    var problem = Problem(.tooManyRequests, code: "upstream/rate-limited", detail: "Later \"please\".")
    #expect(
      String(decoding: problem.bytes, as: UTF8.self)
        == #"{"type":"/problems/upstream/rate-limited","title":"Too Many Requests","status":429,"#
        + #""detail":"Later \"please\".","code":"upstream/rate-limited"}"#)
    problem.requestID = "r1"
    problem.errors = [Problem.Detail(pointer: "/a", detail: "bad")]
    problem.retryAfter = 7
    problem.upstream = Problem.Upstream(status: 403, remaining: 0, reset: 9)
    problem.members = [Problem.Member("message", "Not Found")]
    #expect(
      String(decoding: problem.bytes, as: UTF8.self)
        .hasSuffix(
          #","request_id":"r1","errors":[{"pointer":"/a","detail":"bad"}],"retry_after":7,"#
            + #""upstream":{"status":403,"remaining":0,"reset":9},"message":"Not Found"}"#))
  }
}
