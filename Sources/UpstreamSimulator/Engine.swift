import EventLoop
import HTTP
import HTTPServer

/// Takes requests through gates, delays and faults to their answers. The only place where a request waits.
final class Engine: Sendable {
  let world: Lock<World>
  let gates = Gates()
  /// Longest delay of one answer, in milliseconds.
  static let maxDelay = 600_000

  init(_ world: World) { self.world = Lock(world) }

  func respond(_ request: Request) async -> Response {
    let target = request.target
    if target.segments.first == "_sim" { return await SteeringAPI(self).respond(request, target) }
    let ask = Ask(method: request.method, target: target, fields: request.fields)
    let entry = world.withLock { $0.enter(ask) }
    await gates.pass(target.description) { $0.matches(target) }
    let (fault, milliseconds) = world.withLock { $0.interfere(ask) }
    if milliseconds > 0 { await Engine.wait(milliseconds, on: request.loop) }
    return world.withLock { $0.answer(ask, entry, fault: fault) }.response
  }

  private static func wait(_ milliseconds: Int, on loop: EventLoop) async {
    let delay = Duration.milliseconds(min(milliseconds, maxDelay))
    // A cancelled wait only means that the answer comes earlier.
    if loop.isCurrent {
      try? await loop.sleep(for: delay)
    } else {
      try? await loop.run { try await loop.sleep(for: delay) }
    }
  }

  /// Changes people or lists of somebody named by login, hidden people included.
  func withPerson<R>(
    _ login: String, _ body: (inout World, Int64) throws -> R
  ) throws -> R {
    try world.withLock { world in
      guard let id = world.network.id(ofLogin: login) else {
        throw Network.Refusal(description: "nobody is called \(login)")
      }
      return try body(&world, id)
    }
  }
}
