import EventLoop
import Glibc
import Synchronization

/// Hashes passwords on threads of its own, so that no event loop waits for them, and with a bound on how many wait.
public final class PasswordWorkers: Sendable {
  /// Too many sign-ins at once; the caller should be asked to come back.
  public struct Busy: Error {}

  private struct State {
    /// Of people whose device is known, and of others: a crowd of strangers does not keep them out.
    var urgent: [@Sendable () -> Void] = []
    var waiting: [@Sendable () -> Void] = []
    var running = 0

    mutating func next() -> (@Sendable () -> Void)? {
      if !urgent.isEmpty { return urgent.removeFirst() }
      return waiting.isEmpty ? nil : waiting.removeFirst()
    }
  }

  private enum Step { case start, wait, refuse }

  private let state = Mutex(State())
  private let begun = Atomic(0)
  private let threads: Int
  private let limit: Int

  /// - Parameters:
  ///   - threads: hashes computed at once, each 32 MiB and one core.
  ///   - limit: hashes waiting for a thread, and as many urgent ones; one more is refused.
  public init(threads: Int = 1, limit: Int = 32) {
    self.threads = threads
    self.limit = limit
  }

  /// How many wait for a thread.
  var waiting: (ordinary: Int, urgent: Int) { state.withLock { ($0.waiting.count, $0.urgent.count) } }

  /// How many hashes were begun. For tests and metrics.
  public var count: Int { begun.load(ordering: .relaxed) }

  /// Computes `body` on a thread of the pool.
  ///
  /// - Parameter isUrgent: goes before what is not, and has a queue of its own.
  /// - Throws: `Busy` when the queue is full.
  public func run<R: Sendable>(isUrgent: Bool = false, _ body: @escaping @Sendable () -> R) async throws -> R {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<R, any Error>) in
      let work: @Sendable () -> Void = { [self] in
        begun.add(1, ordering: .relaxed)
        continuation.resume(returning: body())
      }
      let step = state.withLock { state -> Step in
        if state.running < threads {
          state.running += 1
          return .start
        }
        if (isUrgent ? state.urgent.count : state.waiting.count) >= limit { return .refuse }
        if isUrgent { state.urgent.append(work) } else { state.waiting.append(work) }
        return .wait
      }
      switch step {
      case .wait: break
      case .refuse: continuation.resume(throwing: Busy())
      case .start: if !startThread(with: work) { drain(work) }
      }
    }
  }

  /// What a thread begins with.
  private final class Beginning {
    let workers: PasswordWorkers
    let work: @Sendable () -> Void

    init(_ workers: PasswordWorkers, _ work: @escaping @Sendable () -> Void) {
      self.workers = workers
      self.work = work
    }
  }

  /// Threads live as long as there is work: signing in is rare, and an idle server should own none.
  private func startThread(with work: @escaping @Sendable () -> Void) -> Bool {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(Beginning(self, work)).toOpaque()
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        let beginning = Unmanaged<Beginning>.fromOpaque(context).takeRetainedValue()
        // The loops go first: an answer that is ready should not wait for a hash that takes a tenth of a second.
        System.lowerPriorityOfThisThread()
        beginning.workers.drain(beginning.work)
        // Gives the 32 MiB of each hash back to the system at once.
        System.releaseFreeMemory()
        return nil
      }, context)
    if code != 0 {
      Unmanaged<Beginning>.fromOpaque(context).release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  private func drain(_ first: @escaping @Sendable () -> Void) {
    var next: (@Sendable () -> Void)? = first
    while let work = next {
      work()
      next = state.withLock { state in
        let work = state.next()
        if work == nil { state.running -= 1 }
        return work
      }
    }
  }
}
