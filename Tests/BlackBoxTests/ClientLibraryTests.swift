import Glibc
import TestSupport
import Testing

/// Other people's clients of GitHub, unmodified: only their base URL leads to Magpie.
@Suite(.timeLimit(.minutes(5)))
struct ClientLibraryTests {
  /// Made by `make need-clients`, which `make test` does first.
  private static let python = "\(root)/Tests/Clients/.venv/bin/python"

  private static let root: String = {
    let file = #filePath
    return String(file[..<(file.firstRange(of: "/Tests/BlackBoxTests/")?.lowerBound ?? file.startIndex)])
  }()

  @Test(arguments: ["use_pygithub.py", "use_github3.py"])
  func `a client of GitHub works with another base URL`(script: String) async throws {
    try #require(access(Self.python, X_OK) == 0, "the clients are not installed: make need-clients")
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:2350:230", "--user", "octopus:1"])
      try await simulator.command("users", #"{"login":"builder","repositories":12}"#)
      let database = try await site.database()
      let server = try await site.serve(
        [],
        [
          "DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url, "MAGPIE_GITHUB_TOKENS": "token-1",
        ])
      let token = try await site.token("alice", database)
      let client = try site.run(
        Self.python, ["\(Self.root)/Tests/Clients/\(script)", "\(server.api.url)/github", "2350", "230"],
        ["MAGPIE_TOKEN": token, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"])
      let end = try await client.waitForEnd(within: .seconds(120))
      #expect(end == .exit(0), "\(client.log)")
      #expect(client.output == "all well\n")
    }
  }
}
