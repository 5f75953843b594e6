import EventLoop
import Glibc
import HTTP
import HTTPServer
import Synchronization
import Testing

@Suite struct ServerStreamTests {
  @Test func chunksArriveAsTheyAreWritten() async throws {
    let more = Signal()
    try await withServer(respond: { _ in
      Response(
        .ok, [.contentType: "text/plain"],
        .stream { stream in
          try await stream.write(Array("one".utf8))
          try await stream.write([])
          await more.wait()
          try await stream.write(Array("two".utf8))
        })
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /"))
      while !String(decoding: client.received, as: UTF8.self).hasSuffix("\r\n\r\n3\r\none\r\n") {
        try await client.receiveSome()
      }
      more.happen()
      #expect(try await client.answer().text == "onetwo")
      try await client.send(.request("HEAD /"))
      #expect(try await client.answer(toHead: true).fields[.transferEncoding] == "chunked")
      try await client.send("GET / HTTP/1.0\r\n\r\n")
      #expect(try await client.readToEnd().hasSuffix("\r\nConnection: close\r\n\r\nonetwo"))
    }
  }

  @Test func producerWaitsForASlowReader() async throws {
    let written = Atomic<Int>(0)
    let chunk = [UInt8](repeating: 7, count: 100_000)
    try await withServer(respond: { _ in
      Response(
        .ok, [:],
        .stream { stream in
          for _ in 0..<400 {
            try await stream.write(chunk)
            written.add(chunk.count, ordering: .relaxed)
          }
        })
    }) { server in
      let client = try TestClient(server, receiveBuffer: 65_536)
      try await client.send(.request("GET /"))
      var furthest = 0
      while client.receivedCount < 20_000_000 {
        try await client.receiveSome()
        furthest = max(furthest, written.load(ordering: .relaxed) - client.receivedCount)
      }
      // What the kernel holds for both sides is a few megabytes; without waiting it would be what is left of forty.
      #expect(furthest < 12_000_000)
      let answer = try await client.answer()
      #expect(answer.body == [UInt8](repeating: 7, count: 40_000_000))
    }
  }

  @Test func failingProducerCutsTheAnswer() async throws {
    try await withServer(respond: { _ in
      Response(
        .ok, [:],
        .stream { stream in
          try await stream.write([65])
          throw CancellationError()
        })
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /"))
      let text = try await client.readToEnd()
      #expect(text.hasSuffix("1\r\nA\r\n"))
    }
  }

  @Test func producerLearnsThatTheClientHasGone() async throws {
    let gone = Signal()
    let failed = Signal()
    try await withServer(respond: { _ in
      Response(
        .ok, [:],
        .stream { stream in
          stream.onDisconnect { gone.happen() }
          try await stream.write([65])
          await gone.wait()
          do {
            while true { try await stream.write([UInt8](repeating: 0, count: 10_000)) }
          } catch {
            #expect(error as? HTTPError == .disconnected)
            failed.happen()
          }
        })
    }) { server in
      var client: TestClient? = try TestClient(server)
      try await client?.send(.request("GET /"))
      try await client?.receiveSome()
      client = nil
      await failed.wait()
    }
  }

  @Test func restOfAStreamComesFromATaskOfItsOwn() async throws {
    let more = Signal()
    try await withServer(respond: { request in
      if request.target.path == "/plain" { return .text("plain") }
      return Response(
        .ok, [:],
        .stream { stream in
          try await stream.write(Array("one".utf8))
          stream.goOn { stream in
            await more.wait()
            try await stream.write(Array("two".utf8))
            if request.target.path == "/cut" { throw CancellationError() }
          }
        })
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /") + .request("GET /plain"))
      try await client.receiveSome()
      // The connection is busy, and its worker is not.
      let other = try TestClient(server)
      try await other.send(.request("GET /plain"))
      #expect(try await other.answer().text == "plain")
      more.happen()
      #expect(try await client.answer().text == "onetwo")
      #expect(try await client.answer().text == "plain")
      try await client.send(.request("GET /plain"))
      #expect(try await client.answer().text == "plain")
      try await client.send(.request("GET /cut"))
      #expect(try await client.readToEnd().hasSuffix("3\r\none\r\n3\r\ntwo\r\n"))
    }
  }

  @Test func drainWaitsForTheRestOfAStream() async throws {
    let started = Signal()
    let more = Signal()
    try await withServer(respond: { request in
      if request.target.path == "/idle" { return .text("idle") }
      return Response(
        .ok, [:],
        .stream { stream in
          try await stream.write([65])
          stream.goOn { stream in
            started.happen()
            await more.wait()
            try await stream.write([66])
          }
        })
    }) { server in
      let idle = try TestClient(server)
      try await idle.send(.request("GET /idle"))
      #expect(try await idle.answer().text == "idle")
      let client = try TestClient(server)
      try await client.send(.request("GET /"))
      await started.wait()
      async let drained: Void = server.drain(timeout: .seconds(600))
      #expect(try await idle.isClosed())
      more.happen()
      #expect(try await client.answer().text == "AB")
      // Its head, sent before the end began, has promised that the connection stays.
      #expect(try await client.isClosed())
      await drained
      #expect(server.connections == 0)
    }
  }

  @Test func streamsDoNotCountAsRequestsInFlight() async throws {
    let end = Signal()
    try await withServer(
      configure: { $0.maxRequestsInFlight = 1 },
      respond: { request in
        if request.target.path == "/plain" { return .text("plain") }
        return Response(
          .ok, [:],
          .stream { stream in
            try await stream.write([65])
            await end.wait()
          })
      }
    ) { server in
      let streaming = try (0..<3).map { _ in try TestClient(server) }
      for client in streaming {
        try await client.send(.request("GET /stream"))
        try await client.receiveSome()
      }
      let plain = try TestClient(server)
      try await plain.send(.request("GET /plain"))
      #expect(try await plain.answer().text == "plain")
      end.happen()
      for client in streaming { #expect(try await client.answer().text == "A") }
    }
  }

  @Test func waitingHandlerLearnsThatTheClientHasGone() async throws {
    let gone = Signal()
    let entered = Signal()
    let wasCancelled = Atomic<Bool>(false)
    let ended = Signal()
    try await withServer(
      configure: { $0.observer.requestEnded = { _ in ended.happen() } },
      respond: { request in
        request.onDisconnect { gone.happen() }
        entered.happen()
        await gone.wait()
        wasCancelled.store(request.isCancelled, ordering: .relaxed)
        return .text("nobody sees this")
      }
    ) { server in
      var client: TestClient? = try TestClient(server)
      try await client?.send(.request("GET /"))
      await entered.wait()
      client = nil
      await ended.wait()
      let seen = wasCancelled.load(ordering: .relaxed)
      #expect(seen)
      #expect(server.requestsInFlight == 0)
    }
  }

  @Test func clientThatOnlyStopsSendingStillGetsItsAnswer() async throws {
    let half = Signal()
    try await withServer(respond: { request in
      request.onDisconnect { half.happen() }
      await half.wait()
      return .text("still here")
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /"))
      client.finishSending()
      #expect(try await client.answer().text == "still here")
      #expect(try await client.isClosed())
    }
  }
}
