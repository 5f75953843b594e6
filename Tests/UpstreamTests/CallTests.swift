import HTTP
import Testing
import Upstream

@Suite("Asking GitHub")
struct CallTests {
  private let token = Credential(token: "ghp_x")!

  private func lines(_ call: UpstreamCall) -> [String] { call.fields.map { "\($0.name): \($0.value)" } }

  @Test("names the program, the format and the version with every request")
  func sendsItsFields() {
    let call = GitHub.Profile(.id(583_231)).call(to: github, credential: nil, validators: nil)
    #expect(call.url == "https://api.github.com/user/583231")
    #expect(
      lines(call) == [
        "User-Agent: Magpie/1.0 (+https://magpie.example)", "Accept: application/vnd.github+json",
        "X-GitHub-Api-Version: 2022-11-28",
      ])
    #expect(call.maxBytes == 1 << 20)
    #expect(call.timeout == .seconds(15))
  }

  @Test("sends the credential and the stored validator as they are")
  func sendsValidators() {
    let validators = Validators(etag: #"W/"a b""#, lastModified: "Thu, 01 Jan 2026 00:00:00 GMT")
    let call = GitHub.Profile(.id(1)).call(to: github, credential: token, validators: validators)
    #expect(lines(call).suffix(2) == ["Authorization: Bearer ghp_x", #"If-None-Match: W/"a b""#])
    let older = GitHub.Profile(.id(1)).call(
      to: github, credential: nil, validators: Validators(etag: nil, lastModified: "Thu, 01 Jan 2026 00:00:00 GMT"))
    #expect(older.fields[.ifModifiedSince] == "Thu, 01 Jan 2026 00:00:00 GMT")
    #expect(older.fields[.authorization] == nil)
  }

  @Test("keeps the credential from other origins")
  func keepsTheCredential() {
    let call = GitHub.Profile(at: "https://elsewhere.example/user/1").call(
      to: github, credential: token, validators: nil)
    #expect(call.url == "https://elsewhere.example/user/1")
    #expect(call.fields[.authorization] == nil)
    let own = GitHub.FollowList(at: "https://api.github.com/user/1/followers?page=2").call(
      to: github, credential: token, validators: nil)
    #expect(own.fields[.authorization] == "Bearer ghp_x")
  }

  @Test("asks for lists by login and by id, 1 to 100 a page")
  func asksForLists() throws {
    let login = try #require(GitHub.Login("dependabot[bot]"))
    let simulator = try #require(UpstreamService(base: "http://127.0.0.1:9000/api/", userAgent: "a"))
    #expect(
      GitHub.FollowList(.followers, of: .login(login)).url(at: simulator)
        == "http://127.0.0.1:9000/api/users/dependabot%5Bbot%5D/followers?per_page=100")
    #expect(
      GitHub.FollowList(.following, of: .id(7), perPage: 0).url(at: github)
        == "https://api.github.com/user/7/following?per_page=1")
    #expect(
      GitHub.FollowList(.following, of: .id(7), perPage: 101).url(at: github)
        == "https://api.github.com/user/7/following?per_page=100")
    let call = GitHub.FollowList(.followers, of: .id(7)).call(to: github, credential: nil, validators: nil)
    #expect(call.maxBytes == 8 << 20)
  }

  @Test("takes every login that exists and nothing that leaves its segment")
  func guardsLogins() {
    for text in [
      "octocat", "Link-", "-ACE-", "0----0", "a_b", "dependabot[bot]", "a", String(repeating: "x", count: 60),
    ] {
      #expect(GitHub.Login(text)?.description == text)
    }
    for text in [
      "", "[bot]", "a/b", "..", ".", "a.b", "a b", "é", "a%2fb", "a[bot]x", "a[bot][bot]", "a\n",
      String(repeating: "x", count: 61),
    ] {
      #expect(GitHub.Login(text) == nil, "\(text)")
    }
    #expect(GitHub.Login("BatMan")?.folded == "batman")
  }
}
