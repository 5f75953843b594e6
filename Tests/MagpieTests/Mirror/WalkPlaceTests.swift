import JSONText
import Testing

@testable import Magpie

@Suite struct WalkPlaceTests {
  @Test func placesComeBackAsTheyWere() throws {
    var place = WalkPlace(owner: 583_231, doubt: WalkDoubt(walks: 3, members: 12))
    #expect(WalkPlace(place.json) == place)
    place.walk = 7
    place.page = 12
    place.next = "https://api.github.com/user/583231/followers?per_page=100&page=13&x=\"\\é"
    #expect(WalkPlace(place.json) == place)
    place.next = nil
    place.isComplete = true
    #expect(WalkPlace(place.json) == place)
    #expect(WalkPlace(WalkPlace().json) == WalkPlace())
    place.doubt = WalkDoubt(members: nil)
    #expect(WalkPlace(place.json) == place)
  }

  /// A job that an earlier release has begun, and one that it takes over.
  @Test func placesOfEarlierReleasesAreRead() {
    let old = WalkPlace(Array(#"{"owner":7,"page":0,"complete":false,"second":true}"#.utf8))
    #expect(old == WalkPlace(owner: 7, doubt: WalkDoubt(members: nil)))
    let new = String(decoding: WalkPlace(owner: 7, doubt: WalkDoubt(members: 5)).json, as: UTF8.self)
    #expect(new.contains(#""second":true"#))
  }

  @Test(arguments: [
    "", "null", "5", "[]", "{}", "{", #"{"page":-1}"#, #"{"page":"1"}"#, #"{"page":1.5}"#, #"{"page":1e400}"#,
    // Pages without a place to go on from, and an end without a walk.
    #"{"page":3}"#, #"{"page":3,"next":5}"#, #"{"page":3,"complete":true}"#,
  ])
  func whatIsNoPlaceBeginsAnew(text: String) { #expect(WalkPlace(Array(text.utf8)) == nil) }

  @Test(arguments: [
    ("https://api.github.com/user/583231/followers?page=2", Int64?.some(583_231)), ("http://h:1/x/user/7/following", 7),
    ("https://api.github.com/users/octocat/followers?page=2", nil), ("https://api.github.com/user/0/followers", nil),
    ("https://api.github.com/user/-5/followers", nil), ("https://api.github.com/user/x/followers", nil), ("", nil),
    ("https://h/users/x?y=/user/7/followers", nil), ("user", nil),
    ("https://h/user/99999999999999999999/followers", nil),
  ])
  func linkNamesTheOwner(link: String, id: Int64?) { #expect(WalkPage.ownerID(in: link) == id) }
}

@Suite struct WalkDoubtTests {
  @Test(
    arguments: [
      (0, 0, true), (0, 5, true), (0, 6, false), (30, 25, true), (30, 24, false), (1_000, 1_050, true),
      (1_000, 950, true), (1_000, 949, false), (50_000, 0, false),
    ] as [(Int64, Int64, Bool)])
  func walksAgreeButForAFew(before: Int64, now: Int64, isAgreement: Bool) {
    #expect(WalkDoubt(members: before).agrees(with: now) == isAgreement)
  }

  @Test func whatIsNotKnownAgreesWithNothing() { #expect(!WalkDoubt(members: nil).agrees(with: 0)) }

  @Test(
    arguments: [
      (0, 0, false), (20, 0, false), (21, 0, true), (60, 24, true), (100, 80, false), (1_000, 800, false),
      (1_000, 799, true), (0, 30, false),
    ] as [(Int64, Int64, Bool)])
  func countersContradictListsThatAreFarShorter(counter: Int64, members: Int64, isContradiction: Bool) {
    #expect(WalkDoubt.contradicts(counter: counter, members: members) == isContradiction)
  }

  /// At once, and then after minutes that grow.
  @Test func theNextWalkComesLaterEachTime() {
    var doubt: WalkDoubt?
    var rests: [Duration?] = []
    for members in [3, 9, 4, 4, 4, 4] as [Int64] {
      doubt = WalkDoubt.after(doubt, members: members)
      rests.append(doubt?.rest)
    }
    #expect(doubt == WalkDoubt(walks: 6, members: 4))
    #expect(rests == [nil, .seconds(300), .seconds(600), .seconds(1_200), .seconds(2_400), .seconds(2_400)])
    #expect(WalkDoubt(members: 3).result == nil)
    guard case .retry(let rest, let error)? = WalkDoubt(walks: 2, members: 3).result else {
      Issue.record("no retry")
      return
    }
    #expect(rest == .seconds(300) && error.hasPrefix("upstream/invalid-answer: "))
    #expect(WalkDoubt(walks: 10, members: 3).result == .discard(error: error))
  }
}

@Suite struct PersonTests {
  @Test(arguments: [
    ("octocat", true), ("a", true), ("-ACE-", true), ("0----0", true), ("name_corp", true), ("dependabot[bot]", true),
    ("", false),
    ("[bot]", false), ("a[bot]x", false), ("a/b", false), ("..", false), (".", false), ("a.b", false), ("a\0b", false),
    ("a b", false),
    ("é", false), ("K\u{212A}", false), ("a%2Fb", false), ("a?b", false), ("a#b", false), ("@a", false),
    ("a[bot][bot]", false),
  ])
  func loginsAreGuarded(text: String, isGood: Bool) { #expect((Person(login: text) != nil) == isGood) }

  @Test func lengthsOfLogins() {
    let longest = String(repeating: "a", count: 60)
    #expect(Person(login: longest) != nil)
    #expect(Person(login: longest + "[bot]") != nil)
    #expect(Person(login: longest + "a") == nil)
    #expect(Person(login: longest + "a[bot]") == nil)
  }

  @Test(arguments: [
    ("1", Int64?.some(1)), ("999999999999999999", 999_999_999_999_999_999), ("0", nil), ("-1", nil), ("+1", nil),
    ("1.0", nil),
    ("", nil), ("1000000000000000000", nil), ("٣", nil), ("0x1", nil), (" 1", nil),
  ])
  func idsAreGuarded(text: String, id: Int64?) { #expect(Person(id: text) == id.map { .id($0) }) }

  @Test func keysComeBack() {
    #expect(Person.login("OctoCat").key == "octocat")
    #expect(Person(key: "octocat") == .login("octocat"))
    #expect(Person(key: Person.id(7).key) == .id(7))
    for key in ["", "id:", "id:0", "id:-1", "id:x"] { #expect(Person(key: key) == nil, "\(key)") }
  }

  @Test func jobsAreNamedByThePresentLogin() {
    #expect(Person(storedLogin: "octocat", id: 7) == .login("octocat"))
    // Somebody else bears it, or it could not be asked for.
    #expect(Person(storedLogin: nil, id: 7) == .id(7))
    #expect(Person(storedLogin: "a.b", id: 7) == .id(7))
    let subject = Subject.list(.followers, .id(7))
    #expect(subject.of(.login("octocat")) == .list(.followers, .login("octocat")))
    #expect(subject.jobKind == "github-followers")
    #expect(Subject.profile(.id(7)).of(.id(8)) == .profile(.id(8)))
  }
}

@Suite struct FavoriteListScopeTests {
  @Test func scopesDoNotRunTogether() {
    var lists: [FavoriteList] = []
    let texts: [String?] = [nil, "a", "a,1:b", "", "1:a"]
    let tags: [String?] = [nil, "a", "b", "1:a,1:b"]
    let kinds: [Favorite.Kind?] = [nil, .gif]
    for text in texts {
      for tag in tags {
        for kind in kinds {
          var list = FavoriteList()
          list.text = text
          list.tag = tag
          list.kind = kind
          lists.append(list)
        }
      }
    }
    // No text and an empty one filter alike.
    let scopes = Set(lists.map(\.scope))
    #expect(scopes.count == 4 * 4 * 2)
    var sorted = FavoriteList()
    sorted.sort = .title
    #expect(sorted.scope != FavoriteList().scope)
    // How many, and where to go on, is the reader's choice on each page.
    sorted = FavoriteList()
    sorted.limit = 7
    sorted.after = ["a", "b", "c"]
    #expect(sorted.scope == FavoriteList().scope)
  }
}
