import HTTP
import JSONText
import Testing

@testable import Upstream

@Suite struct PhotoServiceTests {
  private let service = UpstreamService(base: "https://photos.example/", userAgent: "test")

  private func outcome(
    _ body: String, status: Int = 200, _ fields: Fields = [:], of collection: PhotoService.Collection = .photos
  ) throws -> Outcome<[PhotoService.Item]> {
    PhotoService.Whole(collection).reply(
      to: UpstreamAnswer(status: status, fields: fields, body: Array(body.utf8), receivedAt: 0),
      from: try #require(service)
    ).outcome
  }

  private static let photo =
    #"{ "albumId": 3, "id": 101, "title": "incidunt alias", "url": "https://via.placeholder.com/600/e743b", "thumbnailUrl": "https://via.placeholder.com/150/e743b" }"#

  @Test func `it is asked for everything at once, and with the validators of what is stored`() throws {
    let call = PhotoService.Whole(.photos).call(
      to: try #require(service), credential: nil, validators: Validators(etag: "W/\"1\""))
    #expect(call.url == "https://photos.example/photos")
    #expect(call.fields[.ifNoneMatch] == "W/\"1\"")
    #expect(call.fields[.authorization] == nil)
  }

  @Test func `a whole list is read, each item as it came`() throws {
    guard case .ok(let items, let validators) = try outcome("[\n\(Self.photo)]", [.etag: "W/\"1\""]) else {
      Issue.record("no items")
      return
    }
    #expect(items.map(\.id) == [101])
    #expect(items.map(\.parent) == [3])
    #expect(items.map(\.title) == ["incidunt alias"])
    #expect(items.map { String(decoding: $0.document, as: UTF8.self) } == [Self.photo])
    #expect(validators == Validators(etag: "W/\"1\""))
  }

  @Test(arguments: [
    "", "{}", "[", "[]", "[{}]", "<html>", #"[{"albumId":"1","id":1,"title":"","url":"","thumbnailUrl":""}]"#,
    #"[{"albumId":1,"id":"1","title":"","url":"","thumbnailUrl":""}]"#,
    #"[{"albumId":1,"id":1,"title":null,"url":"","thumbnailUrl":""}]"#, #"[{"albumId":1,"id":1,"title":"","url":""}]"#,
    "[\(photo),\(photo)]",
  ])
  func `what an app could not decode is no list`(body: String) throws {
    guard case .invalid = try outcome(body) else {
      Issue.record("taken: \(body)")
      return
    }
  }

  @Test func `statuses are told apart`() throws {
    guard case .notModified = try outcome("", status: 304) else { return fail("304") }
    guard case .limited(let limit) = try outcome("", status: 429, [.retryAfter: "7"]) else { return fail("429") }
    #expect(limit == Limit(.secondary, seconds: 7, isNamed: true))
    for status in [500, 503, 408] {
      guard case .transient = try outcome("[]", status: status) else { return fail("\(status)") }
    }
    for status in [301, 404, 403, 201] {
      guard case .invalid = try outcome("[]", status: status) else { return fail("\(status)") }
    }
    // The counts are of a cached copy, and nobody's.
    let answer = UpstreamAnswer(status: 200, fields: ["x-ratelimit-remaining": "0"], body: [], receivedAt: 0)
    #expect(PhotoService.Whole(.photos).reply(to: answer, from: try #require(service)).budget == nil)
  }

  @Test(arguments: [
    ("https://via.placeholder.com/600/92c952", "600", "92c952"),
    ("https://via.placeholder.com/150/e743b", "150", "0e743b"),
    ("http://via.placeholder.com/600/F", "600", "00000f"),
    ("https://placehold.co/600x400/92c952/fff/png", "600x400", "92c952"),
    ("https://placehold.co/64x64/AABBCC.png?text=x", "64", "aabbcc"),
  ])
  func `addresses of placeholders say a size and a color`(url: String, size: String, color: String) throws {
    let address = try #require(PlaceholderAddress(url))
    #expect(address.size == size)
    #expect(address.color == color)
  }

  @Test(arguments: [
    "", "https://via.placeholder.com", "https://via.placeholder.com/600", "https://via.placeholder.com/600/",
    "https://via.placeholder.com/600/1234567", "https://via.placeholder.com/600/xyz",
    "https://via.placeholder.com/0/fff",
    "https://via.placeholder.com/99999/fff", "https://picsum.photos/600/92c952", "ftp://via.placeholder.com/600/92c952",
    "https://via.placeholder.com.example/600/92c952", "https://via.placeholder.com/600x/fff",
    "https://via.placeholder.com/-1/fff",
  ])
  func `other addresses are left alone`(url: String) { #expect(PlaceholderAddress(url) == nil) }
}

/// Ends a test that has seen something else.
private func fail(_ what: String) { Issue.record("\(what)") }
