import CLibpq
import EventLoop

/// A live connection in pipeline mode: any number of statements under way, one sync each, answers in order.
///
/// One sync a statement makes each its own transaction: with one sync for several, an error in a later one would undo an
/// earlier one that was already answered. The socket is watched level-triggered, since libpq does not read until the
/// socket is empty.
///
/// `@unchecked Sendable`: used on its loop's thread only; `query` hops there.
final class Session: ReadinessHandler, @unchecked Sendable {
  let loop: EventLoop
  let limits: Limits
  private let connection: OpaquePointer
  private var registration: Registration?
  private var waitsForWrite = false
  private var pending: FIFO<Pending>
  private var statements = StatementCache()
  private var bytesInFlight = 0
  private var timer: TimerID?
  private var lastHeard: UInt64
  /// Set once no new statements are wanted: the session closes when those under way are answered.
  private var retirement: PostgresError?
  private(set) var isOpen = true
  private let counters: Counters

  /// Told once, after all statements under way have been failed. Set by the owner.
  var onClose: ((PostgresError) -> Void)?
  /// Told after each answer, when the owner wants to know.
  var onAnswer: (() -> Void)?
  /// Told of notifications, when the owner wants them.
  var onNotice: ((_ channel: String, _ payload: String) -> Void)?

  /// Takes over a connection that is set up and idle.
  init(_ connection: OpaquePointer, loop: EventLoop, limits: Limits, counters: Counters) throws(PostgresError) {
    loop.preconditionCurrent()
    self.connection = connection
    self.loop = loop
    self.limits = limits
    self.counters = counters
    pending = FIFO(capacity: 64)
    lastHeard = loop.now
    guard PQenterPipelineMode(connection) == 1 else {
      let error = PostgresError(.unavailable, connection: connection)
      PQfinish(connection)
      throw error
    }
    do throws(SystemError) {
      registration = try loop.register(PQsocket(connection), for: .read, trigger: .level, self)
    } catch {
      PQfinish(connection)
      throw PostgresError(.unavailable, "\(error)")
    }
  }

  deinit {
    // `close` has run, unless the loop ended first: then the socket is no longer watched by anybody.
    if isOpen { PQfinish(connection) }
  }

  /// Statements under way.
  var load: Int { pending.count }
  /// Whether statements are under way and nothing has come back for a moment.
  var isSilent: Bool { !pending.isEmpty && loop.now &- lastHeard > Session.moment }
  private static let moment: UInt64 = 5_000_000
  /// Whether new statements are taken.
  var isUsable: Bool { isOpen && retirement == nil }
  /// libpq's view of the transaction; reliable only while nothing is under way.
  var transactionStatus: PGTransactionStatusType { isOpen ? PQtransactionStatus(connection) : PQTRANS_UNKNOWN }

  // MARK: Sending

  /// Sends a statement, after `preludes` in the same transaction. The completion is called exactly once.
  func send(
    _ query: Query, after preludes: [Query] = [], timeout: Duration? = nil, origin: Origin, _ completion: Completion
  ) {
    let wait = timeout ?? limits.answerTimeout
    var entry = Pending(
      query: query, preludes: preludes, origin: origin, deadline: loop.now &+ wait.wholeNanoseconds, wait: wait,
      statement: nil, resultsBefore: 0, isPreparing: false, wasRetried: false, completion: completion, rows: nil,
      failure: nil)
    if let refusal = refusal(of: query, preludes) {
      entry.complete(.failure(refusal(origin)))
    } else {
      transmit(entry)
    }
  }

  private func refusal(of query: Query, _ preludes: [Query]) -> ((Origin) -> PostgresError)? {
    if !isUsable { return { PostgresError(.unavailable, "the connection is closed", sql: query.sql, origin: $0) } }
    if pending.count >= limits.inFlight
      || (!pending.isEmpty && bytesInFlight + query.bindings.bytes.count > limits.bytesInFlight)
    {
      counters.overloads.add(1, ordering: .relaxed)
      return { PostgresError(.overloaded, "too much under way on this connection", sql: query.sql, origin: $0) }
    }
    if let error = query.unsendable { return error }
    for prelude in preludes {
      if let error = prelude.unsendable { return error }
    }
    return nil
  }

  private func transmit(_ pendingEntry: consuming Pending) {
    var entry = pendingEntry
    var sent = true
    for prelude in entry.preludes {
      sent = sent && prelude.sendPlain(connection)
      entry.resultsBefore += 1
    }
    switch statements.choose(entry.query) {
    case .prepared(let statement):
      entry.statement = statement
      sent = sent && entry.query.send(statement, connection)
    case .prepare(let statement):
      entry.statement = statement
      entry.isPreparing = true
      entry.resultsBefore += 1
      sent = sent && statement.sendPreparation(connection) && entry.query.send(statement, connection)
    case .plain:
      sent = sent && entry.query.sendPlain(connection)
    }
    // libpq 15 writes to the socket inside of the sync.
    sent = sent && PQpipelineSync(connection) == 1
    bytesInFlight += entry.query.bindings.bytes.count
    if pending.isEmpty { lastHeard = loop.now }
    pending.append(entry)
    counters.statements.add(1, ordering: .relaxed)
    guard sent else { return close(PostgresError(.connectionLost, connection: connection)) }
    flush()
    if timer == nil { scheduleCheck() }
  }

