import CLibpq
import EventLoop

/// Keeps one session up for statements that share it: connects, and connects again with back-off, for as long as it is not
/// stopped.
///
/// `@unchecked Sendable`: used on its loop's thread only.
final class PipelinedConnection: @unchecked Sendable {
  /// All that is needed to make sessions.
  struct Recipe: Sendable {
    let parameters: ConnectionParameters
    let setup: SessionSetup
    let connectTimeout: Duration
    let limits: Session.Limits
  }

  private let loop: EventLoop
  private let recipe: Recipe
  private let counters: Counters
  private var connector: Connector?
  private var timer: TimerID?
  private var backoff = Backoff()
  /// Says which host the next attempt begins with: the one that was connected to last, until that fails.
  private var attempt = 0
  private var openedAt: UInt64 = 0
  private var isStopped = false
  private(set) var session: Session?
  /// Why there is no session.
  private(set) var failure: PostgresError?
  /// Called after each session came up, and after each failed attempt with its error.
  var onChange: ((PostgresError?) -> Void)?
  /// Called after each answer of a session.
  var onAnswer: (() -> Void)?

  /// A session that lived this long was a good one: the next attempt after it is made soon.
  private static let goodLife: UInt64 = 2_000_000_000

  init(loop: EventLoop, recipe: Recipe, counters: Counters) {
    self.loop = loop
    self.recipe = recipe
    self.counters = counters
  }

  func start() {
    loop.preconditionCurrent()
    guard !isStopped, connector == nil, session == nil else { return }
    let connector = Connector(loop: loop, setup: recipe.setup.sql) { [weak self] in self?.connected($0) }
    self.connector = connector
    connector.start(recipe.parameters, attempt: attempt, timeout: recipe.connectTimeout)
  }

  func stop() {
    isStopped = true
    connector?.cancel()
    connector = nil
    if let timer { loop.cancel(timer) }
    timer = nil
    session?.close(PostgresError(.unavailable, "the database was stopped"))
  }

  private func connected(_ result: Result<OpaquePointer, PostgresError>) {
    connector = nil
    do throws(PostgresError) {
      let session = try Session(try result.get(), loop: loop, limits: recipe.limits, counters: counters)
      session.onAnswer = onAnswer
      session.onClose = { [weak self] in self?.closed($0) }
      self.session = session
      failure = nil
      openedAt = loop.now
      counters.connects.add(1, ordering: .relaxed)
      counters.up.add(1, ordering: .relaxed)
      onChange?(nil)
    } catch {
      attempt += 1
      failed(error)
    }
  }

  private func closed(_ reason: PostgresError) {
    session = nil
    counters.up.subtract(1, ordering: .relaxed)
    counters.losses.add(1, ordering: .relaxed)
    if loop.now &- openedAt >= PipelinedConnection.goodLife { backoff.reset() }
    failed(reason)
  }

  private func failed(_ error: PostgresError) {
    failure = error
    onChange?(error)
    guard !isStopped, timer == nil else { return }
    timer = loop.schedule(after: backoff.next()) { [weak self] in
      self?.timer = nil
      self?.start()
    }
  }
}
