import EventLoop
import Glibc
import Synchronization

/// Signals as events: blocked in all threads, taken by one that waits for them.
///
/// `block` must come first, on the first thread and before there is any other, so that all inherit the mask.
final class Signals: Sendable {
  /// What the process is told.
  enum Event: Sendable { case terminate, reload }

  let events: AsyncStream<Event>
  private let isStarting = Atomic(true)

  /// Keeps these signals from ending the process by themselves.
  static func block() {
    var set = signals
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  private static var signals: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, signal) }
    return set
  }

  init() throws {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    self.events = events
    var thread = pthread_t()
    let context = Unmanaged.passRetained(Box(self, continuation)).toOpaque()
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<Box>.fromOpaque(context).takeRetainedValue().wait()
        return nil
      }, context)
    if code != 0 { throw SystemError("pthread_create", code: code) }
    pthread_detach(thread)
  }

  /// From now on `terminate` is an event. Until then there is nothing to drain, and steps that nobody can call off, such as
  /// connecting to a database that is silent: the process just ends. A private cluster's server sees that and ends too.
  func hasStarted() { isStarting.store(false, ordering: .relaxed) }

  private final class Box: Sendable {
    private let signals: Signals
    private let continuation: AsyncStream<Event>.Continuation

    init(_ signals: Signals, _ continuation: AsyncStream<Event>.Continuation) {
      self.signals = signals
      self.continuation = continuation
    }

    func wait() {
      var set = Signals.signals
      var isEnding = false
      while true {
        var number: Int32 = 0
        guard sigwait(&set, &number) == 0 else { continue }
        if number == SIGHUP {
          continuation.yield(.reload)
        } else if signals.isStarting.load(ordering: .relaxed) {
          _exit(0)
        } else if isEnding {
          _exit(1)  // asked twice: at once, whatever is under way
        } else {
          isEnding = true
          continuation.yield(.terminate)
        }
      }
    }
  }
}
