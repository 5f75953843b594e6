import EventLoop
import HTTP
import Testing

@testable import HTTPClient

/// Cancellation, queueing and the end.
@Suite struct BoundsTests {
  @Test func cancelledTransferLeavesTheNetwork() async throws {
    let arrived = Record<Bool>()
    let gone = Record<Bool>()
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      await arrived.append(true)
      await connection.peerClosed()
      await gone.append(true)
    }
    try await Bench.run(script) { bench async throws in
      let task = Task { try await bench.get() }
      _ = await arrived.wait(for: 1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await gone.wait(for: 1) == [true])
    }
  }

  @Test func taskCancelledBeforeSendsNothing() async throws {
    try await Bench.run(Bench.answering(ExchangeTests.ok)) { bench async throws in
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await bench.get()
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await bench.accepted() == 0)
    }
  }

  @Test func queueHasAnEndAndIsServedInOrder() async throws {
    let arrived = Record<String>()
    let open = Record<Bool>()
    let script: RawServer.Script = { connection in
      while true {
        await arrived.append(try await connection.request().head[0])
        _ = await open.wait(for: 1)
        try await connection.send(ExchangeTests.ok)
      }
    }
    let configure: @Sendable (inout HTTPClient.Configuration) -> Void = {
      $0.maxTransfers = 1
      $0.maxQueued = 2
    }
    try await Bench.run(script, configure: configure) { bench async throws in
      // Started on the loop one after the other, so their order is known.
      let tasks = try await bench.loop.run {
        (1...4).map { number in
          Task.immediate(executorPreference: bench.loop) {
            try await bench.client.send(.init(.get, bench.url + "/\(number)"))
          }
        }
      }
      await #expect(throws: HTTPClient.Failure.overloaded) { try await tasks[3].value }
      await open.append(true)
      for task in tasks[..<3] { #expect(try await task.value.status.code == 200) }
      #expect(await arrived.elements == ["GET /1 HTTP/1.1", "GET /2 HTTP/1.1", "GET /3 HTTP/1.1"])
      #expect(try await bench.accepted() == 1)
    }
  }

  @Test func timeoutCountsTheQueueToo() async throws {
    let arrived = Record<String>()
    let script: RawServer.Script = { connection in
      await arrived.append(try await connection.request().head[0])
      await connection.peerClosed()
    }
    try await Bench.run(script, configure: { $0.maxTransfers = 1 }) { bench async throws in
      let tasks = try await bench.loop.run {
        [Duration.seconds(30), .milliseconds(40)].map { timeout in
          Task.immediate(executorPreference: bench.loop) {
            try await bench.client.send(.init(.get, bench.url, timeout: timeout))
          }
        }
      }
      await #expect(throws: HTTPClient.Failure.timedOut) { try await tasks[1].value }
      tasks[0].cancel()
      await #expect(throws: CancellationError.self) { try await tasks[0].value }
      #expect(await arrived.elements.count <= 1)
    }
  }

  @Test func cancelledWaitingRequestMakesRoom() async throws {
    let arrived = Record<String>()
    let open = Record<Bool>()
    let script: RawServer.Script = { connection in
      while true {
        await arrived.append(try await connection.request().head[0])
        _ = await open.wait(for: 1)
        try await connection.send(ExchangeTests.ok)
      }
    }
    let configure: @Sendable (inout HTTPClient.Configuration) -> Void = {
      $0.maxTransfers = 1
      $0.maxQueued = 1
    }
    try await Bench.run(script, configure: configure) { bench async throws in
      @Sendable func start(_ path: String) async throws -> Task<HTTPClient.Response, any Error> {
        try await bench.loop.run {
          Task.immediate(executorPreference: bench.loop) { try await bench.client.send(.init(.get, bench.url + path)) }
        }
      }
      let first = try await start("/1")
      let second = try await start("/2")
      second.cancel()
      await #expect(throws: CancellationError.self) { try await second.value }
      let third = try await start("/3")
      await open.append(true)
      #expect(try await first.value.status.code == 200)
      #expect(try await third.value.status.code == 200)
      #expect(await arrived.elements == ["GET /1 HTTP/1.1", "GET /3 HTTP/1.1"])
    }
  }

  @Test func stopEndsWhatRunsAndRefusesWhatComes() async throws {
    let arrived = Record<Bool>()
    let gone = Record<Bool>()
    let script: RawServer.Script = { connection in
      _ = try await connection.request()
      await arrived.append(true)
      await connection.peerClosed()
      await gone.append(true)
    }
    try await Bench.run(script, configure: { $0.maxTransfers = 1 }) { bench async throws in
      let running = Task { try await bench.get() }
      _ = await arrived.wait(for: 1)
      let waiting = try await bench.loop.run {
        Task.immediate(executorPreference: bench.loop) { try await bench.client.send(.init(.get, bench.url)) }
      }
      bench.client.stop()
      await #expect(throws: HTTPClient.Failure.stopped) { try await running.value }
      await #expect(throws: HTTPClient.Failure.stopped) { try await waiting.value }
      await #expect(throws: HTTPClient.Failure.stopped) { try await bench.get() }
      #expect(await gone.wait(for: 1) == [true])
    }
  }

  @Test(arguments: [(-1, Duration.seconds(1)), (1, .zero), (1, .seconds(-1))])
  func nonsensicalBoundsAreRefused(maxBytes: Int, timeout: Duration) async throws {
    try await Bench.run(Bench.answering(ExchangeTests.ok)) { bench async throws in
      await #expect(throws: HTTPClient.Failure.invalidRequest) {
        try await bench.send(.init(.get, bench.url, maxBytes: maxBytes, timeout: timeout))
      }
    }
  }

  @Test func emptyBodyFitsIntoNoBytes() async throws {
    try await Bench.run(Bench.answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) { bench async throws in
      #expect(try await bench.send(.init(.get, bench.url, maxBytes: 0)).body == [])
    }
    try await Bench.run(Bench.answering(ExchangeTests.ok)) { bench async throws in
      await #expect(throws: HTTPClient.Failure.tooLarge) { try await bench.send(.init(.get, bench.url, maxBytes: 0)) }
    }
  }

  @Test func clientMayOutliveItsLoop() async throws {
    let server = try EventLoopGroup(count: 1)
    let raw = try await server.loops[0].run { try RawServer(server.loops[0], Bench.answering(ExchangeTests.ok)) }
    let group = try EventLoopGroup(count: 1)
    var configuration = HTTPClient.Configuration(userAgent: "Bench/1.0")
    configuration.trustedOrigins = [try #require(HTTPClient.Origin("http://\(raw.address)"))]
    let client = HTTPClient(loop: group.loops[0], configuration: configuration)
    #expect(try await client.send(.init(.get, "http://\(raw.address)")).status.code == 200)
    group.stop()
    await #expect(throws: HTTPClient.Failure.stopped) { try await client.send(.init(.get, "http://\(raw.address)")) }
    try await server.loops[0].run { raw.stop() }
    server.stop()
  }
}
