import EventLoop
import Glibc

/// Waits, on a thread of its own, to take the place of the process that runs a cluster's server.
final class Succession: Sendable {
  private struct State {
    var isStopping = false
    var hasEnded = false
  }

  /// Microseconds between two attempts. The kernel would wake a waiter for the lock, but nobody could call that waiter off.
  private static let pause: UInt32 = 100_000

  private let attempt: @Sendable () -> Bool
  private let state = Lock(State())

  /// - Parameter attempt: takes the place if it is free; `true` ends the wait.
  init(_ attempt: @escaping @Sendable () -> Bool) { self.attempt = attempt }

  /// `false`: no thread can be started.
  func start() -> Bool {
    let isStarted = OwnThread.start { [self] in
      while !state.withLock({ $0.isStopping }), !attempt() { usleep(Succession.pause) }
      state.withLock { $0.hasEnded = true }
    }
    if !isStarted { state.withLock { $0.hasEnded = true } }
    return isStarted
  }

  /// Calls the wait off, or lets an attempt that is under way come to its end. Blocks.
  func stop() {
    state.withLock { $0.isStopping = true }
    while !state.withLock({ $0.hasEnded }) { usleep(5_000) }
  }
}
