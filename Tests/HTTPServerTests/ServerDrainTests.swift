import EventLoop
import HTTP
import HTTPServer
import Testing

@Suite struct ServerDrainTests {
  @Test func drainEndsIdleConnectionsAndWaitsForRequestsUnderWay() async throws {
    let entered = Signal()
    let release = Signal()
    try await withServer(
      loops: 2,
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
