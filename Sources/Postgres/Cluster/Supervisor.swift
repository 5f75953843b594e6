import CLinux
import EventLoop
import Glibc

/// Runs the server of a private cluster on a thread of its own, and runs it again with back-off when it ends unasked.
///
/// The thread matters: the kernel sends the server its signal when the *thread* that started it ends, so it must live as
/// long as the cluster. When the process dies, all its threads do.
final class Supervisor: Sendable {
  private struct State {
    var process: pid_t?
    var isStopping = false
    var hasEnded = false
    /// Ends in a row without having lived for a while.
    var failures = 0
  }

  private let program: String
  private let arguments: [String]
  private let user: ChildProcess.User?
  private let log: String
  private let prepare: @Sendable () -> Void
  private let state = Lock(State())

  /// - Parameter prepare: called before each start of the server.
  init(
    program: String, arguments: [String], user: ChildProcess.User?, log: String, prepare: @escaping @Sendable () -> Void
  ) {
    self.program = program
    self.arguments = arguments
    self.user = user
    self.log = log
    self.prepare = prepare
  }

  var process: pid_t? { state.withLock { $0.process } }
  var failures: Int { state.withLock { $0.failures } }

  /// `false`: no thread can be started.
  func start() -> Bool { OwnThread.start { [self] in run() } }

  private func run() {
    var backoff = Backoff()
    while !state.withLock({ $0.isStopping }) {
      let started = System.monotonicNanoseconds()
      prepare()
      if launch() { waitForEnd() }
      if System.monotonicNanoseconds() - started > 5_000_000_000 {
        backoff.reset()
        state.withLock { $0.failures = 0 }
      }
      state.withLock { $0.failures += 1 }
      pause(backoff.next())
    }
    state.withLock { $0.hasEnded = true }
  }

  private func launch() -> Bool {
    let output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard output >= 0 else { return false }
    defer { System.close(output) }
    // Under the lock, so that `stop` either finds the process or keeps it from being started.
    return state.withLock { state in
      guard !state.isStopping else { return false }
      state.process = try? ChildProcess.start(program, arguments, user: user, output: output, deathSignal: SIGINT)
      return state.process != nil
    }
  }

  private func waitForEnd() {
    guard let process = state.withLock({ $0.process }) else { return }
    _ = clinux_wait_for_end(process)
    // Not reaped yet: nobody can send a signal to a stranger who got its number.
    state.withLock { state in
      state.process = nil
      _ = ChildProcess.wait(process)
    }
  }

  private func pause(_ delay: Duration) {
    let end = System.monotonicNanoseconds() + delay.wholeNanoseconds
    while System.monotonicNanoseconds() < end, !state.withLock({ $0.isStopping }) { usleep(10_000) }
  }

  /// Ends the server: in order within 20 s, else at once. Blocks.
  ///
  /// - Parameter inOrder: whether its data are to be left as they should be.
  func stop(inOrder: Bool = true) {
    state.withLock { $0.isStopping = true }
    for (signal, seconds) in [(SIGINT, 20), (SIGQUIT, 5), (SIGKILL, 5)] where inOrder || signal != SIGINT {
      state.withLock { state in
        if let process = state.process { _ = kill(process, signal) }
      }
      let deadline = System.monotonicNanoseconds() + UInt64(seconds) * 1_000_000_000
      while System.monotonicNanoseconds() < deadline {
        if state.withLock({ $0.hasEnded }) { return }
        usleep(5_000)
      }
    }
  }
}
