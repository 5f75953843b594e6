import HTTP
import Testing

@Suite struct TargetTests {
  @Test func partsAreDecodedOnceAndAfterSplitting() throws {
    let target = try Target("/a%2Fb/c+d/%252e?q=x%26y+z&empty&=v&q=2&k=a=b")
    #expect(target.segments == ["a/b", "c+d", "%2e"])
    #expect(target.path == "/a%2Fb/c+d/%252e")
    #expect(target.query["q"] == "x&y z")
    #expect(target.query.all("q") == ["x&y z", "2"])
    #expect(target.query["empty"] == "")
    #expect(target.query[""] == "v")
    #expect(target.query["k"] == "a=b")
    #expect(target.query["none"] == nil)
    #expect(try Target("/a/").segments == ["a", ""])
    #expect(try Target("/").segments == [""])
    #expect(try Target("/?").query.items.isEmpty)
  }

  @Test(arguments: [
    "", "a", "a/b", "/%", "/%2", "/%zz", "/%00", "/?q=%00", "/?q=%f", "/%ff", "/%c0%ae", "/%ed%a0%80", "/a b", "/a\tb",
    "/\u{E9}", "/#", "/?a#b", "/.", "/..", "/a/../b", "/a/./b", "/%2e", "/%2E%2e/x", "/.%2e", "/a/..?x", "/\\", "/{a}",
    "/\"",
    "/<", "**",
  ])
  func invalidTargetsAreRefused(text: String) {
    #expect(throws: Target.Invalid.self) { try Target(text) }
  }

  @Test(arguments: [
    "*", "/", "/...", "/.a", "/a.", "/..%2fetc", "/a;b=c,d", "/@:!$&'()*+,;=~-_", "/[a]|b", "/?../..", "/?{}\\^`[]|",
    "/%e2%82%ac", "/?q=%0d%0a", "/a//b",
  ])
  func unusualTargetsAreTaken(text: String) throws {
    #expect(try Target(text).description == text)
  }

  @Test func oneItemChangesAndTheOthersStay() throws {
    let target = try Target("/u?page=2&q=a%20b&page=3&per_page=5")
    #expect(target.setting("page", to: "4").description == "/u?page=4&q=a%20b&per_page=5")
    #expect(target.setting("new", to: "a&b=\u{E9}").description.hasSuffix("&per_page=5&new=a%26b%3D%C3%A9"))
    #expect(try Target("/u?a=1").setting("a", to: nil).description == "/u")
    #expect(try Target("/u").setting("a", to: "").description == "/u?a=")
  }

  @Test func percentEncodingGoesBothWays() {
    let text = "a/b c+\u{E9}?%~-._"
    let encoded = PercentEncoding.encode(text)
    #expect(encoded == "a%2Fb%20c%2B%C3%A9%3F%25~-._")
    #expect(PercentEncoding.decode(encoded) == text)
    #expect(PercentEncoding.decode("a+b") == "a+b")
    #expect(PercentEncoding.decode("a+b", plusIsSpace: true) == "a b")
    #expect(PercentEncoding.decode("%c3") == nil)
  }
}
