import Testing
import Upstream

@Suite("Walking a list")
struct WalkTests {
  private static let first = "https://api.github.com/users/rook/followers?per_page=100"

  private static func page(_ number: Int) -> String {
    "https://api.github.com/user/5/followers?per_page=100&page=\(number)"
  }

  private func refusal(_ walk: inout GitHub.Walk, _ next: String) -> GitHub.Walk.Refusal? {
    do throws(GitHub.Walk.Refusal) {
      try walk.advance(next: next, lastPage: nil)
      return nil
    } catch {
      return error
    }
  }

  @Test("goes from page to page until there is no next, and counts")
  func walks() throws {
    var walk = GitHub.Walk(at: Self.first, through: github)
    #expect(walk.url == Self.first)
    #expect(walk.pagesExpected == nil)
    try walk.advance(next: Self.page(2), lastPage: 3)
    #expect(walk.url == Self.page(2))
    #expect(walk.pagesDone == 1)
    #expect(walk.pagesExpected == 3)
    try walk.advance(next: Self.page(3), lastPage: nil)
    #expect(walk.pagesExpected == 3)
    try walk.advance(next: Self.page(4), lastPage: 3)
    #expect(walk.pagesExpected == 4)
    #expect(!walk.isComplete)
    try walk.advance(next: nil, lastPage: nil)
    #expect(walk.isComplete)
    #expect(walk.pagesDone == 4)
    #expect(walk.pagesExpected == 4)
    try walk.advance(next: Self.page(9), lastPage: nil)
    #expect(walk.isComplete)
    #expect(walk.pagesDone == 4)
  }

  @Test("refuses circles, steps back and other hosts, and stays where it is")
  func refuses() throws {
    var walk = GitHub.Walk(at: Self.first, through: github)
    try walk.advance(next: Self.page(2), lastPage: 9)
    #expect(refusal(&walk, Self.first) == .repeated)
    #expect(refusal(&walk, Self.page(2)) == .repeated)
    #expect(refusal(&walk, Self.page(1)) == .notAdvancing)
    #expect(refusal(&walk, Self.page(2) + "&x=1") == .notAdvancing)
    #expect(refusal(&walk, "https://api.github.com.evil/user/5/followers?page=3") == .foreignOrigin)
    #expect(refusal(&walk, "http://api.github.com/user/5/followers?page=3") == .foreignOrigin)
    #expect(refusal(&walk, "https://api.github.com@evil/?page=3") == .malformed)
    #expect(refusal(&walk, "javascript:1") == .malformed)
    #expect(refusal(&walk, "") == .malformed)
    #expect(walk.url == Self.page(2))
    #expect(walk.pagesDone == 1)
    try walk.advance(next: Self.page(3), lastPage: 9)
    #expect(walk.url == Self.page(3))
  }

  @Test("follows cursors, which have no page numbers, until one comes again")
  func followsCursors() throws {
    var walk = GitHub.Walk(at: Self.first, through: github)
    for cursor in ["b", "a", "c"] { try walk.advance(next: "https://api.github.com/x?after=\(cursor)", lastPage: nil) }
    #expect(refusal(&walk, "https://api.github.com/x?after=a") == .repeated)
  }

  @Test("goes on from a stored place without falling into an old circle")
  func resumes() throws {
    var walk = GitHub.Walk(at: Self.page(7), after: 6, through: github)
    #expect(refusal(&walk, Self.page(2)) == .notAdvancing)
    try walk.advance(next: Self.page(8), lastPage: 10)
    #expect(walk.pagesDone == 7)
    #expect(walk.pagesExpected == 10)
  }

  @Test("takes the allowed number of pages and not one more")
  func limitsPages() throws {
    var walk = GitHub.Walk(at: Self.page(1), through: github, maxPages: 3)
    try walk.advance(next: Self.page(2), lastPage: nil)
    try walk.advance(next: Self.page(3), lastPage: nil)
    #expect(refusal(&walk, Self.page(4)) == .tooManyPages)
    try walk.advance(next: nil, lastPage: nil)
    #expect(walk.pagesDone == 3)
  }
}
