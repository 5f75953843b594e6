import EventLoop
import Glibc

/// Work that blocks and happens rarely (migrations, the private cluster): it gets a thread of its own, so that neither a
/// loop nor the global pool waits for it.
enum OwnThread {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  /// Where a thread leaves what came of it. Not with the continuation: the task may not be asleep yet when it is resumed, and
  /// the runtime's way of handing over is unseen by the thread sanitizer then.
  private final class Outcome<Value: Sendable>: Sendable {
    let result = Lock<Result<Value, any Error>?>(nil)
  }

  /// Runs `body` on a new thread and waits for it without blocking.
  ///
  /// - Throws: what `body` throws, or `PostgresError` of kind `unavailable` when there is no thread to be had.
  static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let outcome = Outcome<Value>()
    await withCheckedContinuation { continuation in
      let started = start {
        outcome.result.withLock { $0 = Result { try body() } }
        continuation.resume()
      }
      if !started { continuation.resume() }
    }
    let result = outcome.result.withLock { $0 }
    guard let result else { throw PostgresError(.unavailable, "no thread can be started") }
    return try result.get()
  }

  /// Starts a thread that nobody waits for. `false`: the system refused; `body` will not run.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context)
    guard code == 0 else {
      Unmanaged<Body>.fromOpaque(context).release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}
