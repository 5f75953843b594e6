import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// Recorded answers of the real GitHub about repositories, gists and organizations pass through unharmed. Runs where a
/// recording is at hand.
@Suite struct RecordedRepositoryTests {
  private static let recording = RecordedTests.recording

  private static func body(_ path: String) throws -> JSONView {
    let items = try JSONView(try #require(recording)).elements
    let exchange = try #require(items.first { $0["path"]?.string == path && $0["status"]?.int == 200 }, "\(path)")
    let body = try #require(exchange["body"])
    return try body.string.map { try JSONView(Array($0.utf8)) } ?? body
  }

  /// The recording, with good profiles in place of those that were recorded as refused.
  private static func options(profileOf login: String? = nil) throws -> TestWorld.Options {
    var items = try JSONView(try #require(recording)).elements.map { $0 }
    if let login { items.removeAll { $0["path"]?.string == "/users/\(login)" } }
    var texts = items.map { String(decoding: $0.bytes, as: UTF8.self) }
    if let login {
      texts.append(#"{"path":"/users/\#(login)","status":200,"headers":{},"body":{"id":4711,"login":"\#(login)"}}"#)
    }
    var options = TestWorld.Options()
    options.simulator.replay = try Replay(Array("[\(texts.joined(separator: ","))]".utf8), ignoresPaging: true)
    return options
  }

  /// Compares value by value, in order, text for text; addresses lead to this server.
  private static func expect(
    _ served: JSONView, like recorded: JSONView, _ base: String, _ place: String, isAddress: Bool = false
  ) {
    let upstream = "https://api.github.com"
    switch recorded.kind {
    case .object:
      let wanted = recorded.members.filter { $0.key != "temp_clone_token" }
      let found = served.members.filter { $0.key != "magpie" }
      #expect(found.map(\.key) == wanted.map(\.key), "\(place)")
      for (found, wanted) in zip(found, wanted) {
        expect(
          found.value, like: wanted.value, base, "\(place)/\(wanted.key)",
          isAddress: wanted.key == "url" || wanted.key.hasSuffix("_url"))
      }
    case .array:
      let (found, wanted) = (Array(served.elements), Array(recorded.elements))
      #expect(found.count == wanted.count, "\(place)")
      for (index, (found, wanted)) in zip(found, wanted).enumerated() {
        expect(found, like: wanted, base, "\(place)/\(index)")
      }
    default:
      if isAddress, let text = recorded.string, text.hasPrefix(upstream) {
        #expect(served.string == "\(base)/github" + text.dropFirst(upstream.count), "\(place)")
      } else {
        #expect(served.bytes == recorded.bytes, "\(place)")
      }
    }
  }

  @Test(
    .enabled(if: recording != nil),
    arguments: [
      "/users/person-15/repos?type=owner&sort=created&direction=asc", "/users/person-15/gists",
      "/users/person-15/orgs",
    ])
  func listsPassThrough(path: String) async throws {
    try await TestWorld.run(try Self.options(profileOf: "person-15")) { world in
      let token = try await world.token()
      let separator = path.contains("?") ? "&" : "?"
      let answer = try await world.get("/github\(path)\(separator)per_page=100", as: token)
      #expect(answer.status == 200, "\(answer.text)")
      let served = try answer.json
      #expect(served.elements.contains { _ in true })
      #expect(served.elements.allSatisfy { $0["magpie"]?["favorite"]?.bool == false })
      Self.expect(served, like: try Self.body(path), world.servers[0].baseURL, path)
    }
  }

  @Test(.enabled(if: recording != nil)) func recordsLanguagesAndCommitsPassThrough() async throws {
    try await TestWorld.run(try Self.options()) { world in
      let token = try await world.token()
      let base = world.servers[0].baseURL
      for path in [
        "/repos/PyGithub/PyGithub", "/repos/PyGithub/PyGithub/languages",
        "/repos/PyGithub/PyGithub/commits?sha=release-v2-0&per_page=2", "/repositories/146139403",
      ] {
        let answer = try await world.get("/github\(path)", as: token)
        #expect(answer.status == 200, "\(path) \(answer.text)")
        Self.expect(try answer.json, like: try Self.body(path), base, path)
      }
      let commits = try await world.get(
        "/github/repos/PyGithub/PyGithub/commits?per_page=2&sha=release-v2-0", as: token)
      #expect(
        commits.links["last"] == "\(base)/github/repositories/3544490/commits?per_page=2&sha=release-v2-0&page=1044")
    }
  }

  @Test(.enabled(if: recording != nil)) func redirectsAndRefusalsPassThrough() async throws {
    try await TestWorld.run(try Self.options()) { world in
      let token = try await world.token()
      let moved = try await world.get("/github/repos/person-17/Phishing-Detection", as: token)
      #expect(moved.status == 301 && moved[.location] == "\(world.servers[0].baseURL)/github/repositories/146139403")
      #expect(try moved.json["message"]?.string == "Moved Permanently")
      let there = try await world.get(try #require(moved[.location]), as: token)
      Self.expect(
        try there.json, like: try Self.body("/repositories/146139403"), world.servers[0].baseURL, "/repositories")
      let missing = try await world.get("/github/repos/random/vulnerability-alerts", as: token)
      #expect(try missing.status == 404 && missing.json["message"]?.string == "Not Found")
    }
  }
}
