import Testing

import HTTP
import Upstream

@Suite("An upstream service")
struct ServiceTests {
  @Test(
    "takes plain bases only",
    arguments: [
      "https://api.github.com", "http://127.0.0.1:9000", "https://ghe.example/api/v3", "http://[::1]:80",
      "HTTPS://API.example",
    ])
  func takesPlainBases(base: String) throws {
    let service = try #require(UpstreamService(base: base + "/", userAgent: "a"))
    #expect(service.base == base)
  }

  @Test(
    "refuses everything else",
    arguments: [
      "", "api.github.com", "ftp://api.github.com", "https://", "https:///x", "https://user@host", "https://host:0",
      "https://host:65536", "https://host:x",
      "https://host/?q", "https://ho st", "https://host#f", "https://höst", "https://host\\x", "https://[::1",
      "https://a_b", "file:///etc/passwd",
    ])
  func refusesOthers(base: String) {
    #expect(UpstreamService(base: base, userAgent: "a") == nil)
  }

  @Test("needs a user agent that can stand in a field")
  func needsAnAgent() {
    #expect(UpstreamService(base: "https://a", userAgent: "") == nil)
    #expect(UpstreamService(base: "https://a", userAgent: "a\r\nb: c") == nil)
  }

  @Test("owns its origin, whatever the path")
  func ownsItsOrigin() {
    for url in [
      "https://api.github.com/user/1", "https://API.GitHub.com:443/x?y", "https://api.github.com",
      "https://api.github.com?x",
    ] {
      #expect(github.owns(url), "\(url)")
    }
  }

  @Test(
    "does not own what only looks alike",
    arguments: [
      "http://api.github.com/", "https://api.github.com:444/", "https://api.github.com.evil/",
      "https://api.github.com@evil/", "https://evil/https://api.github.com/",
      "//api.github.com/", "https://api.github.com\\@evil/", "https://api.github.com\t/",
      "https://api.github.com#@evil/", "/user/1", "",
      "https://api.github.com%2eevil/", "https://api.github.com./", "https://api.github.com:443:80/",
      "https://api.github.com/" + String(repeating: "x", count: 4096),
    ])
  func doesNotOwnOthers(url: String) {
    #expect(!github.owns(url))
  }

  @Test("keeps its credential out of text")
  func hidesCredentials() throws {
    let credential = try #require(Credential(token: "ghp_secret"))
    #expect(!"\(credential) \(String(reflecting: credential)) \([credential])".contains("secret"))
    #expect(Credential(token: "") == nil)
    #expect(Credential(token: "a\nb") == nil)
    #expect(Credential(token: String(repeating: "x", count: 512)) != nil)
    #expect(Credential(token: String(repeating: "x", count: 513)) == nil)
  }
}
