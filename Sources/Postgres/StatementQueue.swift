import EventLoop

/// Chooses a pipelined connection of its loop for each statement; what is too much for all of them waits here.
///
/// The first connection gets all there is as long as it keeps answering: one server process that is always busy does more
/// than two that take turns, and no answer waits for a process that does not get the processor. As soon as it is silent for
/// a moment, because of a slow statement or a lock, the next one is used, and only what was sent before is held up.
///
/// `@unchecked Sendable`: used on its loop's thread only.
final class StatementQueue: @unchecked Sendable {
  /// Statements under way on one of several connections. More would all be held up together.
  static let depth = 64

  private struct Waiting {
    let query: Query
    let preludes: [Query]
    let origin: Origin
    /// Monotonic nanoseconds.
    let deadline: UInt64
    /// Taken when the caller has been told.
    var completion: Completion?

    mutating func fail(_ error: PostgresError) {
      switch completion.take() {
      case .task(let continuation): continuation.resume(returning: .failure(error))
      case .call(let body): body(.failure(error))
      case nil: break
      }
    }
  }

  private let loop: EventLoop
  private let pipelines: [PipelinedConnection]
  private let limits: Session.Limits
  private let counters: Counters
  private var waiting = FIFO<Waiting>()
  private var timer: TimerID?

  init(loop: EventLoop, pipelines: [PipelinedConnection], limits: Session.Limits, counters: Counters) {
    self.loop = loop
    self.pipelines = pipelines
    self.limits = limits
    self.counters = counters
    for pipeline in pipelines { pipeline.onAnswer = { [weak self] in self?.sendWaiting() } }
  }

  /// With one connection nothing is gained by waiting here instead of there.
  private var depth: Int { pipelines.count > 1 ? min(StatementQueue.depth, limits.inFlight) : limits.inFlight }

  /// Sends a statement, now or when its turn has come. With no connection up it fails at once.
  func send(
    _ query: Query, after preludes: [Query], timeout: Duration?, origin: Origin, _ completion: Completion
  ) {
    let deadline = loop.now &+ (timeout ?? limits.answerTimeout).wholeNanoseconds
    var entry = Waiting(query: query, preludes: preludes, origin: origin, deadline: deadline, completion: completion)
    guard isUp else { return entry.fail(unavailable(query, origin)) }
    if waiting.isEmpty, let session = nextSession {
      session.send(query, after: preludes, timeout: timeout, origin: origin, completion)
    } else if waiting.count < pipelines.count * (limits.inFlight - depth) {
      waiting.append(entry)
      if timer == nil { scheduleCheck() }
    } else {
      counters.overloads.add(1, ordering: .relaxed)
      entry.fail(PostgresError(.overloaded, "too much waits for a connection", sql: query.sql, origin: origin))
    }
  }

  /// A statement was answered, or a connection came up or went away.
  func sendWaiting() {
    while !waiting.isEmpty {
      guard isUp else { return failAll() }
      guard let session = nextSession, var entry = waiting.popFirst() else { return }
      guard let completion = entry.completion.take() else { continue }
      // What is late by a moment only is still sent; the session tells the caller.
      let now = min(loop.now, entry.deadline)
      session.send(
        entry.query, after: entry.preludes, timeout: .nanoseconds(Int64(clamping: entry.deadline - now)),
        origin: entry.origin, completion)
    }
  }

  /// Fails what waits.
  func stop() {
    if let timer { loop.cancel(timer) }
    timer = nil
    failAll()
  }

  /// Whether there is a connection.
  var isUp: Bool { pipelines.contains { $0.session?.isUsable == true } }

  /// The first that answers, if it has room; behind one that is silent, only when all are.
  private var nextSession: Session? {
    var best: Session?
    var answers = false
    for pipeline in pipelines {
      guard let session = pipeline.session, session.isUsable else { continue }
      let hasRoom = session.load < depth
      if session.isSilent {
        if hasRoom, best.map({ session.load < $0.load }) ?? true { best = session }
      } else {
        if hasRoom { return session }
        answers = true
      }
    }
    return answers ? nil : best
  }

  private func failAll() {
    while var entry = waiting.popFirst() { entry.fail(unavailable(entry.query, entry.origin)) }
  }

  private func unavailable(_ query: Query, _ origin: Origin) -> PostgresError {
    let reason = pipelines.lazy.compactMap(\.failure).first
    return PostgresError(.unavailable, reason?.message ?? "not connected", sql: query.sql, origin: origin)
  }

  private func late(_ entry: Waiting) -> PostgresError {
    counters.timeouts.add(1, ordering: .relaxed)
    return PostgresError(.timeout, "no connection in time", sql: entry.query.sql, origin: entry.origin)
  }

  /// Looks at deadlines, and for connections that have fallen silent, while something waits.
  private func scheduleCheck() {
    timer = loop.schedule(after: .milliseconds(10)) { [weak self] in self?.check() }
  }

  private func check() {
    timer = nil
    let now = loop.now
    for position in 0..<waiting.count {
      let expired = waiting.modify(position) { entry -> Waiting? in
        guard entry.deadline <= now, entry.completion != nil else { return nil }
        defer { entry.completion = nil }
        return entry
      }
      guard var expired = expired ?? nil else { continue }
      expired.fail(late(expired))
    }
    sendWaiting()
    if !waiting.isEmpty { scheduleCheck() }
  }
}
