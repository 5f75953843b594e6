import EventLoop

/// Listens on a connection of its own: LISTEN after every connecting, a ping every 10 s that finds out when the connection
/// is dead without saying so, and connecting again.
///
/// `@unchecked Sendable`: used on its loop's thread only.
final class Listening: @unchecked Sendable {
  private let loop: EventLoop
  private let connection: PipelinedConnection
  private let statements: [Query]
  private let onNotice: @Sendable (String, String) -> Void
  private let onGap: @Sendable () -> Void
  private let pingInterval: Duration
  private var timer: TimerID?

  init(
    loop: EventLoop, recipe: PipelinedConnection.Recipe, channels: [String], pingInterval: Duration,
    onNotice: @escaping @Sendable (String, String) -> Void, onGap: @escaping @Sendable () -> Void
  ) {
    self.loop = loop
    self.pingInterval = pingInterval
    self.onNotice = onNotice
    self.onGap = onGap
    statements = channels.map { Query(unsafe: "LISTEN \(SessionSetup.quoted(identifier: $0))") }
    connection = PipelinedConnection(loop: loop, recipe: recipe, counters: Counters())
  }

  func start() {
    connection.onChange = { [weak self] failure in
      if failure == nil { self?.listen() } else { self?.cancelPing() }
    }
    connection.start()
  }

  func stop() {
    connection.onChange = nil
    cancelPing()
    connection.stop()
  }

  private func listen() {
    guard let session = connection.session else { return }
    session.onNotice = onNotice
    // All in one transaction: either every channel is heard or none.
    guard let last = statements.last else { return }
    session.send(last, after: statements.dropLast(), origin: Origin(file: #fileID, line: #line), .call(listened))
  }

  private func listened(_ result: Result<Rows, PostgresError>) {
    switch result {
    case .success:
      onGap()
      schedulePing()
    case .failure(let error):
      connection.session?.close(error)
    }
  }

  private func schedulePing() {
    cancelPing()
    timer = loop.schedule(after: pingInterval) { [weak self] in
      self?.timer = nil
      self?.ping()
    }
  }

  private func cancelPing() {
    if let timer { loop.cancel(timer) }
    timer = nil
  }

  private func ping() {
    connection.session?.send(
      "SELECT 1", origin: Origin(file: #fileID, line: #line),
      .call { [weak self] result in
        guard let self else { return }
        switch result {
        case .success: self.schedulePing()
        case .failure(let error): self.connection.session?.close(error)
        }
      })
  }
}

extension Database {
  /// Hears notifications (PostgreSQL manual, LISTEN) until the database is stopped.
  ///
  /// A notice is a hint: those sent while the connection is down are lost. So `onGap` is called each time that listening
  /// has begun, the first time too: what changed before that must be looked up.
  ///
  /// - Parameters:
  ///   - channels: names as NOTIFY has them, case matters. At least one.
  ///   - onNotice: called on a loop's thread with channel and payload; must not block.
  ///   - onGap: called on the same thread.
  public func listen(
    _ channels: [String], onNotice: @escaping @Sendable (_ channel: String, _ payload: String) -> Void,
    onGap: @escaping @Sendable () -> Void
  ) {
    precondition(!channels.isEmpty, "listening to nothing")
    let lane = lanes[0]
    let recipe = listenRecipe
    let interval = configuration.pingInterval
    lane.loop.execute {
      lane.listen(
        Listening(
          loop: lane.loop, recipe: recipe, channels: channels, pingInterval: interval, onNotice: onNotice,
          onGap: onGap))
    }
  }
}
