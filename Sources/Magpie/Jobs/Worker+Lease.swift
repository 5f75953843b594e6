import EventLoop
import Glibc
import Postgres

extension Worker {
  /// Registers, beats, and starts over under a new name when the process was declared dead.
  func keepLease() async {
    let alarm = alarm()
    while !isStopped {
      let pause = await beat()
      await alarm.wait(upTo: pause * Double.random(in: 0.9...1.1))
    }
  }

  /// - Returns: how long to wait for the next.
  private func beat() async -> Duration {
    let start = System.monotonicNanoseconds()
    let (id, tokens) = state.withLock { ($0.id, Array($0.runs.keys)) }
    do {
      guard let id else { return try await register(at: start) }
      let report = try await WorkerLease.beat(
        id, tokens: tokens, grace: configuration.grace, timeout: configuration.beatTimeout, in: database)
      guard report.isAlive else {
        count { $0.deaths += 1 }
        state.withLock { $0.id = nil }
        lose(tokens)
        return .zero
      }
      state.withLock { $0.leaseEnds = start &+ configuration.lease.wholeNanoseconds }
      if report.leaked > 0 { count { $0.leaked += report.leaked } }
      lose(report.lost)
      return configuration.heartbeat
    } catch {
      count { $0.databaseErrors += 1 }
      return min(.seconds(1), configuration.heartbeat / 4)
    }
  }

  private func register(at start: UInt64) async throws(PostgresError) -> Duration {
    if state.withLock({ $0.phase != .working }) { return configuration.heartbeat }
    let id = UUID()
    try await database.query(WorkerLease.register(id, configuration, process: getpid()))
    state.withLock { state in
      state.id = id
      state.leaseEnds = start &+ configuration.lease.wholeNanoseconds
    }
    bell.ring()
    return configuration.heartbeat
  }

  /// So that administrators see it.
  func announceDraining() async {
    guard let id = state.withLock({ $0.id }) else { return }
    _ = try? await database.query("UPDATE magpie.worker w SET state = 'draining' WHERE w.id = \(id) AND w.state = 'up'")
  }

  /// Gives back what is still running and takes the process off the list.
  func leave() async {
    await leadership.resign()
    let (id, runs) = state.withLock { ($0.id, Array($0.runs.values)) }
    guard let id else { return }
    for run in runs where run.isWorking {
      run.job.stop(.lost)
      _ = try? await database.retrying("SELECT magpie.end_run(\(run.job.id), \(run.job.runToken), 'yield')")
    }
    if !runs.isEmpty { requests.send("default") }
    // A process that is dead on paper leaves its other runs, if there are any, to be rescued.
    _ = try? await database.query("UPDATE magpie.worker w SET state = 'dead' WHERE w.id = \(id)")
  }
}
