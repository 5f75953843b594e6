import EventLoop
import HTTP
import HTTPServer
import Testing

@Suite struct ServerTests {
  @Test(arguments: ["127.0.0.1:0", "[::1]:0"]) func bodyComesBackByLengthAndInChunks(address: String) async throws {
    try await withServer(address, respond: echo) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /_echo", "Content-Length: 5", body: "hello"))
      let first = try await client.answer()
      #expect(first.status == 200)
      #expect(first.text == "hello")
      #expect(first.fields[.contentLength] == "5")
      #expect(first.fields[.date]?.hasSuffix(" GMT") == true)
      #expect(!first.fields.contains(.connection))
      try await client.send(
        .request("PUT /_echo", "Transfer-Encoding: chunked", body: "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-T: 1\r\n\r\n"))
      #expect(try await client.answer().text == "abcde")
    }
  }

  @Test func largeBodiesComeBackWhole() async throws {
    let body = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try await withServer(respond: echo) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /_echo", "Content-Length: \(body.count)"))
      try await client.send(body)
      #expect(try await client.answer().body == body)
      try await client.send(.request("POST /_echo", "Transfer-Encoding: chunked"))
      for start in stride(from: 0, to: body.count, by: 40_000) {
        let chunk = body[start..<min(start + 40_000, body.count)]
        try await client.send(Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8))
      }
      try await client.send("0\r\n\r\n")
      #expect(try await client.answer().body == body)
    }
  }

  /// A few bytes, what the kernel takes at once, what it takes bit by bit; as many pieces as one call takes, and one more.
  @Test(arguments: [(0, 0), (1, 10), (201, 600), (100, 50_000), (1_023, 300), (1_024, 300), (5_000, 300)])
  func bodyInPiecesComesWholeAndInOrder(count: Int, size: Int) async throws {
    let ramp = (0..<256 + size).map { UInt8(truncatingIfNeeded: $0) }
    let pieces = (0..<count).map { number in
      // Some are empty.
      number % 7 == 3 ? [] : Array(ramp[(number * 13 % 256)...].prefix(size))
    }
    let whole = pieces.reduce(into: []) { $0 += $1 }
    let respond: Server.Respond = { _ in Response(.ok, [.contentType: "text/plain"], .pieces(pieces)) }
    try await withServer(respond: respond) { server in
      let client = try TestClient(server, receiveBuffer: 131_072)
      try await client.send(.request("GET /") + .request("HEAD /") + .request("GET /"))
      #expect(try await client.answer().body == whole)
      let head = try await client.answer(toHead: true)
      #expect(head.fields[.contentLength] == "\(whole.count)")
      #expect(try await client.answer().body == whole)
    }
  }

  /// The answer comes before the body has been sent, most of which is on its way already.
  @Test func clientWithAMuchTooLargeBodyIsToldSo() async throws {
    try await withServer(respond: { request in
      do {
        return .text(String(try await request.body(limit: 100).count))
      } catch {
        return (error as? HTTPError ?? .internalError).response(requestID: request.id)
      }
    }) { server in
      for _ in 0..<5 {
        let client = try TestClient(server)
        let body = [UInt8](repeating: 65, count: 12 << 20)
        async let sent: Void? = try? client.send(
          Array(String.request("POST /", "Content-Length: \(body.count)").utf8) + body)
        #expect(try await client.answer().status == 413)
        _ = await sent
      }
    }
  }

  @Test func requestsSentAheadAreAnsweredInOrder() async throws {
    try await withServer(respond: { .text(String($0.target.path)) }) { server in
      let client = try TestClient(server)
      try await client.send((0..<2000).map { .request("GET /\($0)") }.joined())
      for number in 0..<2000 { #expect(try await client.answer().text == "/\(number)") }
    }
  }

  @Test func requestBehindAChunkedBodyIsNotLost() async throws {
    try await withServer(respond: echo) { server in
      let client = try TestClient(server)
      // The head comes alone, so that the body and what follows are read while the handler waits.
      try await client.send(.request("POST /_echo", "Transfer-Encoding: chunked", "Expect: 100-continue"))
      #expect(try await client.answer().status == 100)
      try await client.send("5\r\nhello\r\n0\r\n\r\n" + .request("POST /_echo", "Content-Length: 3", body: "two"))
      #expect(try await client.answer().text == "hello")
      #expect(try await client.answer().text == "two")
    }
  }

  @Test func headAnswersHaveLengthButNoBody() async throws {
    try await withServer(respond: { _ in .text("hello") }) { server in
      let client = try TestClient(server)
      try await client.send(.request("HEAD /"))
      #expect(try await client.answer(toHead: true).fields[.contentLength] == "5")
      try await client.send(.request("GET /"))
      #expect(try await client.answer().text == "hello")
    }
  }

  @Test(arguments: [Status.noContent, .notModified]) func statusWithoutBodySendsNone(status: Status) async throws {
    try await withServer(respond: { _ in Response(status, [.etag: "\"1\""], .bytes([1, 2, 3])) }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /") + .request("GET /"))
      let answer = try await client.answer()
      #expect(answer.status == status.code)
      #expect(!answer.fields.contains(.contentLength))
      #expect(answer.fields[.etag] == "\"1\"")
      #expect(try await client.answer().status == status.code)
    }
  }

  @Test func largeAnswersReachASlowReaderWhole() async throws {
    let body = (0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }
    try await withServer(respond: { _ in Response(contentType: "text/plain", body) }) { server in
      let client = try TestClient(server, receiveBuffer: 8192)
      try await client.send(.request("GET /") + .request("GET /"))
      #expect(try await client.answer().body == body)
      #expect(try await client.answer().body == body)
    }
  }

  @Test func continueIsSentOnlyWhenTheHandlerReads() async throws {
    let respond: Server.Respond = { request in
      if request.target.path == "/refuse" { return Response(.forbidden) }
      return await echo(request)
    }
    try await withServer(respond: respond) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /_echo", "Content-Length: 2", "Expect: 100-continue"))
      #expect(try await client.answer().status == 100)
      try await client.send("ok")
      #expect(try await client.answer().text == "ok")
      // The body may or may not come after a refusal, so the connection cannot go on.
      try await client.send(.request("POST /refuse", "Content-Length: 2", "Expect: 100-continue"))
      let refusal = try await client.answer()
      #expect(refusal.status == 403)
      #expect(refusal.fields[.connection] == "close")
      #expect(try await client.isClosed())
    }
  }

  @Test func noContinueWhenTheBodyIsAlreadyHere() async throws {
    try await withServer(respond: echo) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /_echo", "Content-Length: 2", "Expect: 100-continue", body: "ok"))
      #expect(try await client.answer().status == 200)
    }
  }

  @Test func unreadBodyIsDroppedUpToItsLimitAndNeverParsed() async throws {
    try await withServer(respond: echo) { server in
      let client = try TestClient(server)
      let smuggled = String.request("GET /_echo", "X-Smuggled: 1")
      try await client.send(.request("POST /other", "Content-Length: \(smuggled.utf8.count)", body: smuggled))
      #expect(try await client.answer().status == 404)
      try await client.send(
        .request("POST /other", "Content-Length: 65536", body: String(repeating: "x", count: 65536)))
      let kept = try await client.answer()
      #expect(!kept.fields.contains(.connection))
      try await client.send(.request("POST /other", "Content-Length: 65537"))
      let closed = try await client.answer()
      #expect(closed.status == 404)
      #expect(closed.fields[.connection] == "close")
      #expect(try await client.isClosed())
    }
  }

  @Test func declaredAndStreamedBodiesOverTheLimitAreRefused() async throws {
    try await withServer(respond: { request in
      do {
        return .text("\(try await request.body(limit: 10).count)")
      } catch {
        return (error as? HTTPError ?? .internalError).response(requestID: request.id)
      }
    }) { server in
      let atLimit = try TestClient(server)
      try await atLimit.send(.request("POST /", "Content-Length: 10", body: "0123456789"))
      #expect(try await atLimit.answer().text == "10")
      try await atLimit.send(.request("POST /", "Transfer-Encoding: chunked", body: "a\r\n0123456789\r\n0\r\n\r\n"))
      #expect(try await atLimit.answer().text == "10")
      try await atLimit.send(.request("POST /", "Content-Length: 11"))
      #expect(try await atLimit.answer().status == 413)
      #expect(try await atLimit.isClosed())
      let streamed = try TestClient(server)
      try await streamed.send(.request("POST /", "Transfer-Encoding: chunked", body: "b\r\n0123456789a\r\n0\r\n\r\n"))
      let refusal = try await streamed.answer()
      #expect(refusal.status == 413)
      #expect(refusal.fields[.connection] == "close")
      #expect(try await streamed.isClosed())
    }
  }

  @Test func compressedBodiesAreRefusedWithWhatIsTaken() async throws {
    try await withServer(respond: echo) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /_echo", "Content-Encoding: gzip", "Content-Length: 2", body: "xx"))
      let answer = try await client.answer()
      #expect(answer.status == 415)
      #expect(answer.fields[.acceptEncoding] == "identity")
      try await client.send(.request("POST /_echo", "Content-Encoding: identity", "Content-Length: 2", body: "xx"))
      #expect(try await client.answer().text == "xx")
    }
  }

  @Test func bodyCanBeReadAgain() async throws {
    try await withServer(respond: { request in
      let first = try? await request.body(limit: 100)
      let second = try? await request.body(limit: 100)
      return .text("\(first == second) \(second?.count ?? -1)")
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /", "Content-Length: 3", body: "abc"))
      #expect(try await client.answer().text == "true 3")
    }
  }

  @Test func handlersMayWorkElsewhereAndReadTheBodyFromThere() async throws {
    try await withServer(respond: { request in
      let body = await Task.detached { try? await request.body(limit: 100) }.value
      return .text("\(String(decoding: body ?? [], as: UTF8.self)) \(request.loop.isCurrent)")
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /", "Content-Length: 3"))
      try await client.send("abc")
      #expect(try await client.answer().text == "abc true")
    }
  }

  @Test func requestKeptAfterItsAnswerStaysAsItWas() async throws {
    let kept = Lock<Request?>(nil)
    try await withServer(respond: { request in
      if request.target.path == "/keep" { kept.withLock { $0 = request } }
      return .text(request[.userAgent] ?? "")
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /keep", "User-Agent: first") + .request("GET /other", "User-Agent: second"))
      #expect(try await client.answer().text == "first")
      #expect(try await client.answer().text == "second")
      try await client.send(.request("GET /another", "User-Agent: third"))
      #expect(try await client.answer().text == "third")
      let request = kept.withLock { $0 }
      #expect(request?.target.description == "/keep")
      #expect(request?[.userAgent] == "first")
      await #expect(throws: Never.self) { try await request?.body(limit: 1) }
    }
  }

  @Test func requestIDIsEchoedWhenHarmlessAndElseMade() async throws {
    try await withServer(respond: { .text($0.id) }) { server in
      let client = try TestClient(server)
      let longest = String(repeating: "a", count: 64)
      for id in ["abc-1_2.Z", longest] {
        try await client.send(.request("GET /", "X-Request-Id: \(id)"))
        let answer = try await client.answer()
        #expect(answer.fields[.xRequestID] == id)
        #expect(answer.text == id)
      }
      var made: Set<String> = []
      for id in [longest + "a", "a b", "a\"b", ""] {
        try await client.send(.request("GET /", "X-Request-Id: \(id)"))
        let answer = try await client.answer()
        #expect(answer.text.utf8.count == 13)
        #expect(answer.fields[.xRequestID] == answer.text)
        made.insert(answer.text)
      }
      #expect(made.count == 4)
    }
  }

  @Test func fieldsOfTheServerCannotBeForgedByHandlers() async throws {
    try await withServer(respond: { _ in
      var response = Response.text("hello")
      response.fields.set(.contentLength, "1")
      response.fields.set(.transferEncoding, "chunked")
      response.fields.set(.date, "never")
      let taken = response.fields.append("X-Split", "a\r\nX-Injected: 1")
      #expect(!taken)
      return response
    }) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /", "Connection: close"))
      let text = try await client.readToEnd()
      #expect(text.hasSuffix("\r\n\r\nhello"))
      #expect(text.contains("\r\nContent-Length: 5\r\n"))
      #expect(text.contains("\r\nConnection: close\r\n"))
      for absent in ["Content-Length: 1", "Transfer-Encoding", "never", "X-Injected", "X-Split"] {
        #expect(!text.contains(absent))
      }
    }
  }

  @Test func onlyAllowedHostsAreServed() async throws {
    try await withServer(
      configure: { $0.allowsHost = { $0 == "magpie.example" } }, respond: { _ in .text("in") }
    ) { server in
      for (lines, status) in [
        ("GET / HTTP/1.1\r\nHost: Magpie.Example:8080\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: other.example\r\n\r\n", 421),
        ("GET http://magpie.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n", 200),
        ("GET http://other.example/ HTTP/1.1\r\nHost: magpie.example\r\n\r\n", 421),
      ] {
        let client = try TestClient(server)
        try await client.send(lines)
        #expect(try await client.answer().status == status, "\(lines)")
      }
    }
  }

  @Test func observerSeesEachRequestOnce() async throws {
    let reports = Lock<[String]>([])
    var router = Router()
    router.on(.get, "/users/{login}") { request in
      request.label = 42
      return .text("x")
    }
    let table = try router.build()
    try await withServer(
      configure: { configuration in
        configuration.observer.requestEnded = { report in
          let request = report.request
          reports.withLock {
            $0.append(
              "\(request.method) \(request.pattern ?? "-") \(report.status.code) \(request.label) \(report.isComplete)")
          }
          #expect(report.bytesSent > 100)
          #expect(report.duration > 0)
          #expect(request.peer?.host == "127.0.0.1")
        }
      }, respond: table.respond
    ) { server in
      let client = try TestClient(server)
      try await client.send(.request("GET /users/a") + .request("GET /none") + "nonsense\r\n\r\n")
      _ = try await client.readToEnd()
      #expect(
        reports.withLock { $0 } == ["GET /users/{login} 200 42 true", "GET - 404 0 true", "GET - 400 0 true"])
    }
  }

  /// The answer is out before the body has come; that it never comes is no second request.
  @Test func observerSeesARequestWhoseBodyNeverCameOnce() async throws {
    let reports = Lock<[String]>([])
    let closed = Signal()
    try await withServer(
      configure: { configuration in
        configuration.bodyIdleTimeout = .milliseconds(40)
        configuration.observer.requestEnded = { report in
          reports.withLock { $0.append("\(report.status.code) \(report.isComplete)") }
        }
        configuration.observer.connectionClosed = { closed.happen() }
      }, respond: { _ in Response(.notFound) }
    ) { server in
      let client = try TestClient(server)
      try await client.send(.request("POST /none", "Content-Length: 10"))
      #expect(try await client.answer().status == 404)
      #expect(try await client.isClosed())
      await closed.wait()
      #expect(reports.withLock { $0 } == ["404 true"])
    }
  }

  @Test func errorsBeforeTheRouterUseTheConfiguredAnswer() async throws {
    try await withServer(
      configure: { $0.errorResponse = { error, id in .text("\(error.code) \(id.utf8.count)", status: error.status) } },
      respond: echo
    ) { server in
      let client = try TestClient(server)
      try await client.send("GET / HTTP/3.0\r\n\r\n")
      let answer = try await client.answer()
      #expect(answer.status == 505)
      #expect(answer.text == "http/version-unsupported 13")
      #expect(try await client.isClosed())
    }
  }
}
