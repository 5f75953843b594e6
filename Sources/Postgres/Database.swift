import EventLoop
import Synchronization

/// A PostgreSQL database, reached from the loops of a group.
///
/// Single statements share pipelined connections of the caller's loop, each statement with its own sync: an error in one
/// never touches another. Transactions and slow statements borrow a connection of their own. Connections that are lost are
/// made again; what was under way on them fails with `connectionLost` and is never repeated by itself.
///
/// Call `stop` before the group is stopped.
public final class Database: Sendable {
  /// As given.
  public let configuration: Configuration
  let lanes: [Lane]
  let listenRecipe: PipelinedConnection.Recipe
  private let nextLane = Atomic<Int>(0)
  private let isStopped = Atomic<Bool>(false)
  let counters = Counters()

  /// Connects nothing yet.
  ///
  /// - Throws: `PostgresError` of kind `invalid` for a connection string that cannot be parsed.
  public init(_ configuration: Configuration, group: EventLoopGroup) throws(PostgresError) {
    self.configuration = configuration
    let pipelineRecipe = try configuration.pipelineRecipe
    let poolRecipe = try configuration.poolRecipe
    listenRecipe = pipelineRecipe
    let perLoop = max(1, (configuration.poolSize + group.loops.count - 1) / group.loops.count)
    let counters = counters
    lanes = group.loops.map { loop in
      let pipelines = (0..<max(1, configuration.pipelinesPerLoop)).map { _ in
        PipelinedConnection(loop: loop, recipe: pipelineRecipe, counters: counters)
      }
      return Lane(
        loop: loop, pipelines: pipelines,
        statements: StatementQueue(
          loop: loop, pipelines: pipelines, limits: pipelineRecipe.limits, counters: counters),
        pool: Pool(
          loop: loop, recipe: poolRecipe, size: perLoop, maximumWaiters: configuration.maximumWaiters,
          waitTimeout: configuration.poolWaitTimeout, counters: counters))
    }
  }

  /// Connects, and waits until every loop has a connection.
  ///
  /// - Throws: the last failure, as `PostgresError` of kind `unavailable`, when its time is over, see
  ///   `Configuration.startTimeout`. Connecting goes on behind that; call `stop` to end it.
  public func start() async throws(PostgresError) {
    let timeout = configuration.startLimit(listenRecipe)
    // All at once; then wait for each.
    let started = lanes.map { lane in
      Task(executorPreference: lane.loop) {
        await withUnsafeContinuation { continuation in
          lane.start(timeout: timeout) { continuation.resume(returning: $0) }
        }
      }
    }
    for task in started { try await task.value.get() }
  }

  /// Closes all connections. What is under way fails with `connectionLost`, what comes later with `unavailable`.
  public func stop() async {
    if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return }
    for lane in lanes {
      // A loop that has ended can do nothing any more, nor can its connections.
      await lane.loop.hosting { if lane.loop.isCurrent { lane.stop() } }
    }
  }

  /// Whether a pipelined connection is up.
  public var isReachable: Bool { counters.up.load(ordering: .relaxed) > 0 }

  /// Runs one statement as its own transaction, on a connection shared with others. For statements that are fast.
  ///
  /// On a loop of the group nothing leaves it; other callers are served by one of the loops that have a connection.
  ///
  /// - Parameters:
  ///   - preludes: statements that run just before it, in the same transaction; their results are dropped. For settings
  ///     that the statement depends on: `[SELECT set_config('app.account_id', …, true)]`.
  ///   - timeout: how long to wait; by default `statementTimeout` and `grace`.
  /// - Throws: `PostgresError`; at once with `unavailable` while no connection is up.
  @discardableResult
  public func query(
    _ query: Query, after preludes: [Query] = [], timeout: Duration? = nil, file: StaticString = #fileID,
    line: UInt = #line
  ) async throws(PostgresError) -> Rows {
    let origin = Origin(file: file, line: line)
    let lane = try lane(origin)
    guard lane.loop.isCurrent else {
      return try await lane.loop.hosting { () async throws(PostgresError) in
        try await lane.query(query, after: preludes, timeout: timeout, origin: origin)
      }
    }
    return try await withUnsafeContinuation { continuation in
      lane.send(query, after: preludes, timeout: timeout, origin: origin, continuation)
    }.get()
  }

  /// Lends a connection of one's own to `body`. The caller must not keep it.
  ///
  /// - Throws: `PostgresError` of kind `overloaded`, `timeout` or `unavailable` when there is none; what `body` throws.
  @discardableResult
  public func pooled<Value>(_ body: (Connection) async throws -> Value) async throws -> Value {
    let pool = try lane(nil).pool
    let session = try await pool.borrow()
    let connection = Connection(session)
    defer {
      connection.end()
      pool.giveBack(session)
    }
    return try await body(connection)
  }

  /// Runs `body` in a transaction, committed when it returns and rolled back when it throws.
  ///
  /// - Parameter retries: how often it is run again from its start after 40001 (serialization), 40P01 (deadlock), 55P03
  ///   (lock not available) and when a prepared statement was outdated. `body` must then have no effects but those in the database.
  /// - Throws: what `body` throws, or `PostgresError`. After `connectionLost` or `timeout` from the commit, whether it
  ///   happened is unknown.
  @discardableResult
  public func transaction<Value>(
    isolation: Transaction.Isolation = .readCommitted, retries: Int = 0,
    _ body: (Transaction) async throws -> Value
  ) async throws -> Value {
    try await again(retries) {
      try await pooled { connection in
        let transaction = Transaction(connection, isolation: isolation)
        let value: Value
        do { value = try await body(transaction) } catch {
          await transaction.rollback()
          throw error
        }
        try await transaction.commit()
        return value
      }
    }
  }

  /// Runs one statement, a transaction in itself, on a connection that is nobody else's meanwhile: for statements that are too
  /// slow for others to wait behind them.
  ///
  /// - Parameter retries: as for `transaction`.
  /// - Throws: `PostgresError`. After `connectionLost` or `timeout` whether it happened is unknown.
  @discardableResult
  public func pooledQuery(_ query: Query, retries: Int = 0) async throws -> Rows {
    try await again(retries) { try await pooled { try await $0.query(query) } }
  }

  private func again<Value>(_ retries: Int, _ body: () async throws -> Value) async throws -> Value {
    var backoff = Backoff()
    while true {
      do {
        return try await body()
      } catch let error as PostgresError where error.isRetryable && backoff.failures < retries {
        try await pause(backoff.next())
      }
    }
  }

  private func pause(_ delay: Duration) async throws {
    if let loop = EventLoop.current { try await loop.sleep(for: delay) } else { try await Task.sleep(for: delay) }
  }

  /// The caller's loop's; for callers from elsewhere one that is connected, if any is.
  private func lane(_ origin: Origin?) throws(PostgresError) -> Lane {
    if isStopped.load(ordering: .acquiring) {
      throw PostgresError(.unavailable, "the database was stopped", origin: origin)
    }
    if let loop = EventLoop.current {
      for lane in lanes where lane.loop === loop { return lane }
    }
    let turn = nextLane.wrappingAdd(1, ordering: .relaxed).oldValue & Int.max
    for offset in lanes.indices {
      let lane = lanes[(turn &+ offset) % lanes.count]
      if lane.isUp.load(ordering: .relaxed) { return lane }
    }
    return lanes[turn % lanes.count]
  }
}
