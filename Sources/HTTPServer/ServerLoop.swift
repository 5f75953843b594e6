import EventLoop
import HTTP

/// The part of a server that lives on one loop: its connections, its workers, and the memory they share.
///
/// `@unchecked Sendable`: after `init` it is used on the loop's thread only.
final class ServerLoop: @unchecked Sendable {
  /// What all loops of a server have in common.
  struct Shared: Sendable {
    let listener: Listener
    let configuration: Server.Configuration
    let respond: Server.Respond
    let answerAtOnce: Server.AnswerAtOnce?
    let counts: Server.Counts
    let peers: PeerCounts
  }

  let loop: EventLoop
  let shared: Shared
  let deadlines: Deadlines
  let serverField: [UInt8]

  /// For bodies on their way into an array: no connection needs it beyond one call.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 32_768, alignment: 16)
  /// For heads on their way to the kernel, likewise.
  ///
  /// Unchecked, like the three below: each access is a single call of a method that calls nothing back, and checking some twenty
  /// of them a request costs more than parsing its head.
  @exclusivity(unchecked)
  var out = OutputBuffer(capacity: 16_384)
  @exclusivity(unchecked)
  var date = DateField()
  var random = FastRandom()

  var acceptor: Acceptor?
  var isDraining = false

  private var connections: [Connection?] = []
  private var freeSlots: [Int] = []
  private(set) var connectionCount = 0
  private var sweepIsArmed = false
  @exclusivity(unchecked)
  private var exchanges: [Exchange] = []
  @exclusivity(unchecked)
  private var idleWorkers: [UnsafeContinuation<Connection?, Never>] = []
  private var busyWorkers = 0
  private var drainWaiters: [UnsafeContinuation<Void, Never>] = []

  /// Exchanges kept for reuse: as many as requests may be in flight are ever needed at once.
  private static let maxPooledExchanges = 512

  init(_ loop: EventLoop, _ shared: Shared) {
    self.loop = loop
    self.shared = shared
    deadlines = shared.configuration.deadlines
    if let name = shared.configuration.serverName, Fields.isValid(name) {
      serverField = Array("Server: \(name)\r\n".utf8)
    } else {
      serverField = []
    }
  }

  deinit {
    scratch.deallocate()
    out.deallocate()
    date.deallocate()
  }

  func start() throws {
    let acceptor = Acceptor(self)
    try acceptor.start()
    self.acceptor = acceptor
  }

  // MARK: Connections

  func add(_ connection: Connection) {
    if let slot = freeSlots.popLast() {
      connection.slot = slot
      connections[slot] = connection
    } else {
      connection.slot = connections.count
      connections.append(connection)
    }
    connectionCount += 1
    armSweep()
    shared.configuration.observer.connectionOpened?()
  }

  func remove(_ connection: Connection) {
    connections[connection.slot] = nil
    freeSlots.append(connection.slot)
    connectionCount -= 1
    shared.counts.connections.subtract(1, ordering: .relaxed)
    shared.peers.release(connection)
    shared.configuration.observer.connectionClosed?()
    checkDrained()
  }

  /// Deadlines are looked at a few times a second for all connections together: setting one is then a single store, and a timer
  /// per connection would be armed and cancelled for every request.
  private func armSweep() {
    guard !sweepIsArmed, connectionCount > 0 else { return }
    sweepIsArmed = true
    loop.schedule(at: loop.now + deadlines.sweep) { [self] in
      sweepIsArmed = false
      sweep()
      armSweep()
    }
  }

  private func sweep() {
    let now = loop.now
    for connection in connections {
      if let connection, connection.state.deadline <= now { connection.expire(now) }
    }
  }

  // MARK: Exchanges

  func takeExchange() -> Exchange { exchanges.popLast() ?? Exchange(loop: loop) }

  /// Keeps an exchange that nobody else refers to.
  func giveBack(_ exchange: consuming Exchange) {
    guard exchanges.count < ServerLoop.maxPooledExchanges, exchange.capacity == Exchange.initialCapacity else { return }
    exchange.clear()
    exchanges.append(exchange)
  }

  // MARK: Workers

  /// Has a request handled by a worker: a task that lives on, since starting one for each request costs more.
  func dispatch(_ connection: Connection) {
    if let worker = idleWorkers.popLast() {
      worker.resume(returning: connection)
    } else {
      Task.immediate(executorPreference: loop) { [self] in await work(connection) }
    }
  }

  /// `nonisolated(nonsending)`, like `serve`: entering any other async function looks its executor up under a lock.
  nonisolated(nonsending) private func work(_ first: Connection) async {
    var next: Connection? = first
    while let connection = next {
      busyWorkers += 1
      await connection.serve()
      busyWorkers -= 1
      // Requests sent ahead are handled by the same worker, but other connections get their turn in between.
      while connection.readHead() {
        await Task.yield()
        busyWorkers += 1
        await connection.serve()
        busyWorkers -= 1
      }
      if isDraining {
        checkDrained()
        return
      }
      next = await withUnsafeContinuation { idleWorkers.append($0) }
    }
  }

  /// Has the rest of a stream produced by a task that knows nothing of what came before.
  func goOn(with rest: @escaping ResponseStream.Producer, _ stream: ResponseStream, of connection: Connection) {
    busyWorkers += 1
    Task.immediate(executorPreference: loop) { [self] in
      do {
        try await rest(stream)
        connection.endStream()
      } catch {
        connection.cutStream()
      }
      busyWorkers -= 1
      connection.proceed()
      checkDrained()
    }
  }

  // MARK: Draining

  func drain(timeout: Duration) async {
    beginDrain()
    if connectionCount == 0, busyWorkers == 0 { return }
    let cut = loop.schedule(after: timeout) { [self] in
      for connection in connections { connection?.close() }
    }
    // A handler that ignores the end of its connection is not waited for.
    let giveUp = loop.schedule(after: timeout + .seconds(1)) { [self] in resumeDrainWaiters() }
    await withUnsafeContinuation { drainWaiters.append($0) }
    loop.cancel(cut)
    loop.cancel(giveUp)
  }

  private func beginDrain() {
    guard !isDraining else { return }
    acceptor?.stop()
    acceptor = nil
    isDraining = true
    for connection in connections where connection?.isIdle == true { connection?.closeUnlessRequested() }
    for worker in idleWorkers { worker.resume(returning: nil) }
    idleWorkers = []
  }

  private func checkDrained() {
    if isDraining, connectionCount == 0, busyWorkers == 0 { resumeDrainWaiters() }
  }

  private func resumeDrainWaiters() {
    let waiters = drainWaiters
    drainWaiters = []
    for waiter in waiters { waiter.resume() }
  }
}
