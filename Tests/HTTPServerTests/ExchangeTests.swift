import EventLoop
import HTTP
import Testing

@testable import HTTPServer

@Suite struct ExchangeTests {
  /// Addresses of the exchanges that handlers saw, in order.
  private final class Seen: Sendable {
    let list = Lock<[ObjectIdentifier]>([])
    func note(_ request: Request) { list.withLock { $0.append(ObjectIdentifier(request.exchange)) } }
  }

  @Test func exchangesAreUsedAgainByAllConnections() async throws {
    let seen = Seen()
    try await withServer(respond: { request in
      seen.note(request)
      return .text("x")
    }) { server in
      let clients = try (0..<3).map { _ in try TestClient(server) }
      for client in clients + clients {
        try await client.send(.request("GET /"))
        #expect(try await client.answer().status == 200)
      }
      try await clients[0].send(.request("GET /") + .request("GET /"))
      #expect(try await clients[0].answer().status == 200)
      #expect(try await clients[0].answer().status == 200)
    }
    let list = seen.list.withLock { $0 }
    #expect(list.count == 8)
    #expect(Set(list).count == 1)
  }

  @Test func exchangeOfAKeptRequestIsLeftAlone() async throws {
    let kept = Lock<[Request]>([])
    try await withServer(respond: { request in
      kept.withLock { $0.append(request) }
      return .text("x")
    }) { server in
      let client = try TestClient(server)
      try await client.send((0..<3).map { .request("GET /\($0)") }.joined())
      for _ in 0..<3 { #expect(try await client.answer().status == 200) }
    }
    let requests = kept.withLock { $0 }
    #expect(Set(requests.map { ObjectIdentifier($0.exchange) }).count == 3)
    #expect(requests.map(\.target.description) == ["/0", "/1", "/2"])
  }
}
