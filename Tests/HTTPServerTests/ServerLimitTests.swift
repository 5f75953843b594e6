import EventLoop
import HTTP
import HTTPServer
import Synchronization
import Testing

@Suite struct ServerLimitTests {
  @Test func headThatDripsInIsRefusedWhenItsTimeIsOver() async throws {
    try await withServer(configure: { $0.headTimeout = .milliseconds(60) }, respond: echo) { server in
      let client = try TestClient(server)
      // Each byte would re-arm a deadline per read; this one is absolute.
      let dripping = Task.detached {
        for byte in String.request("GET /_echo", "X-Long: \(String(repeating: "x", count: 10_000))").utf8 {
          guard (try? await client.send([byte])) != nil else { return }
          try await Task.sleep(for: .milliseconds(5))
        }
      }
      let answer = try await client.answer()
      dripping.cancel()
      #expect(answer.status == 408)
      #expect(answer.fields[.connection] == "close")
    }
  }

  @Test func oneConnectionTooManyOfAPeerIsRefused() async throws {
    try await withServer(
      configure: { configuration in
        configuration.maxConnectionsPerPeer = 2
        configuration.countsPeer = { _ in true }
      }, respond: echo
    ) { server in
      func status(_ client: TestClient) async throws -> Int {
        try await client.send(.request("GET /"))
        return try await client.answer().status
      }
      let first = try TestClient(server)
      let second = try TestClient(server)
      #expect(try await status(first) == 404)
      #expect(try await status(second) == 404)
      let third = try TestClient(server)
      #expect(try await third.answer().status == 503)
      #expect(try await third.isClosed())
      // Who has gone leaves room for the next.
      try await first.send(.request("GET /", "Connection: close"))
      #expect(try await first.answer().status == 404)
      #expect(try await first.isClosed())
      while true {
        let next = try TestClient(server)
        if let answer = try? await status(next), answer == 404 { break }
      }
      #expect(try await status(second) == 404)
    }
  }

  @Test func bodyThatStopsIsRefused() async throws {
    try await withServer(configure: { $0.bodyIdleTimeout = .milliseconds(40) }, respond: echo) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /_echo", "Content-Length: 100", body: "hello"))
      #expect(try await client.answer().status == 408)
      #expect(try await client.isClosed())
    }
  }

  @Test func idleConnectionIsClosedWithoutAWord() async throws {
    try await withServer(configure: { $0.keepAliveTimeout = .milliseconds(40) }, respond: echo) { server in
      let fresh = try TestClient(server)
      #expect(try await fresh.isClosed())
      // Who sends the first request too late, on a busy machine, finds the connection closed and comes again.
      while true {
        let used = try TestClient(server)
        guard (try? await used.send(.request("GET /"))) != nil, let answer = try? await used.answer() else { continue }
        #expect(answer.status == 404)
        #expect(try await used.isClosed())
        break
      }
    }
  }

  @Test func clientThatTakesNothingIsCut() async throws {
    let ended = Signal()
    let complete = Atomic<Bool>(true)
    try await withServer(
      configure: { configuration in
        configuration.writeIdleTimeout = .milliseconds(40)
        configuration.observer.requestEnded = { report in
          complete.store(report.isComplete, ordering: .relaxed)
          ended.happen()
        }
      }, respond: { _ in Response(contentType: "text/plain", [UInt8](repeating: 0, count: 50_000_000)) }
    ) { server in
      let client = try TestClient(server, receiveBuffer: 4096)
      try await client.send(.request("GET /"))
      await ended.wait()
      let wasComplete = complete.load(ordering: .relaxed)
      #expect(!wasComplete)
      _ = client
    }
  }

  @Test func lastRequestOfAConnectionSaysSo() async throws {
    try await withServer(configure: { $0.maxRequestsPerConnection = 3 }, respond: echo) { server in
      let client = try TestClient(server)
      try await client.send((0..<4).map { _ in .request("GET /") }.joined())
      #expect(try await client.answer().fields[.connection] == nil)
      #expect(try await client.answer().fields[.connection] == nil)
      #expect(try await client.answer().fields[.connection] == "close")
      #expect(try await client.isClosed())
    }
  }

  @Test func oneRequestTooManyIsAnsweredBusy() async throws {
    let release = Signal()
    let entered = Signal()
    try await withServer(
      configure: { $0.maxRequestsInFlight = 1 },
      respond: { _ in
        entered.happen()
        await release.wait()
        return .text("done")
      }
    ) { server in
      let first = try TestClient(server)
      try await first.send(.request("GET /"))
      await entered.wait()
      let second = try TestClient(server)
      try await second.send(.request("GET /"))
      let busy = try await second.answer()
      #expect(busy.status == 503)
      #expect(busy.fields[.retryAfter] == "1")
      #expect(try await second.isClosed())
      #expect(server.requestsInFlight == 1)
      release.happen()
      #expect(try await first.answer().text == "done")
      let third = try TestClient(server)
      try await third.send(.request("GET /"))
      #expect(try await third.answer().status == 200)
    }
  }

  @Test func oneConnectionTooManyIsAnsweredBusyAndClosed() async throws {
    try await withServer(configure: { $0.maxConnections = 2 }, respond: echo) { server in
      let inside = [try TestClient(server), try TestClient(server)]
      for client in inside {
        try await client.send(.request("GET /"))
        #expect(try await client.answer().status == 404)
      }
      let outside = try TestClient(server)
      let busy = try await outside.answer()
      #expect(busy.status == 503)
      #expect(busy.fields[.retryAfter] == "1")
      #expect(try await outside.isClosed())
      try await inside[0].send(.request("GET /"))
      #expect(try await inside[0].answer().status == 404)
    }
  }

  @Test func connectionCountReturnsToZero() async throws {
    let closed = Signal()
    let left = Atomic<Int>(3)
    try await withServer(
      configure: {
        $0.observer.connectionClosed = { if left.subtract(1, ordering: .relaxed).newValue == 0 { closed.happen() } }
      }, respond: echo
    ) { server in
      for fields in ["Connection: close", "X: y", "Content-Length: x"] {
        let client = try TestClient(server)
        try await client.send(.request("GET /", fields))
        _ = try await client.answer()
      }
      await closed.wait()
      #expect(server.connections == 0)
      #expect(server.requestsInFlight == 0)
    }
  }
}
