import EventLoop
import Postgres
import Synchronization

/// Sends notices on one channel after the fact, few and in their own transactions. Losing one is allowed: nobody relies on
/// them.
final class NoticeSender: Sendable {
  private let channel: String
  private let database: Database
  private let limiter = Mutex(NoticeLimiter())

  init(channel: String, database: Database) {
    self.channel = channel
    self.database = database
  }

  /// Returns at once. To be called after what the notice is about was committed.
  func send(_ payload: String) {
    let now = System.monotonicNanoseconds()
    switch limiter.withLock({ $0.add(payload, at: now) }) {
    case .planned: break
    case .now: start { await self.flush() }
    case .at(let time):
      start {
        await Doorbell().wait(upTo: .nanoseconds(Int64(clamping: time &- now)))
        await self.flush()
      }
    }
  }

  private func flush() async {
    let notices = limiter.withLock { $0.take(at: System.monotonicNanoseconds()) }
    if notices.isEmpty { return }
    _ = try? await database.query("SELECT pg_notify(\(channel), n) FROM unnest(\(notices)) AS n")
  }

  private func start(_ body: @escaping @Sendable () async -> Void) {
    if let loop = EventLoop.current {
      Task(executorPreference: loop) { await body() }
    } else {
      Task { await body() }
    }
  }
}
