import Glibc
import TestSupport
import Testing

/// Raw cases of HTTP/1.1, from a tool that lies beside the repository where there is one.
@Suite(.timeLimit(.minutes(5)))
struct ConformanceTests {
  private static let tool: String? = {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    let named = getenv("MAGPIE_HTTP_CASES").map { String(cString: $0) }
    return [named, root + "/../shared/tools/http-cases.py"].compactMap { $0 }.first { access($0, R_OK) == 0 }
  }()

  @Test(.enabled(if: tool != nil, "MAGPIE_HTTP_CASES names no file"))
  func `every raw case passes`() async throws {
    try await Site.with { site async throws in
      let server = try await site.serve(
        ["--no-worker"], ["DATABASE_URL": try await site.database(), "MAGPIE_ECHO": "on"])
      let port = try #require(server.api.url.split(separator: ":").last)
      let cases = try site.run(
        "/usr/bin/env",
        ["python3", try #require(Self.tool), "127.0.0.1", String(port), "--strict", "--body-path", "/_echo"],
        ["PATH": "/usr/local/bin:/usr/bin:/bin"])
      let end = try await cases.waitForEnd(within: .seconds(120))
      #expect(end == .exit(0), "\(cases.output)\(cases.log)")
      #expect(cases.output.contains(" passed, 0 failed"))
      // As the answers to such requests should be, the server is the same.
      #expect(try await server.api.get("/v1/version").status == 200)
      #expect(server.program.end == nil)
    }
  }
}
