import EventLoop
import HTTP
import HTTPServer

/// A scriptable GitHub: made-up people with follower lists of any length, budgets, validators, faults.
///
/// Runs in process or as the executable `upstream-simulator`; everything can be steered by methods or under `/_sim/`
/// (`docs/simulator.md`). All state is in memory and made from a seed, so equal configurations give equal answers.
public final class Simulator: Sendable {
  let engine: Engine
  private let server: Server
  private let churn: Churn?

  /// Where it is, without a slash at the end, such as `http://127.0.0.1:9090`.
  public let baseURL: String

  private init(_ configuration: Simulator.Configuration, on group: EventLoopGroup, _ listener: Listener) throws(Network
    .Refusal)
  {
    let base = configuration.url ?? "http://\(listener.address)"
    let engine = Engine(try World(configuration, base: base))
    self.engine = engine
    baseURL = base
    server = Server(group: group, listener: listener) { await engine.respond($0) }
    churn = configuration.churn.map { pause in
      Churn(engine, users: configuration.users.map(\.login), pause: pause, on: group.loops[0])
    }
  }

  /// Starts a simulator; it answers when this returns.
  ///
  /// - Parameter address: port 0 lets the kernel choose; `baseURL` has the real one. `nil`: a free port on loopback.
  /// - Throws: `SystemError` when the address cannot be listened at, or an error that says what is wrong with the users of
  ///   the configuration.
  public static func start(
    _ configuration: Simulator.Configuration = Simulator.Configuration(), on group: EventLoopGroup,
    at address: SocketAddress? = nil
  ) async throws -> Simulator {
    let simulator = try Simulator(configuration, on: group, try Listener(address ?? anyPort))
    do {
      try await simulator.server.start()
    } catch {
      await simulator.stop()
      throw error
    }
    return simulator
  }

  /// Lets all held requests go, ends the changes by itself and closes all connections. To be called before the loops stop.
  public func stop() async {
    await churn?.stop()
    engine.gates.end()
    await server.drain(timeout: .seconds(1))
  }

  private static let anyPort: SocketAddress = {
    // A constant of the program, not input: every test that starts a simulator shows that it parses.
    guard let address = SocketAddress("127.0.0.1:0") else { preconditionFailure("a numeric address with a port") }
    return address
  }()
}
