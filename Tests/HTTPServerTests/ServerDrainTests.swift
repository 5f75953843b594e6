import EventLoop
import HTTP
import HTTPServer
import Testing

@Suite struct ServerDrainTests {
  @Test func drainEndsIdleConnectionsAndWaitsForRequestsUnderWay() async throws {
    let entered = Signal()
    let release = Signal()
    // On one loop, which ends both connections in one turn: of two, one may hear of the end after the answer has gone.
    try await withServer(
      loops: 1,
      respond: { request in
        if request.target.path == "/slow" {
          entered.happen()
          await release.wait()
        }
        return .text("done")
      }
    ) { server in
      let idle = try TestClient(server)
      try await idle.send(.request("GET /"))
      #expect(try await idle.answer().status == 200)
      let busy = try TestClient(server)
      try await busy.send(.request("GET /slow"))
      await entered.wait()
      async let drained: Void = server.drain(timeout: .seconds(30))
      #expect(try await idle.isClosed())
      release.happen()
      let answer = try await busy.answer()
      #expect(answer.text == "done")
      #expect(answer.fields[.connection] == "close")
      #expect(try await busy.isClosed())
      await drained
      #expect(server.connections == 0)
      #expect(throws: SystemError.self) { try TestClient(server) }
    }
  }

  /// Some clients send an empty line behind a body (RFC 9112, 2.2).
  @Test func drainEndsConnectionsOnWhichOnlyAnEmptyLineHasCome() async throws {
    try await withServer(respond: echo) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /_echo", "Content-Length: 2", body: "hi") + "\r\n")
      #expect(try await client.answer().text == "hi")
      async let drained: Void = server.drain(timeout: .seconds(600))
      #expect(try await client.isClosed())
      await drained
      #expect(server.connections == 0)
    }
  }

  @Test func drainEndsConnectionsOnceASlowReaderHasTheWholeAnswer() async throws {
    let body = [UInt8](repeating: 65, count: 8 << 20)
    try await withServer(respond: { _ in Response(.ok, [.contentType: "text/plain"], .bytes(body)) }) { server in
      let idle = try TestClient(server)
      try await idle.send(.request("GET /"))
      #expect(try await idle.answer().body.count == body.count)
      let slow = try TestClient(server, receiveBuffer: 8_192)
      try await slow.send(.request("GET /"))
      try await slow.receiveSome()
      async let drained: Void = server.drain(timeout: .seconds(600))
      #expect(try await idle.isClosed())
      #expect(try await slow.answer().body.count == body.count)
      #expect(try await slow.isClosed())
      await drained
      #expect(server.connections == 0)
    }
  }

  @Test func drainCutsWhatIsLeftAfterItsTimeout() async throws {
    let entered = Signal()
    try await withServer(respond: { request in
      let gone = Signal()
      request.onDisconnect { gone.happen() }
      entered.happen()
      await gone.wait()
      return .text("too late")
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /"))
      await entered.wait()
      await server.drain(timeout: .milliseconds(20))
      #expect(server.connections == 0)
      #expect(server.requestsInFlight == 0)
      #expect(try await client.isClosed())
    }
  }

  @Test func drainDoesNotWaitForAHandlerThatNeverEnds() async throws {
    let entered = Signal()
    let release = Signal()
    try await withServer(respond: { _ in
      entered.happen()
      await release.wait()
      return .text("")
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /"))
      await entered.wait()
      let start = ContinuousClock.now
      await server.drain(timeout: .milliseconds(20))
      #expect(ContinuousClock.now - start < .seconds(5))
      release.happen()
    }
  }
}
