import Glibc

/// Work that blocks and happens rarely (migrations, the private cluster): it gets a thread of its own, so that neither a
/// loop nor the global pool waits for it.
enum OwnThread {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  /// Runs `body` on a new thread and waits for it without blocking.
  ///
  /// - Throws: what `body` throws, or `PostgresError` of kind `unavailable` when there is no thread to be had.
  static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, any Error>, Never>) in
      let started = start { continuation.resume(returning: Result { try body() }) }
      if !started {
        continuation.resume(returning: .failure(PostgresError(.unavailable, "no thread can be started")))
      }
    }
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
