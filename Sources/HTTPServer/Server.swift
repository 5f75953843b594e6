import EventLoop
import HTTP
import Synchronization

/// An HTTP/1.1 server on the loops of a group: each accepts from the shared listener and keeps its connections to itself.
///
/// ```swift
/// let server = Server(group: group, listener: try Listener(address), respond: table.respond)
/// try await server.start()
/// …
/// await server.drain(timeout: .seconds(25))
/// ```
public final class Server: Sendable {
  /// Answers every request that could be read; runs on the loop of the request's connection.
  public typealias Respond = @Sendable (Request) async -> Response

  /// Answers a request that needs neither its body nor anybody to be waited for, with a body that is complete; `nil` for all
  /// others, which are given to `Respond`. Runs on the loop of the request's connection.
  public typealias AnswerAtOnce = @Sendable (Request) -> Response?

  /// Where it listens.
  public let address: SocketAddress

  let listener: Listener
  let configuration: Configuration
  let respond: Respond
  let counts = Counts()
  private let loops: [ServerLoop]

  /// What the loops count together.
  final class Counts: Sendable {
    let connections = Atomic<Int>(0)
    let requestsInFlight = Atomic<Int>(0)
  }

  /// Does not listen to anybody before `start`.
  ///
  /// - Parameters:
  ///   - answerAtOnce: asked first.
  ///   - respond: answers the rest.
  public init(
    group: EventLoopGroup, listener: Listener, configuration: Configuration = Configuration(),
    answerAtOnce: AnswerAtOnce? = nil, respond: @escaping Respond
  ) {
    address = listener.address
    self.listener = listener
    self.configuration = configuration
    self.respond = respond
    let shared = ServerLoop.Shared(
      listener: listener, configuration: configuration, respond: respond, answerAtOnce: answerAtOnce, counts: counts,
      peers: PeerCounts(configuration))
    loops = group.loops.map { ServerLoop($0, shared) }
  }

  /// Begins to accept.
  ///
  /// - Throws: `SystemError` when the listener cannot be watched.
  public func start() async throws {
    for loop in loops { try await loop.loop.run { try loop.start() } }
  }

  /// Ends in good order: no new connections, idle ones closed, requests under way answered with `Connection: close`. What is
  /// left after `timeout` is cut. Comes back when all is over, at most a second after the timeout.
  public func drain(timeout: Duration) async {
    await withTaskGroup { group in
      for loop in loops {
        group.addTask { _ = try? await loop.loop.run { await loop.drain(timeout: timeout) } }
      }
    }
  }

  /// Connections open now.
  public var connections: Int { counts.connections.load(ordering: .relaxed) }

  /// Requests being handled now, without those that stream.
  public var requestsInFlight: Int { counts.requestsInFlight.load(ordering: .relaxed) }
}
