import CLibpq
import EventLoop

/// The exclusive connections of one loop: opened when wanted up to a limit, handed to one borrower at a time, waited for in
/// order and with a deadline.
///
/// `@unchecked Sendable`: used on its loop's thread only; `borrow` and `giveBack` hop there.
final class Pool: @unchecked Sendable {
  private typealias Answer = UnsafeContinuation<Result<Session, PostgresError>, Never>

  private struct Waiter {
    let answer: Answer
    let deadline: UInt64
  }

  let loop: EventLoop
  private let recipe: PipelinedConnection.Recipe
  private let counters: Counters
  private let size: Int
  private let maximumWaiters: Int
  private let waitTimeout: Duration
  private var idle: [Session] = []
  private var waiters: [Waiter] = []
  private var connectors: [ObjectIdentifier: Connector] = [:]
  private var lent: [ObjectIdentifier: Session] = [:]
  private var timer: TimerID?
  /// Says which host the next attempt begins with: the one that was connected to last, until that fails.
  private var attempt = 0
  private var isStopped = false

  init(
    loop: EventLoop, recipe: PipelinedConnection.Recipe, size: Int, maximumWaiters: Int, waitTimeout: Duration,
    counters: Counters
  ) {
    self.loop = loop
    self.recipe = recipe
    self.size = size
    self.maximumWaiters = maximumWaiters
    self.waitTimeout = waitTimeout
    self.counters = counters
  }

  /// Callers who wait.
  var waiting: Int { waiters.count }

  /// Waits for a connection of one's own.
  ///
  /// - Throws: `overloaded` when too many wait already, `timeout` when none came free in time, `unavailable` when none can
  ///   be opened.
  func borrow() async throws(PostgresError) -> Session {
    guard loop.isCurrent else {
      return try await loop.hosting { () async throws(PostgresError) in
        guard loop.isCurrent else { throw PostgresError.ended(nil) }
        return try await borrow()
      }
    }
    return try await withUnsafeContinuation { (answer: Answer) in take(answer) }.get()
  }

  /// Returns a connection. One that is still in a transaction is rolled back first; one that is busy is closed.
  func giveBack(_ session: Session) {
    if loop.isCurrent { receive(session) } else { loop.execute { [self] in receive(session) } }
  }

  func stop() {
    isStopped = true
    let reason = PostgresError(.unavailable, "the database was stopped")
    for connector in connectors.values { connector.cancel() }
    connectors = [:]
    for session in idle + Array(lent.values) { session.close(reason) }
    failWaiters(reason)
  }

  private func take(_ answer: Answer) {
    if isStopped {
      return answer.resume(returning: .failure(PostgresError(.unavailable, "the database was stopped")))
    }
    if let session = idle.popLast() {
      lent[ObjectIdentifier(session)] = session
      return answer.resume(returning: .success(session))
    }
    guard waiters.count < maximumWaiters else {
      counters.overloads.add(1, ordering: .relaxed)
      return answer.resume(returning: .failure(PostgresError(.overloaded, "too many wait for a connection")))
    }
    waiters.append(Waiter(answer: answer, deadline: loop.now &+ waitTimeout.wholeNanoseconds))
    openIfNeeded()
    scheduleDeadline()
  }

  private func openIfNeeded() {
    while !isStopped, connectors.count < waiters.count, connectors.count + idle.count + lent.count < size { open() }
  }

  private func open() {
    var key: ObjectIdentifier?
    let attempt = attempt
    let connector = Connector(loop: loop, setup: recipe.setup.sql) { [weak self] result in
      guard let self, let key else { return }
      self.connectors[key] = nil
      self.opened(result, attempt)
    }
    key = ObjectIdentifier(connector)
    connectors[ObjectIdentifier(connector)] = connector
    connector.start(recipe.parameters, attempt: attempt, timeout: recipe.connectTimeout)
  }

  private func opened(_ result: Result<OpaquePointer, PostgresError>, _ made: Int) {
    do throws(PostgresError) {
      let session = try Session(try result.get(), loop: loop, limits: recipe.limits, counters: counters)
      session.onClose = { [weak self, weak session] _ in
        guard let self, let session else { return }
        self.forget(session)
      }
      counters.connects.add(1, ordering: .relaxed)
      attempt = made
      handOut(session)
    } catch {
      // Of several that failed at the same host, one goes on to the next: else two would pass a host over.
      if attempt == made { attempt += 1 }
      // With others open, those who wait may still get one; alone, waiting would not help them.
      if connectors.isEmpty, lent.isEmpty { failWaiters(error) }
    }
  }

  private func handOut(_ session: Session) {
    guard !waiters.isEmpty else { return idle.append(session) }
    lent[ObjectIdentifier(session)] = session
    waiters.removeFirst().answer.resume(returning: .success(session))
  }

  private func forget(_ session: Session) {
    counters.losses.add(1, ordering: .relaxed)
    idle.removeAll { $0 === session }
    // A borrower may still hold it; its place is free at once.
    lent[ObjectIdentifier(session)] = nil
    openIfNeeded()
  }

  private func receive(_ session: Session) {
    lent[ObjectIdentifier(session)] = nil
    guard session.isUsable, !isStopped else {
      session.close(PostgresError(.unavailable, "given back"))
      return openIfNeeded()
    }
    switch session.load == 0 ? session.transactionStatus : PQTRANS_UNKNOWN {
    case PQTRANS_IDLE:
      handOut(session)
    case PQTRANS_INTRANS, PQTRANS_INERROR:
      lent[ObjectIdentifier(session)] = session
      session.send(
        "ROLLBACK", origin: Origin(file: #fileID, line: #line),
        .call { [weak self, weak session] result in
          guard let self, let session, session.isOpen else { return }
          if case .failure(let error) = result { session.close(error) } else { self.receive(session) }
        })
    default:
      session.close(PostgresError(.unavailable, "given back while a statement was under way"))
    }
  }

  private func scheduleDeadline() {
    guard timer == nil, let first = waiters.first else { return }
    timer = loop.schedule(at: first.deadline) { [weak self] in self?.dropLate() }
  }

  private func dropLate() {
    timer = nil
    let now = loop.now
    while let first = waiters.first, first.deadline <= now {
      waiters.removeFirst()
      counters.timeouts.add(1, ordering: .relaxed)
      first.answer.resume(returning: .failure(PostgresError(.timeout, "no connection came free in time")))
    }
    scheduleDeadline()
  }

  private func failWaiters(_ error: PostgresError) {
    let failed = waiters
    waiters = []
    for waiter in failed { waiter.answer.resume(returning: .failure(error)) }
  }
}
