import EventLoop
import HTTP
import HTTPServer
import Synchronization
import Testing
import WorldSupport

/// A host of pictures that answers what a test tells it to, and remembers how it was asked.
final class PictureHost: Sendable {
  /// What it says to everybody.
  typealias Script = @Sendable (Request) async -> Response

  /// A request as it came.
  struct Visit: Sendable {
    let target: String
    let authorization: String?
    let condition: String?
    let referrer: String?
  }

  /// Such as `http://127.0.0.1:4711`.
  let baseURL: String
  /// In the order they came.
  let visits = Record<Visit>()
  private let script = Mutex<Script>({ _ in Response(.notFound) })

  private init(_ baseURL: String) { self.baseURL = baseURL }

  /// What it answers from now on.
  func answer(_ script: @escaping Script) { self.script.withLock { $0 = script } }

  /// A picture with its type.
  func answer(_ bytes: [UInt8], _ type: String? = "image/png", _ fields: Fields = [:]) {
    answer { _ in
      var fields = fields
      if let type { fields.append(.contentType, type) }
      return Response(.ok, fields, .bytes(bytes))
    }
  }

  /// Runs `body` with a host, and ends it.
  static func run(_ body: (PictureHost) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "pictures")
    defer { group.stop() }
    let listener = try Listener(try #require(SocketAddress("127.0.0.1:0")))
    let host = PictureHost("http://\(listener.address)")
    let server = Server(group: group, listener: listener) { request in
      host.visits.add(
        Visit(
          target: request.target.description, authorization: request[.authorization], condition: request[.ifNoneMatch],
          referrer: request["Referer"]))
      let script = host.script.withLock { $0 }
      return await script(request)
    }
    try await server.start()
    var failure: (any Error)?
    do { try await body(host) } catch { failure = error }
    await server.drain(timeout: .milliseconds(100))
    if let failure { throw failure }
  }
}
