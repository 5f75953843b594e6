import EventLoop
import HTTP
import HTTPServer
import Testing

/// Requests that are answered without a worker.
@Suite struct ServerAtOnceTests {
  /// `/now…` is answered at once.
  private static let now: Server.AnswerAtOnce = { request in
    let path = request.target.path
    return path.hasPrefix("/now") ? .text("now \(path)") : nil
  }

  private static let later: Server.Respond = { request in
    await Task.yield()
    // Not every one of many in a row is answered at once.
    return now(request) ?? .text("later \(request.target.path)")
  }

  @Test func answersKeepTheOrderOfTheirRequests() async throws {
    try await withServer(answerAtOnce: Self.now, respond: Self.later) { server in
      let client = try TestClient(server)
      // More in a row than are answered in one turn, and others in between.
      let paths = (0..<200).map { number in number % 23 == 7 ? "/wait\(number)" : "/now\(number)" }
      try await client.send(paths.map { String.request("GET \($0)") }.joined())
      for path in paths {
        #expect(try await client.answer().text == (path.hasPrefix("/now") ? "now" : "later") + " " + path)
      }
    }
  }

  @Test func requestsInFlightAreCountedBack() async throws {
    try await withServer(configure: { $0.maxRequestsInFlight = 1 }, answerAtOnce: Self.now, respond: Self.later) {
      server in
      let client = try TestClient(server)
      for path in ["/now", "/wait", "/now", "/wait"] {
        try await client.send(.request("GET \(path)"))
        #expect(try await client.answer().status == 200)
      }
      #expect(server.requestsInFlight == 0)
    }
  }

  /// How deep the calls go must not depend on what was sent ahead, or a client could overflow the stack.
  @Test(arguments: ["", "Expect: the unexpected\r\n"])
  func bodiesThatNobodyWantsAreDroppedInARow(field: String) async throws {
    try await withServer(
      configure: { $0.maxRequestsPerConnection = 1_000_000 }, answerAtOnce: Self.now, respond: Self.later
    ) { server in
      let client = try TestClient(server)
      let count = 20_000
      let request = "GET /now HTTP/1.1\r\nHost: here\r\n\(field)Content-Length: 1\r\n\r\nA"
      async let sent: Void = client.send(String(repeating: request, count: count))
      var statuses: Set<Int> = []
      for _ in 0..<count { statuses.insert(try await client.answer().status) }
      try await sent
      #expect(statuses == [field.isEmpty ? 200 : 417])
    }
  }

  @Test func bodyIsDroppedAndTheConnectionKept() async throws {
    try await withServer(answerAtOnce: Self.now, respond: Self.later) { server in
      let client = try TestClient(server)
      try await client.send("POST /now HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n01234")
      #expect(try await client.answer().status == 200)
      try await client.send("56789" + .request("GET /wait"))
      #expect(try await client.answer().text == "later /wait")
    }
  }

  @Test func headIsAnsweredWithoutABody() async throws {
    try await withServer(answerAtOnce: Self.now, respond: Self.later) { server in
      let client = try TestClient(server)
      try await client.send(.request("HEAD /now") + .request("GET /now"))
      #expect(try await client.answer(toHead: true).fields[.contentLength] == "8")
      #expect(try await client.answer().text == "now /now")
    }
  }

  @Test func tableAnswersAtOnceWhatItCan() async throws {
    var router = Router()
    router.immediately(.get, "/now") { .text("now \($0.pattern ?? "")") }
    router.immediately(.get, "/refused") { _ in throw HTTPError.badField }
    router.on(.get, "/later/{id}") { .text("later \($0.parameters["id"] ?? "")") }
    let table = try router.build()
    let asked = Lock<[String]>([])
    try await withServer(
      answerAtOnce: { request in
        let response = table.answerAtOnce(request)
        if response == nil { asked.withLock { $0.append(String(request.target.path)) } }
        return response
      }, respond: table.respond
    ) { server in
      let client = try TestClient(server)
      for (request, status, text) in [
        ("GET /now", 200, "now /now"), ("GET /refused", 400, nil), ("GET /later/7", 200, "later 7"),
        ("GET /none", 404, nil),
        ("POST /now", 405, nil), ("OPTIONS /later/7", 204, ""), ("GET /later/8", 200, "later 8"),
      ] as [(String, Int, String?)] {
        try await client.send(.request(request))
        let answer = try await client.answer()
        #expect(answer.status == status)
        if let text { #expect(answer.text == text) }
      }
    }
    #expect(asked.withLock { $0 } == ["/later/7", "/later/8"])
  }
}
