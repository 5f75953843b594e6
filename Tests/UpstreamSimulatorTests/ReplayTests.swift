import Glibc
import HTTP
import Testing

@testable import UpstreamSimulator

@Suite struct ReplayTests {
  private static let document = #"""
    [
      {"path": "/users/a", "status": 200,
       "headers": {"etag": "\"x\"", "content-encoding": "gzip", "content-length": "7", "Date": "long ago", "X-Odd": "1",
                   "link": "<https://api.github.com/user/1/followers?page=2>; rel=\"next\", <https://b.example/>; rel=\"x\""},
       "body": "{\"login\": \"a\"}"},
      {"path": "/q?b=2&a=1&per_page=5", "status": 200, "headers": {}, "body": {"n": [1, 2.50]}},
      {"path": "/bare", "status": 200, "headers": {}, "body": null},
      {"path": "/old", "status": 301, "headers": {"Location": "https://api.github.com/repositories/1"}, "body": "{}"},
      {"path": "/twice", "status": 503, "headers": {}, "body": "<html>"},
      {"path": "/twice", "status": 200, "headers": {}, "body": "[]"}
    ]
    """#

  private func run(ignoresPaging: Bool = false, _ body: (Bench) async throws -> Void) async throws {
    let replay = try Replay(Array(Self.document.utf8), ignoresPaging: ignoresPaging)
    try await Bench.run(configure: { $0.replay = replay }, body)
  }

  @Test func answerIsAsRecordedButForTheConnectionAndTheLinks() async throws {
    try await run { bench async throws in
      let answer = try await bench.get("/users/a")
      #expect(answer.status == 200)
      #expect(answer.text == #"{"login": "a"}"#)
      #expect(answer.fields[.etag] == "\"x\"")
      #expect(answer.fields["X-Odd"] == "1")
      #expect(answer.fields[.contentEncoding] == nil)
      #expect(answer.fields[.contentLength] == "14")
      #expect(answer.fields[.date] != "long ago")
      #expect(
        answer.links == ["next": "\(bench.simulator.baseURL)/user/1/followers?page=2", "x": "https://b.example/"])
      #expect(answer.rate == nil)
    }
  }

  @Test func queryItemsMatchInAnyOrder() async throws {
    try await run { bench async throws in
      #expect(try await bench.get("/q?per_page=5&a=1&b=2").text == #"{"n": [1, 2.50]}"#)
      #expect(try await bench.get("/q?a=1&b=2").status == 404)
      #expect(try await bench.get("/bare?per_page=100&page=2").status == 404)
    }
  }

  @Test func pagingCanBeIgnoredWhereItIsNotRecorded() async throws {
    try await run(ignoresPaging: true) { bench async throws in
      #expect(try await bench.get("/bare?per_page=100&page=2").status == 200)
      #expect(try await bench.get("/bare?x=1").status == 404)
    }
  }

  @Test func redirectsLeadToTheSimulator() async throws {
    try await run { bench async throws in
      let answer = try await bench.get("/old")
      #expect(answer.status == 301)
      #expect(answer.fields[.location] == "\(bench.simulator.baseURL)/repositories/1")
    }
  }

  @Test func recordingsOfOnePathComeOneAfterTheOther() async throws {
    try await run { bench async throws in
      var statuses: [Int] = []
      for _ in 0..<3 { statuses.append(try await bench.get("/twice").status) }
      #expect(statuses == [503, 200, 200])
    }
  }

  @Test func nothingIsMadeUp() async throws {
    try await run { bench async throws in
      #expect(try await bench.get("/users/octocat").status == 404)
      #expect(bench.simulator.count("/users/octocat", status: 404) == 1)
    }
  }

  @Test(arguments: [
    "", "{}", "[1]", #"[{"path":"/a"}]"#, #"[{"path":"a","status":200}]"#, #"[{"path":"/a","status":99}]"#,
  ])
  func brokenDocumentsAreRefused(text: String) {
    #expect(throws: Replay.Invalid.self) { try Replay(Array(text.utf8)) }
  }

  private static let recorded = getenv("MAGPIE_RECORDED").map { String(cString: $0) } ?? "../shared/recorded"

  @Test(.enabled(if: access("\(Self.recorded)/github.json", R_OK) == 0))
  func realRecordingsAreServed() async throws {
    let file = try #require(fopen("\(Self.recorded)/github.json", "r"))
    defer { fclose(file) }
    var document = [UInt8](repeating: 0, count: 8 << 20)
    document.removeLast(document.count - fread(&document, 1, document.count, file))
    let replay = try Replay(document)
    try await Bench.run(configure: { $0.replay = replay }) { bench async throws in
      let user = try await bench.get("/user/583231")
      #expect(user.status == 200)
      #expect(try user.json()["login"]?.string == "octocat")
      #expect(try await bench.get("/users/person-15/followers").ids().first == 73514)
      #expect(try await bench.get("/repos/person-17/Phishing-Detection").status == 301)
    }
  }
}
