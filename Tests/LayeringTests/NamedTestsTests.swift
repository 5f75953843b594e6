import Testing

/// `docs/github.md` says which test holds Magpie to each of its lines; a test that is renamed must be renamed there.
@Suite struct NamedTestsTests {
  @Test func `every surprise of GitHub's has a test, and the test is there`() throws {
    var functions: [String: Set<Substring>] = [:]
    for path in try Repository.files(below: "Tests", endingWith: ".swift") {
      let text = try Repository.text(path)
      for suite in text.matches(of: #/struct (\w+)/#) {
        functions[String(suite.1), default: []].formUnion(text.matches(of: #/func (\w+)\(/#).map(\.1))
      }
    }
    let lines = try Repository.text("docs/github.md").split(separator: "\n").filter {
      $0.hasPrefix("| ") && $0.contains("#")
    }
    #expect(lines.count >= 50)
    for line in lines {
      let tests = line.matches(of: #/`(\w+Tests)\.(\w+)`/#)
      #expect(!tests.isEmpty, "\(line)")
      for test in tests {
        #expect(functions[String(test.1)]?.contains(test.2) == true, "\(test.0) is not there")
      }
    }
  }
}