  private func flush() {
    let left = PQflush(connection)
    if left < 0 { return close(PostgresError(.connectionLost, connection: connection)) }
    if (left == 1) != waitsForWrite, let registration {
      waitsForWrite = left == 1
      loop.modify(registration, for: waitsForWrite ? [.read, .write] : .read, trigger: .level)
    }
  }

  // MARK: Receiving

  func ready(_ readiness: Readiness) {
    guard isOpen else { return }
    lastHeard = loop.now
    let healthy = PQconsumeInput(connection) == 1
    receive()
    if let onNotice, isOpen { deliverNotices(onNotice) }
    guard isOpen else { return }
    if !healthy { return close(PostgresError(.connectionLost, connection: connection)) }
    if waitsForWrite { flush() }
  }

  private func receive() {
    var emptyInARow = 0
    while isOpen, !pending.isEmpty, PQisBusy(connection) == 0 {
      guard let result = PQgetResult(connection) else {
        // Ends the results of one statement before the sync. More than a few in a row: nothing will come any more.
        emptyInARow += 1
        if emptyInARow > 8 { return close(PostgresError(.connectionLost, connection: connection)) }
        continue
      }
      emptyInARow = 0
      if PQresultStatus(result) == PGRES_PIPELINE_SYNC {
        PQclear(result)
        finishFirst()
        continue
      }
      let isCopy = pending.modify(0) { $0.take(result) } == false
      if isCopy { return close(PostgresError(.connectionLost, "COPY is not supported")) }
      if let lost = pending.modify(0, { $0.failure })??.ifConnectionLost { return close(lost) }
    }
  }

  private func finishFirst() {
    guard var entry = pending.popFirst() else { return }
    bytesInFlight -= entry.query.bindings.bytes.count
    if entry.failure != nil, handled(&entry) { return }
    entry.complete()
    if let retirement, pending.isEmpty { return close(retirement) }
    onAnswer?()
  }

  /// What an error means for the session. `true` when the statement is under way again.
  private func handled(_ entry: inout Pending) -> Bool {
    if entry.preparationFailed { statements.forget(entry.query) }
    guard let failure = entry.failure else { return false }
    if failure.sqlState == .readOnlyTransaction {
      // A standby, or a server that has become one: those behind it get their answers, new ones go elsewhere.
      retire(failure)
    } else if failure.saysPreparationIsOutdated, entry.statement != nil, !entry.isPreparing {
      statements.forget(entry.query)
      if limits.isShared, !entry.wasRetried, isUsable, entry.completion != nil {
        entry.wasRetried = true
        entry.failure = nil
        entry.statement = nil
        entry.resultsBefore = 0
        PQclear(entry.rows.take())
        transmit(entry)
        return true
      }
    }
    return false
  }

  private func deliverNotices(_ body: (String, String) -> Void) {
    while isOpen, let notice = PQnotifies(connection) {
      let channel = String(cString: notice.pointee.relname)
      let payload = String(cString: notice.pointee.extra)
      PQfreemem(notice)
      body(channel, payload)
    }
  }

  // MARK: Time

  /// Looks at deadlines ten times a second while something is under way, instead of one timer a statement.
  private func scheduleCheck() {
    timer = loop.schedule(after: .milliseconds(100)) { [weak self] in self?.check() }
  }

  /// A caller who waits for longer than others do has said that the server may be silent for as long.
  private var silenceLimit: Duration {
    var longest = limits.answerTimeout
    for position in 0..<pending.count { longest = max(longest, pending.modify(position) { $0.wait } ?? .zero) }
    return limits.silenceTimeout - limits.answerTimeout + longest
  }

  private func check() {
    timer = nil
    guard isOpen, !pending.isEmpty else { return }
    let now = loop.now
    // Callers whose time is up first: what they hear must not depend on whether the silence was noticed in the same moment.
    for position in 0..<pending.count {
      // Its results are still to come; only the caller is released.
      let late = pending.modify(position) { entry -> Pending? in
        guard entry.deadline <= now, let completion = entry.completion.take() else { return nil }
        var released = entry
        released.rows = nil
        released.completion = completion
        return released
      }
      guard var late = late ?? nil else { continue }
      counters.timeouts.add(1, ordering: .relaxed)
      late.complete(.failure(PostgresError(.timeout, "no answer in time", sql: late.query.sql, origin: late.origin)))
      if !isOpen { return }  // the caller may have closed it
    }
    if now &- lastHeard > silenceLimit.wholeNanoseconds {
      return close(PostgresError(.timeout, "the server was silent for \(silenceLimit)"))
    }
    scheduleCheck()
  }

  // MARK: Ending

  /// Takes no new statements and closes once those under way are answered.
  func retire(_ reason: PostgresError) {
    guard isUsable else { return }
    retirement = reason
    if pending.isEmpty { close(reason) }
  }

  /// Fails everything under way and closes the connection.
  func close(_ reason: PostgresError) {
    loop.preconditionCurrent()
    guard isOpen else { return }
    isOpen = false
    if let registration { loop.cancel(registration) }
    registration = nil
    if let timer { loop.cancel(timer) }
    timer = nil
    PQfinish(connection)
    while var entry = pending.popFirst() { entry.abandon(reason) }
    let told = onClose.take()
    onNotice = nil
    onAnswer = nil
    told?(reason)
  }
}

extension PostgresError {
  fileprivate var ifConnectionLost: PostgresError? { kind == .connectionLost ? self : nil }
}
