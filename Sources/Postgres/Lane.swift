import EventLoop
import Synchronization

/// What one loop has of a database: pipelined connections and its part of the pool.
///
/// `@unchecked Sendable`: used on its loop's thread only, but for `isUp`, which is atomic.
final class Lane: @unchecked Sendable {
  let loop: EventLoop
  let pool: Pool
  /// Whether a statement would be sent now. Read by any thread, and a moment old for those of others.
  let isUp = Atomic<Bool>(false)
  private let pipelines: [PipelinedConnection]
  private let statements: StatementQueue
  private var firstUp: ((Result<Void, PostgresError>) -> Void)?
  private var timer: TimerID?
  private var listenings: [Listening] = []
  private var isStopped = false

  init(loop: EventLoop, pipelines: [PipelinedConnection], statements: StatementQueue, pool: Pool) {
    self.loop = loop
    self.pipelines = pipelines
    self.statements = statements
    self.pool = pool
  }

  /// Connects; `completion` hears of the first session, or of the last failure when the time is up.
  func start(timeout: Duration, _ completion: @escaping (Result<Void, PostgresError>) -> Void) {
    loop.preconditionCurrent()
    firstUp = completion
    timer = loop.schedule(after: timeout) { [weak self] in
      guard let self else { return }
      let failure = pipelines.lazy.compactMap(\.failure).first
      answer(.failure(failure ?? PostgresError(.unavailable, "no connection within \(timeout)")))
    }
    for pipeline in pipelines {
      pipeline.onChange = { [weak self] failure in
        guard let self else { return }
        isUp.store(statements.isUp, ordering: .relaxed)
        if failure == nil { answer(.success(())) }
        statements.sendWaiting()
      }
      pipeline.start()
    }
  }

  func listen(_ listening: Listening) {
    guard !isStopped else { return }
    listenings.append(listening)
    listening.start()
  }

  func stop() {
    isStopped = true
    for listening in listenings { listening.stop() }
    listenings = []
    for pipeline in pipelines { pipeline.stop() }
    statements.stop()
    pool.stop()
    answer(.failure(PostgresError(.unavailable, "the database was stopped")))
  }

  private func answer(_ result: Result<Void, PostgresError>) {
    if let timer { loop.cancel(timer) }
    timer = nil
    firstUp.take()?(result)
  }

  /// For callers from elsewhere, hosted by the loop.
  func query(
    _ query: Query, after preludes: [Query], timeout: Duration?, origin: Origin
  ) async throws(PostgresError) -> Rows {
    guard loop.isCurrent else { throw PostgresError.ended(origin) }
    return try await withUnsafeContinuation { continuation in
      send(query, after: preludes, timeout: timeout, origin: origin, continuation)
    }.get()
  }

  /// Sends a statement on the session with the least under way; with none, fails at once.
  func send(
    _ query: Query, after preludes: [Query], timeout: Duration?, origin: Origin,
    _ continuation: UnsafeContinuation<Result<Rows, PostgresError>, Never>
  ) {
    statements.send(query, after: preludes, timeout: timeout, origin: origin, .task(continuation))
  }
}
