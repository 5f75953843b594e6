/// Something that is resumed exactly once, by whichever of several parties comes first. Loop-bound.
private final class OneShot<Success: Sendable>: @unchecked Sendable {
  // Safe: `resume` is only called on the loop's thread, where the continuation was stored.
  private var continuation: CheckedContinuation<Success, any Error>?

  init(_ continuation: CheckedContinuation<Success, any Error>) { self.continuation = continuation }

  func resume(with result: Result<Success, any Error>) {
    continuation?.resume(with: result)
    continuation = nil
  }
}

/// Carries a cancellation from the thread it happens on to the loop, whichever of the two comes first.
private final class Cancellation: Sendable {
  private struct State {
    var cancelled = false
    var action: (@Sendable () -> Void)?
  }
  private let state = Lock(State())

  func cancel() {
    let action = state.withLock { state in
      state.cancelled = true
      return state.action
    }
    action?()
  }

  func arm(_ action: @escaping @Sendable () -> Void) {
    let already = state.withLock { state in
      state.action = action
      return state.cancelled
    }
    if already { action() }
  }
}

extension EventLoop {
  /// Waits on the loop's own timers, without a thread of Dispatch. Call it from a task that runs on this loop.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(for delay: Duration) async throws {
    preconditionCurrent()
    let cancellation = Cancellation()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let once = OneShot(continuation)
        let timer = schedule(after: delay) { once.resume(with: .success(())) }
        cancellation.arm { [self] in
          execute {
            self.cancel(timer)
            once.resume(with: .failure(CancellationError()))
          }
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Moves the calling task to the loop for as long as `body` lasts, from any thread. On the loop it costs little, but more
  /// than not calling it.
  ///
  /// Code that keeps a continuation for the loop to resume waits for it in here, so that nobody waits for it elsewhere. That
  /// matters to the thread sanitizer: a continuation that is resumed before its task has gone to sleep is handed over inside
  /// the runtime, unseen, and everything that came with it would look like a race between two threads.
  ///
  /// When the loop has ended, `body` runs elsewhere: it must look at `isCurrent` before it touches what is the loop's.
  public func hosting<Success, Failure: Error>(
    _ body: () async throws(Failure) -> Success
  ) async throws(Failure) -> Success {
    try await withTaskExecutorPreference(self, operation: body)
  }

  /// Runs `body` as a task on the loop and waits for it, from any thread. Cancelling the caller cancels the task.
  public func run<Success: Sendable>(_ body: @escaping @Sendable () async throws -> Success) async throws -> Success {
    // Else the task could be done before word of the cancellation reaches it.
    try Task.checkCancellation()
    let task = Task(executorPreference: self) { try await body() }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
