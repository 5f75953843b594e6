import EventLoop
import HTTP
import Testing

@testable import HTTPClient

@Suite struct HostileServerTests {
  /// What a request comes to when it must not come to an answer.
  private func failure(
    _ script: @escaping RawServer.Script, maxBytes: Int = 1000, timeout: Duration = .seconds(10),
    configure: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) async throws -> HTTPClient.Failure? {
    try await Bench.run(script, configure: configure) { bench async throws in
      do {
        let response = try await bench.send(.init(.get, bench.url, maxBytes: maxBytes, timeout: timeout))
        Issue.record("answered \(response.status.code) with \(response.body.count) bytes")
        return nil
      } catch {
        return error as? HTTPClient.Failure
      }
    }
  }

  @Test func bodyShorterThanAnnouncedIsAFailure() async throws {
    let script = Bench.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n[1,2]")
    #expect(try await failure(script) == .truncated)
  }

  @Test func chunkedBodyWithoutItsEndIsAFailure() async throws {
    let script = Bench.answeringOnce("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,2]\r\n")
    #expect(try await failure(script) == .truncated)
  }

  @Test func resetInMidBodyIsAFailure() async throws {
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n[1,2]")
      connection.reset()
    }
    let failure = try await failure(script)
    #expect(failure == .connectionLost || failure == .truncated)
  }

  @Test func closingWithoutAnAnswerIsAFailure() async throws {
    #expect(try await failure(Bench.answeringOnce("")) == .connectionLost)
  }

  @Test func announcedBodyOverTheLimitIsRefused() async throws {
    let body = String(repeating: "x", count: 1001)
    let script = Bench.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n\(body)")
    #expect(try await failure(script) == .tooLarge)
  }

  @Test(arguments: ["3E8", "3E9"])
  func unannouncedBodyIsCounted(size: String) async throws {
    let count = try #require(Int(size, radix: 16))
    let chunk = String(repeating: "x", count: count)
    let script = Bench.answeringOnce(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(chunk)\r\n0\r\n\r\n")
    if count == 1000 {
      let body = try await Bench.run(script) { try await $0.send(.init(.get, $0.url, maxBytes: 1000)).body }
      #expect(body.count == 1000)
    } else {
      #expect(try await failure(script) == .tooLarge)
    }
  }

  @Test func endlessBodyEndsAtTheLimit() async throws {
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      try await connection.send("HTTP/1.1 200 OK\r\n\r\n")
      let piece = [UInt8](repeating: 0x20, count: 65536)
      while true { try await connection.send(piece) }
    }
    #expect(try await failure(script, maxBytes: 1_000_000) == .tooLarge)
  }

  @Test func endlessHeaderEndsAtTheLimit() async throws {
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      try await connection.send("HTTP/1.1 200 OK\r\n")
      while true { try await connection.send("X-Filler: \(String(repeating: "y", count: 1000))\r\n") }
    }
    #expect(try await failure(script) == .tooLarge)
  }

  @Test func endlessInterimAnswersEndAtTheLimit() async throws {
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      while true { try await connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") }
    }
    #expect(try await failure(script) == .tooLarge)
  }

  @Test func answerWithoutAHeadIsRefused() async throws {
    #expect(try await failure(Bench.answeringOnce("<html>hello</html>")) == .invalidAnswer)
  }

  @Test func silenceEndsWithTheTimeout() async throws {
    let gone = Record<Bool>()
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      await connection.peerClosed()
      await gone.append(true)
    }
    try await Bench.run(script) { bench async throws in
      await #expect(throws: HTTPClient.Failure.timedOut) {
        try await bench.send(.init(.get, bench.url, timeout: .milliseconds(50)))
      }
      #expect(await gone.wait(for: 1) == [true])  // the connection is closed, too
    }
  }

  @Test func trickleEndsLongBeforeTheTimeout() async throws {
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n[")
      await connection.peerClosed()
    }
    let start = System.monotonicNanoseconds()
    #expect(try await failure(script, timeout: .seconds(60)) { $0.lowSpeedSeconds = 1 } == .timedOut)
    #expect(System.monotonicNanoseconds() - start < 20_000_000_000)
  }

  @Test func slowThinkingIsNotATrickle() async throws {
    let loops = Record<EventLoop>()
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      try await loops.elements[0].sleep(for: .milliseconds(2500))
      try await connection.send(ExchangeTests.ok)
    }
    try await Bench.run(script, configure: { $0.lowSpeedSeconds = 1 }) { bench async throws in
      await loops.append(bench.loop)
      #expect(try await bench.get().status.code == 200)
    }
  }

  @Test func failureOfOneTransferLeavesTheOthersAlone() async throws {
    let script: RawServer.Script = { connection in
      let line = try await connection.request().head[0]
      try await connection.send(
        line.hasPrefix("GET /cut") ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx" : ExchangeTests.ok)
    }
    try await Bench.run(script) { bench async throws in
      async let good = bench.get("/good")
      await #expect(throws: HTTPClient.Failure.truncated) { try await bench.get("/cut") }
      #expect(try await good.status.code == 200)
      #expect(try await bench.get("/good").status.code == 200)
    }
  }
}
