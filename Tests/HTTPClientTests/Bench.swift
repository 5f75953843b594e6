import EventLoop
import HTTP
import Testing

@testable import HTTPClient

/// A loop with a raw server and a client that trusts it.
struct Bench: Sendable {
  let loop: EventLoop
  let server: RawServer
  let client: HTTPClient

  var url: String { "http://\(server.address)" }

  /// Requests from the loop itself, as a worker makes them.
  func send(_ request: HTTPClient.Request) async throws -> HTTPClient.Response {
    try await loop.run { try await client.send(request) }
  }

  func get(_ path: String = "/") async throws -> HTTPClient.Response { try await send(.init(.get, url + path)) }

  func accepted() async throws -> Int { try await loop.run { server.accepted } }

  /// Runs the body and takes everything down, also when it throws.
  @discardableResult
  static func run<R: Sendable>(
    _ script: @escaping RawServer.Script,
    configure: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in },
    _ body: (Bench) async throws -> R
  ) async throws -> R {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let server = try await loop.run { try RawServer(loop, script) }
    var configuration = HTTPClient.Configuration(userAgent: "Bench/1.0")
    configuration.trustedOrigins = [try #require(HTTPClient.Origin("http://\(server.address)"))]
    configure(&configuration)
    let client = HTTPClient(loop: loop, configuration: configuration)
    let result: Result<R, any Error>
    do {
      result = .success(try await body(Bench(loop: loop, server: server, client: client)))
    } catch {
      result = .failure(error)
    }
    try await loop.run {
      client.stop()
      server.stop()
    }
    group.stop()
    return try result.get()
  }

  /// Answers every request on a connection with the same bytes.
  static func answering(_ text: String) -> RawServer.Script {
    { connection in
      while true {
        _ = try await connection.request()
        try await connection.send(text)
      }
    }
  }

  /// Answers one request and closes.
  static func answeringOnce(_ text: String) -> RawServer.Script {
    { connection in
      _ = try await connection.request()
      try await connection.send(text)
    }
  }
}

/// Collects what happens on the loop, and lets a test wait for it.
actor Record<Element: Sendable> {
  private(set) var elements: [Element] = []
  private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

  func append(_ element: Element) {
    elements.append(element)
    let due = waiters.filter { $0.count <= elements.count }
    waiters.removeAll { $0.count <= elements.count }
    for waiter in due { waiter.continuation.resume() }
  }

  /// Returns once there are at least `count`.
  func wait(for count: Int) async -> [Element] {
    if elements.count < count { await withCheckedContinuation { waiters.append((count, $0)) } }
    return elements
  }
}
