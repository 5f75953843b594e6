import Postgres
import Synchronization

/// What a process hears from PostgreSQL: one listening connection for all channels, however many parts of the process care.
///
/// Notices are hints. They can be late or lost, and a listener must look by itself now and then.
public final class Notices: Sendable {
  /// Called with the payload, on any thread. `nil`: notices may have been missed, look now.
  public typealias Listener = @Sendable (_ payload: String?) -> Void

  private let database: Database
  private let state = Mutex(State())

  private struct State {
    var listeners: [String: [Listener]] = [:]
    var hasStarted = false
  }

  /// Listens to nothing yet.
  public init(database: Database) { self.database = database }

  /// Adds a listener. All must be there before `start`.
  public func on(_ channel: String, _ listener: @escaping Listener) {
    state.withLock { state in
      precondition(!state.hasStarted, "listeners are added before the start")
      state.listeners[channel, default: []].append(listener)
    }
  }

  /// Connects, and keeps connecting, until the database is stopped.
  public func start() {
    let listeners = state.withLock { state in
      state.hasStarted = true
      return state.listeners
    }
    if listeners.isEmpty { return }
    database.listen(
      listeners.keys.sorted(),
      onNotice: { channel, payload in
        for listener in listeners[channel] ?? [] { listener(payload) }
      },
      onGap: {
        for listener in listeners.values.joined() { listener(nil) }
      })
  }
}
