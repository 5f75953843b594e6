import Glibc
import HTTP
import Testing
import TestSupport

/// Clients that send what they should not.
@Suite(.timeLimit(.minutes(5)))
struct HostileClientTests {
  @Test func `garbage, halves and too much get a clear answer each, and nobody else notices`() async throws {
    try await Site.with { site async throws in
      let database = try await site.database()
      let server = try await site.serve(["--no-worker"], ["DATABASE_URL": database, "MAGPIE_ECHO": "on"])
      let url = server.api.url
      let visitor = server.api.account(try await site.token("alice", database))
      let host = "Host: localhost\r\nConnection: close\r\n"
      let tooMuch = [UInt8](repeating: 0x61, count: (1 << 20) + 1)
      var random = SystemRandomNumberGenerator()
      let noise = (0..<4096).map { _ in UInt8.random(in: 0x80...0xFF, using: &random) }
      let cases: [(name: String, bytes: [UInt8], finishes: Bool, answer: String)] = [
        ("noise", noise, true, "HTTP/1.1 400 "),
        ("TLS", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03, 0x0D, 0x0A], true, "HTTP/1.1 400 "),
        ("HTTP/2", Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8), false, "HTTP/1.1 505 "),
        ("half a line", Array("GET /v1/ver".utf8), true, ""),
        ("half a head", Array("GET /v1/version HTTP/1.1\r\nHost: loc".utf8), true, ""),
        (
          "half a body", Array("POST /_echo HTTP/1.1\r\n\(host)Content-Length: 10\r\n\r\nhalf".utf8), true,
          "HTTP/1.1 400 "
        ),
        (
          "half a chunk", Array("POST /_echo HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nff\r\nhalf".utf8),
          true, "HTTP/1.1 400 "
        ),
        (
          "announced", Array("POST /_echo HTTP/1.1\r\n\(host)Content-Length: 1048577\r\n\r\n".utf8), false,
          "HTTP/1.1 413 "
        ),
        (
          "sent", Array("POST /_echo HTTP/1.1\r\n\(host)Content-Length: 1048577\r\n\r\n".utf8) + tooMuch, false,
          "HTTP/1.1 413 "
        ),
        (
          "in chunks",
          Array("POST /_echo HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n100001\r\n".utf8) + tooMuch
            + Array("\r\n0\r\n\r\n".utf8),
          false, "HTTP/1.1 413 "
        ),
        (
          "a long line", Array("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\n\(host)\r\n".utf8), false,
          "HTTP/1.1 414 "
        ),
        ("a NUL", Array("GET /github/users/a%00b HTTP/1.1\r\n\(host)\r\n".utf8), false, "HTTP/1.1 400 "),
      ]
      try await withThrowingTaskGroup { group in
        for entry in cases {
          group.addTask {
            let answer = try await RawConnection.exchange(url, entry.bytes, finishes: entry.finishes)
            #expect(answer.hasPrefix(entry.answer), "\(entry.name): \(answer.prefix(60))")
            if entry.answer.isEmpty { #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(entry.name)") }
          }
        }
        for _ in 0..<20 {
          group.addTask {
            let answer = try await visitor.get("/v1/favorites")
            #expect(answer.status == 200)
          }
        }
        try await group.waitForAll()
      }
      // One byte less is taken.
      let fits = try await visitor.send(.post, "/_echo", body: String(repeating: "a", count: 1 << 20))
      #expect(fits.status == 200)
      #expect(fits.body.count == 1 << 20)
      try await eventually { try await server.metric("magpie_requests_in_flight") == 0 }
      #expect(server.program.end == nil)
    }
  }

  @Test func `values that cannot be are refused, each in its own way`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:10"])
      let database = try await site.database()
      let server = try await site.serve([], ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url])
      let visitor = server.api.account(try await site.token("alice", database))
      #expect(try await visitor.get("/github/users/octocat/followers").status == 200)
      // The list has no links that would name its owner.
      let known = ["/users/octocat/followers?per_page=100", "/users/octocat"]
      #expect(try await simulator.requests("/**") == known)
      let cases: [(String, Int)] = [
        ("/github/users/a%2Fb", 404), ("/github/users/..%2Fv1", 404), ("/github/users/a.b", 404),
        ("/github/users/\(String(repeating: "a", count: 61))", 404), ("/github/user/0", 404), ("/github/user/-1", 404),
        ("/github/user/abc", 404), ("/github/user/99999999999999999999", 404), ("/github/users/%zz", 400),
        ("/github/users/octocat/followers?per_page=0", 422), ("/github/users/octocat/followers?per_page=-1", 422),
        ("/github/users/octocat/followers?per_page=abc", 422), ("/github/users/octocat/followers?per_page=1e9", 422),
        ("/github/users/octocat/followers?per_page=1000", 200),
        ("/github/users/octocat/followers?page=1000000000", 200),
        ("/github/users/octocat/followers?cursor=forged", 400),
        ("/github/users/octocat/followers?q=%00", 400), ("/v1/favorites?cursor=AAAA", 400),
        ("/v1/favorites?kind=x", 422),
        ("/v1/favorites/github-user/abc", 404), ("/v1/jobs/x", 404), ("/v1/jobs/9223372036854775807", 404),
        ("/nowhere", 404),
      ]
      for (path, status) in cases {
        let answer = try await visitor.get(path, ["Prefer": "wait=0"])
        #expect(answer.status == status, "\(path): \(answer.text.prefix(200))")
        if status >= 400 {
          #expect(answer.fields["Content-Type"]?.hasPrefix("application/problem+json") == true, "\(path)")
        }
      }
      for token in ["mgp_", "x", "mgp_\(String(repeating: "0", count: 36))", String(repeating: "a", count: 4000)] {
        let answer = try await server.api.account(token).get("/v1/favorites")
        #expect(answer.status == 401)
        #expect(answer.fields["WWW-Authenticate"] != nil)
      }
      #expect(try await visitor.send(.delete, "/github/users/octocat").status == 405)
      // None of this has reached the upstream.
      #expect(try await simulator.requests("/**") == known)
    }
  }
}
