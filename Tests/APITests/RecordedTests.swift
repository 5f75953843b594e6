import Glibc
import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// Recorded answers of the real GitHub pass through unharmed. Runs where a recording is at hand.
@Suite struct RecordedTests {
  static let recording: [UInt8]? = {
    let path = getenv("MAGPIE_RECORDED").map { String(cString: $0) } ?? "../shared/recorded"
    for name in [path, "\(path)/github.json"] {
      guard let file = fopen(name, "re") else { continue }
      defer { fclose(file) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
      if !bytes.isEmpty { return bytes }
    }
    return nil
  }()

  private struct Exchange {
    let path: String
    let status: Int
    let body: JSONView
  }

  private static var exchanges: [Exchange] {
    get throws {
      try JSONView(recording ?? Array("[]".utf8)).elements.compactMap { item in
        let path = try #require(item["path"]?.string)
        let parts = path.prefix { $0 != "?" }.split(separator: "/")
        let isOfThisAPI =
          parts.first == "users" && (parts.count == 2 || parts.count == 3 && parts[2] == "followers")
          || parts.first == "user" && parts.count == 2
        guard isOfThisAPI else { return nil }
        let text = item["body"]?.string
        let body = try text.flatMap { try? JSONView(Array($0.utf8)) } ?? #require(item["body"])
        return Exchange(path: path, status: Int(try #require(item["status"]?.int)), body: body)
      }
    }
  }

  /// Members that are only for the token's own user.
  private static let hidden: Set<String> = [
    "plan", "private_gists", "total_private_repos", "owned_private_repos", "disk_usage", "collaborators",
    "two_factor_authentication", "business_plus", "ldap_dn", "notification_email",
  ]

  /// Compares member by member, in order, text for text.
  private static func expect(_ served: JSONView, like recorded: JSONView, _ base: String, _ path: String) {
    let wanted = recorded.members.filter { !hidden.contains($0.key) }
    let found = served.members.filter { $0.key != "magpie" }
    #expect(found.map(\.key) == wanted.map(\.key), "\(path)")
    for (found, wanted) in zip(found, wanted) {
      let upstream = "https://api.github.com"
      if let text = wanted.value.string, text.hasPrefix(upstream) {
        #expect(found.value.string == "\(base)/github" + text.dropFirst(upstream.count), "\(path) \(wanted.key)")
      } else {
        #expect(found.value.bytes == wanted.value.bytes, "\(path) \(wanted.key)")
      }
    }
  }

  @Test(.enabled(if: recording != nil)) func answersPassThrough() async throws {
    var options = TestWorld.Options()
    options.simulator.replay = try Replay(try #require(Self.recording), ignoresPaging: true)
    try await TestWorld.run(options) { world async throws in
      let token = try await world.token()
      let base = world.servers[0].baseURL
      let good = try Self.exchanges.filter { $0.status == 200 }
      #expect(good.count >= 5)
      // A follower list without links asks for its owner's profile, which may be recorded as refused.
      for exchange in good where !exchange.path.contains("/followers") {
        let answer = try await world.get("/github\(exchange.path)", as: token)
        #expect(answer.status == 200, "\(exchange.path): \(answer.text)")
        let served = try answer.json
        #expect(served["magpie"]?["favorite"]?.bool == false)
        Self.expect(served, like: exchange.body, base, exchange.path)
      }
    }
  }

  @Test(.enabled(if: recording != nil)) func listsPassThrough() async throws {
    for exchange in try Self.exchanges where exchange.status == 200 && exchange.path.contains("/followers") {
      let login = exchange.path.split(separator: "/")[1]
      // The recording has no profile of the owner that is good; whoever reads a list without links needs one.
      let profile =
        #"{"path": "/users/\#(login)", "status": 200, "headers": {}, "body": {"id": 4711, "login": "\#(login)"}}"#
      let others = try JSONView(try #require(Self.recording)).elements
        .filter { $0["path"]?.string != "/users/\(login)" }
        .map { String(decoding: $0.bytes, as: UTF8.self) }
      var options = TestWorld.Options()
      let document = "[" + (others + [profile]).joined(separator: ",") + "]"
      options.simulator.replay = try Replay(Array(document.utf8), ignoresPaging: true)
      try await TestWorld.run(options) { world async throws in
        let token = try await world.token()
        let answer = try await world.get("/github\(exchange.path)?per_page=100", as: token)
        #expect(answer.status == 200, "\(answer.text)")
        let served = try Array(answer.json.elements)
        let recorded = Array(exchange.body.elements)
        #expect(served.count == recorded.count && !recorded.isEmpty)
        for (served, recorded) in zip(served, recorded) {
          Self.expect(served, like: recorded, world.servers[0].baseURL, exchange.path)
        }
      }
    }
  }

  @Test(.enabled(if: recording != nil)) func refusalsAreClassified() async throws {
    let refused = try Self.exchanges.filter { $0.status >= 400 }
    #expect(!refused.isEmpty)
    for exchange in refused {
      let only = try JSONView(try #require(Self.recording)).elements.filter {
        $0["path"]?.string == exchange.path && $0["status"]?.int == Int64(exchange.status)
      }
      let document = "[" + only.map { String(decoding: $0.bytes, as: UTF8.self) }.joined(separator: ",") + "]"
      var options = TestWorld.Options()
      options.simulator.replay = try Replay(Array(document.utf8))
      try await TestWorld.run(options) { world async throws in
        let token = try await world.token()
        let answer = try await world.get("/github\(exchange.path)", as: token)
        switch exchange.status {
        case 404: #expect(answer.status == 404 && answer.code == "github/user-not-found")
        case 403, 429: #expect(answer.status == 503 && answer.code?.hasPrefix("upstream/") == true)
        default: #expect(answer.status == 503 && answer.code == "upstream/offline")
        }
        #expect(!answer.text.contains("203.0.113") && !answer.text.contains("<html>"))
        #expect(try await world.value("SELECT count(*) FROM magpie.github_user") == Int64(0))
      }
    }
  }
}
