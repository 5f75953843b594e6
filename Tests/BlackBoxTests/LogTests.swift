import EventLoop
import Glibc
import HTTP
import JSONText
import TestSupport
import Testing

/// What a line of the log tells of a request.
@Suite(.timeLimit(.minutes(5)))
struct LogTests {
  @Test func `the line of a request names whose it was`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:30"])
      let database = try await site.database()
      let server = try await site.serve([], ["DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url])
      var tokens: [String] = []
      for name in ["alice", "bob"] { tokens.append(try await site.token(name, database)) }
      let ids = try await column(Int64.self, "SELECT id FROM magpie.account ORDER BY username", of: database)
      try #require(ids.count == 2)

      for (token, id) in zip(tokens, ids) {
        let visitor = server.api.account(token)
        for _ in 0..<2 {
          let list = try await visitor.get("/github/users/octocat/followers", ["X-Request-Id": "list-\(id)"])
          #expect(list.status == 200)
        }
        #expect(try await visitor.get("/v1/favorites", ["X-Request-Id": "favorites-\(id)"]).status == 200)
        #expect(try await visitor.get("/v1/nowhere", ["X-Request-Id": "nothing-\(id)"]).status == 404)
        #expect(try await visitor.get("/v1/jobs/999999", ["X-Request-Id": "foreign-\(id)"]).status == 404)
        #expect(
          try await server.api.get("/giphy/v1/gifs/trending?api_key=\(token)", ["X-Request-Id": "gifs-\(id)"]).status
            == 503)
      }
      #expect(try await server.api.get("/v1/favorites", ["X-Request-Id": "stranger"]).status == 401)
      #expect(
        try await server.api.account("mgp_\(String(repeating: "a", count: 36))").get(
          "/v1/favorites", ["X-Request-Id": "shapeless"]
        ).status == 401)
      server.program.signal(SIGTERM)
      #expect(try await server.program.waitForEnd() == .exit(0))

      var accounts: [String: Set<Int64?>] = [:]
      for line in server.program.log.split(separator: "\n") {
        guard let line = try? JSONView(Array(line.utf8)), line["event"]?.string == "request",
          let id = line["id"]?.string
        else { continue }
        accounts[id, default: []].insert(line["account"]?.int)
      }
      for id in ids {
        for name in ["list", "favorites", "foreign", "gifs"] { #expect(accounts["\(name)-\(id)"] == [id], "\(name)") }
        // No route, so that nobody has looked whose it was.
        #expect(accounts["nothing-\(id)"] == [nil])
      }
      #expect(accounts["stranger"] == [nil])
      #expect(accounts["shapeless"] == [nil])
    }
  }

  /// A pipe that takes 64 KiB, and nobody who reads it unless asked to.
  private struct Pipe {
    let path: String
    let descriptor: Int32

    init(_ path: String) throws {
      self.path = path
      try #require(mkfifo(path, 0o600) == 0)
      descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      try #require(descriptor >= 0)
    }

    /// Whatever is there now.
    func read() -> [UInt8] {
      var all: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count <= 0 { return all }
        all += buffer[..<count]
      }
    }
  }

  /// A server that logs into the pipe, after as many requests as make `bytes` of lines.
  private func flooded(_ site: Site, _ pipe: Pipe, bytes: Int) async throws -> Service {
    var environment = Site.settings
    environment["DATABASE_URL"] = try await site.database()
    environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    let program = try site.run(
      "/bin/sh", ["-c", "exec \"$0\" serve 2>\"$1\"", Site.built("magpie"), pipe.path], environment)
    let server = try await site.ready(program)
    // No line has fewer bytes than 120, and as many requests at once wait in no buffer's way.
    let request = "GET /nowhere HTTP/1.1\r\nHost: a\r\n"
    let batch = String(repeating: request + "\r\n", count: 499) + request + "Connection: close\r\n\r\n"
    for _ in 0...(bytes / 120 / 500) {
      let answers = try await RawConnection.exchange(server.api.url, Array(batch.utf8))
      #expect(answers.hasPrefix("HTTP/1.1 404"))
    }
    return server
  }

  @Test func `a log that nobody reads does not hold up the end`() async throws {
    try await Site.with { site async throws in
      let pipe = try Pipe("\(site.directory)/log")
      defer { close(pipe.descriptor) }
      let server = try await flooded(site, pipe, bytes: 1 << 17)
      server.program.signal(SIGTERM)
      #expect(try await server.program.waitForEnd() == .exit(0))
      // It has come to a stop in the middle of the lines.
      #expect(!String(decoding: pipe.read(), as: UTF8.self).contains("\"ended\""))
    }
  }

  @Test func `lines that were too many are counted in a line like the others`() async throws {
    try await Site.with { site async throws in
      let pipe = try Pipe("\(site.directory)/log")
      defer { close(pipe.descriptor) }
      let server = try await flooded(site, pipe, bytes: 3 << 20)
      server.program.signal(SIGTERM)
      let log = Lock<[UInt8]>([])
      try await eventually {
        log.withLock { $0 += pipe.read() }
        return server.program.end != nil
      }
      #expect(server.program.end == .exit(0))
      let lines = (log.withLock { $0 } + pipe.read()).split(separator: UInt8(ascii: "\n"))
      let events = lines.map { (try? JSONView(Array($0)))?["event"]?.string }
      #expect(!events.contains(nil))
      #expect(events.contains("log lines dropped") && events.last == "ended")
    }
  }
}
