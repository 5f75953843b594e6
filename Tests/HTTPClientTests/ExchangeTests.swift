import EventLoop
import HTTP
import Testing

@testable import HTTPClient

@Suite struct ExchangeTests {
  static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  @Test func answerHasStatusFieldsInOrderAndBody() async throws {
    let script = Bench.answering(
      "HTTP/1.1 404 Not Found\r\nETag: W/\"a\"\r\nVary: Accept\r\nvary:  Origin \r\nContent-Length: 4\r\n\r\nnope")
    try await Bench.run(script) { bench async throws in
      let response = try await bench.get()
      #expect(response.status.code == 404)
      #expect(
        response.fields.map { "\($0.name)=\($0.value)".lowercased() }
          == ["etag=w/\"a\"", "vary=accept", "vary=origin", "content-length=4"])
      #expect(response.body == Array("nope".utf8))
    }
  }

  @Test func requestSaysOnlyWhatTheCallerSays() async throws {
    let heads = Record<[String]>()
    let script: RawServer.Script = { connection in
      await heads.append(try await connection.request().head)
      try await connection.send(ExchangeTests.ok)
    }
    try await Bench.run(script) { bench async throws in
      var fields = Fields()
      fields.append("Accept", "application/vnd.github+json")
      fields.append("X-Empty", "")
      _ = try await bench.send(.init(.get, bench.url + "/users/a%5Bbot%5D?per_page=100&page=2", fields: fields))
      #expect(
        await heads.elements == [
          [
            "GET /users/a%5Bbot%5D?per_page=100&page=2 HTTP/1.1", "Host: \(bench.server.address)",
            "Accept: application/vnd.github+json", "X-Empty:", "User-Agent: Bench/1.0",
          ]
        ])
    }
  }

  @Test func callersUserAgentWins() async throws {
    let heads = Record<[String]>()
    let script: RawServer.Script = { connection in
      await heads.append(try await connection.request().head)
      try await connection.send(ExchangeTests.ok)
    }
    try await Bench.run(script) { bench async throws in
      var fields = Fields()
      fields.append("User-Agent", "Other/2")
      _ = try await bench.send(.init(.get, bench.url, fields: fields))
      let head = try #require(await heads.elements.first)
      #expect(head.filter { $0.hasPrefix("User-Agent") } == ["User-Agent: Other/2"])
    }
  }

  @Test func bodyIsSentWithItsLengthAndNothingElse() async throws {
    let requests = Record<[String]>()
    let script: RawServer.Script = { connection in
      let request = try await connection.request()
      await requests.append(request.head + [request.body])
      try await connection.send(ExchangeTests.ok)
    }
    try await Bench.run(script) { bench async throws in
      _ = try await bench.send(.init(.post, bench.url + "/p", body: Array("{\"a\":1}".utf8)))
      _ = try await bench.send(.init(.put, bench.url + "/q"))
      let host = "Host: \(bench.server.address)"
      #expect(
        await requests.elements == [
          ["POST /p HTTP/1.1", host, "Accept: */*", "User-Agent: Bench/1.0", "Content-Length: 7", "{\"a\":1}"],
          ["PUT /q HTTP/1.1", host, "Accept: */*", "User-Agent: Bench/1.0", "Content-Length: 0", ""],
        ])
    }
  }

  @Test func headAnswerHasNoBodyWhateverItsLengthSays() async throws {
    let script = Bench.answering("HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n")
    try await Bench.run(script) { bench async throws in
      let response = try await bench.send(.init(.head, bench.url))
      #expect(response.status.code == 200)
      #expect(response.body == [])
    }
  }

  @Test func redirectIsAnAnswerAndNotFollowed() async throws {
    let lines = Record<String>()
    let script: RawServer.Script = { connection in
      while true {
        await lines.append(try await connection.request().head[0])
        try await connection.send("HTTP/1.1 301 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
      }
    }
    try await Bench.run(script) { bench async throws in
      let response = try await bench.get("/old")
      #expect(response.status.code == 301)
      #expect(await lines.elements == ["GET /old HTTP/1.1"])
    }
  }

  @Test func connectionIsUsedAgain() async throws {
    try await Bench.run(Bench.answering(Self.ok)) { bench async throws in
      for _ in 0..<5 { #expect(try await bench.get().body == Array("ok".utf8)) }
      #expect(try await bench.accepted() == 1)
    }
  }

  @Test func requestOnAConnectionClosedMeanwhileGoesOverANewOne() async throws {
    try await Bench.run(Bench.answeringOnce(Self.ok)) { bench async throws in
      for _ in 0..<3 { #expect(try await bench.get().status.code == 200) }
      #expect(try await bench.accepted() == 3)
    }
  }

  @Test func manyTransfersRunAtOnce() async throws {
    let arrived = Record<Int>()
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      await arrived.append(1)
      _ = await arrived.wait(for: 20)  // none is answered before all are there
      try await connection.send(ExchangeTests.ok)
    }
    try await Bench.run(script) { bench async throws in
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 { group.addTask { try await bench.get().status.code } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: 200, count: 20))
      #expect(try await bench.accepted() == 20)
    }
  }

  @Test func sendWorksFromOutsideTheLoop() async throws {
    try await Bench.run(Bench.answering(Self.ok)) { bench async throws in
      #expect(!bench.loop.isCurrent)
      #expect(try await bench.client.send(.init(.get, bench.url)).status.code == 200)
    }
  }

  @Test func notModifiedHasItsFieldsAndNoBody() async throws {
    let script = Bench.answering("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 5000\r\n\r\n")
    try await Bench.run(script) { bench async throws in
      for _ in 0..<2 {
        let response = try await bench.get()
        #expect(response.status.code == 304)
        #expect(response.body == [])
      }
      #expect(try await bench.accepted() == 1)
    }
  }

  @Test func compressedBodyIsLeftAsItCame() async throws {
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n")
      try await connection.send([0x1F, 0x8B, 0x00])
    }
    try await Bench.run(script) { bench async throws in
      #expect(try await bench.get().body == [0x1F, 0x8B, 0x00])
    }
  }
}
