import Glibc
import TestSupport
import Testing

/// Other people's programs, unmodified, with photos and GIFs.
@Suite(.timeLimit(.minutes(5)))
struct MediaClientTests {
  private static let key = "CanaryKeyOfGiphy0000000000000003"

  private func run(_ script: String, _ arguments: @Sendable @escaping (String) -> [String]) async throws {
    try #require(access(Clients.python, X_OK) == 0, "the clients are not installed: make need-clients")
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--giphy-key", Self.key, "--giphy-limit", "1000"])
      let database = try await site.database()
      let server = try await site.serve(
        [],
        [
          "DATABASE_URL": database, "MAGPIE_PHOTOS_URL": simulator.peer.url, "MAGPIE_GIPHY_URL": simulator.peer.url,
          "MAGPIE_GIPHY_KEY": Self.key, "MAGPIE_GIPHY_LIMIT": "1000",
        ])
      let token = try await site.token("alice", database)
      let client = try site.run(
        Clients.python, ["\(Clients.root)/Tests/Clients/\(script)"] + arguments(server.api.url),
        ["MAGPIE_TOKEN": token, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"])
      let end = try await client.waitForEnd(within: .seconds(240))
      #expect(end == .exit(0), "\(client.log)")
      #expect(client.output == "all well\n")
      #expect(!server.program.log.contains(token), "a query in the log")
    }
  }

  @Test func `GIPHY's client reads everything, to the last page`() async throws {
    try await run("use_giphy_client.py") { ["\($0)/giphy"] }
  }

  @Test func `every picture of five thousand photos can be decoded`() async throws {
    try await run("use_pillow.py") { ["\($0)/jsonplaceholder", "5000"] }
  }
}

/// Programs made by `make need-clients`, which `make test` does first.
enum Clients {
  static let python = "\(root)/Tests/Clients/.venv/bin/python"

  static let root: String = {
    let file = #filePath
    return String(file[..<(file.firstRange(of: "/Tests/BlackBoxTests/")?.lowerBound ?? file.startIndex)])
  }()
}
