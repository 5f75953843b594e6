import Glibc
import HTTP
import Testing

@testable import HTTPClient

@Suite struct AddressRuleTests {
  private func isPublic(_ text: String) throws -> Bool {
    var six = sockaddr_in6()
    six.sin6_family = sa_family_t(AF_INET6)
    if inet_pton(AF_INET6, text, &six.sin6_addr) == 1 {
      return withUnsafePointer(to: &six) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { AddressRule.isPublic($0) }
      }
    }
    var four = sockaddr_in()
    four.sin_family = sa_family_t(AF_INET)
    try #require(inet_pton(AF_INET, text, &four.sin_addr) == 1)
    return withUnsafePointer(to: &four) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { AddressRule.isPublic($0) }
    }
  }

  @Test(arguments: [
    "140.82.121.6", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:50c0:8000::153", "2a01::1", "2001:200::1",
    "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:0101:0101::1",
  ])
  func globalAddressesArePublic(address: String) throws {
    #expect(try isPublic(address))
  }

  @Test(arguments: [
    "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
    "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1",
    "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "fe80::1", "fec0::1", "fc00::1",
    "fdff::1", "ff02::1", "100::1", "2001::1", "2001:db8::1", "2001:1ff::1", "3fff::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1.1.1.1", "2002:7f00:0001::1", "2002:a9fe:a9fe::1",
  ])
  func specialAddressesAreNot(address: String) throws {
    #expect(try !isPublic(address))
  }

  @Test func otherFamiliesAreNot() {
    var unix = sockaddr()
    unix.sa_family = sa_family_t(AF_UNIX)
    #expect(!AddressRule.isPublic(&unix))
  }
}

@Suite struct OriginTests {
  @Test(arguments: [
    ("https://API.GitHub.com/users/x?y=1", "https://api.github.com:443"),
    ("HTTP://127.0.0.1:9090", "http://127.0.0.1:9090"), ("http://example.org", "http://example.org:80"),
    ("http://0x7f.1:80/", "http://127.0.0.1:80"), ("http://[::1]:9090/a", "http://[::1]:9090"),
  ])
  func isNormalized(url: String, origin: String) throws {
    #expect(try #require(HTTPClient.Origin(url)).description == origin)
  }

  @Test(arguments: ["", "api.github.com", "ftp://a/", "https://user@a/", "https://a:0x50/", "https://a:65536/"])
  func needsAnAbsoluteWebAddress(url: String) {
    #expect(HTTPClient.Origin(url) == nil)
  }

  @Test func differsByEachOfItsParts() throws {
    let origins = ["https://a", "http://a", "https://b", "https://a:444", "https://a:443"]
      .compactMap { HTTPClient.Origin($0) }
    #expect(Set(origins).count == 4)
    #expect(origins[0] == origins[4])
  }
}

@Suite struct AnswerHeadTests {
  private func head(_ lines: [String], maxBytes: Int = 1000) -> (taken: Bool, fields: [String]) {
    var head = AnswerHead(maxBytes: maxBytes)
    var taken = true
    for line in lines { taken = Array("\(line)\r\n".utf8).withUnsafeBytes { head.take($0) } && taken }
    return (taken, head.fields().map { "\($0.name)".lowercased() + "=\($0.value)" })
  }

  @Test func interimAnswersAreDropped() {
    let lines = ["HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "ETag: \"x\"", ""]
    #expect(head(lines).fields == ["etag=\"x\""])
  }

  @Test func trailersAreDroppedEvenWhenTheyLookLikeAnAnswer() {
    let lines = ["HTTP/1.1 200 OK", "ETag: \"x\"", "", "X-Sum: 1", "HTTP/1.1 404 Gone", "ETag: \"y\"", ""]
    #expect(head(lines).fields == ["etag=\"x\""])
  }

  @Test func foldedLinesAreJoined() {
    #expect(head(["HTTP/1.1 200 OK", "X-A: one", " \ttwo ", "X-B:", ""]).fields == ["x-a=one two", "x-b="])
  }

  @Test func linesWithoutANameAreDropped() {
    #expect(head(["HTTP/1.1 200 OK", "nonsense", ": 1", "a b: 1", "X-A: 1", ""]).fields == ["x-a=1"])
  }

  @Test func everyByteCounts() {
    let lines = ["HTTP/1.1 200 OK", "A: 1", ""]  // 17 + 6 + 2
    #expect(head(lines, maxBytes: 25).taken)
    #expect(!head(lines, maxBytes: 24).taken)
  }
}
