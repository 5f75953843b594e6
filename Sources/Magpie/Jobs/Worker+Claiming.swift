import EventLoop
import Postgres

extension Worker {
  /// Claims whenever there may be something and somebody is free for it.
  func claimJobs() async {
    var mark = LowWaterMark()
    var turn = LowerClassTurn()
    while true {
      let (phase, heard) = state.withLock { state in
        defer { state.heard = false }
        return (state.phase, state.heard)
      }
      if phase != .working { return }
      if heard { mark.forget() }
      var isWorthAnother = false
      do {
        isWorthAnother = try await claimOnce(&mark, &turn)
      } catch {
        count { $0.databaseErrors += 1 }
      }
      if isWorthAnother { continue }
      await bell.wait(upTo: configuration.pollInterval * Double.random(in: 0.5...1.5))
    }
  }

  /// Slots free for any job, and slots free for interactive ones.
  struct Capacity: Equatable {
    var general: Int
    var interactive: Int

    /// - Parameters:
    ///   - urgent, others: handlers at work.
    init(concurrency: Int, reserved: Int, urgent: Int, others: Int) {
      interactive = max(0, concurrency - urgent - others)
      general = min(interactive, max(0, concurrency - reserved - others))
    }
  }

  /// When a claim starts at some lower class, so that none waits forever behind those before it: one time in ten, but not
  /// for a second after there was nothing in them.
  private struct LowerClassTurn {
    private var restsUntil: UInt64 = 0

    func isNow(_ now: UInt64) -> Bool { now >= restsUntil && Int.random(in: 0..<10) == 0 }

    mutating func rest(from now: UInt64) { restsUntil = now &+ 1_000_000_000 }
  }

  private func claimOnce(
    _ mark: inout LowWaterMark, _ turn: inout LowerClassTurn
  ) async throws(PostgresError) -> Bool {
    let now = System.monotonicNanoseconds()
    let (id, capacity) = state.withLock { state -> (UUID?, Capacity) in
      let urgent = state.runs.values.count { $0.isWorking && $0.job.priority == .interactive }
      let capacity = Capacity(
        concurrency: configuration.concurrency, reserved: configuration.interactiveSlots, urgent: urgent,
        others: state.working - urgent)
      // A process whose lease may have ended starts nothing.
      return (now < state.leaseEnds ? state.id : nil, capacity)
    }
    guard let id, capacity.interactive > 0, completions.backlog < 4 * Completions.batch else { return false }
    var order = ClaimedJob.Order(worker: id, limit: capacity.interactive, timeLimit: configuration.timeLimit)
    if capacity.general == 0 {
      order.priorities = 0...0
    } else {
      order.limit = capacity.general
      if turn.isNow(now) {
        order.priorities = Int.random(in: 1...3)...9
        order.limit = 1
        if try await !claim(order).jobs.isEmpty { return true }
        if order.priorities.lowerBound == 1 { turn.rest(from: now) }
        order.priorities = 0...9
        order.limit = capacity.general
      }
      order.after = mark.start(at: now)
    }
    let (jobs, held) = try await claim(order)
    if order.priorities == 0...9 { mark.record(jobs, limit: order.limit, at: now) }
    if jobs.isEmpty, held == 0, order.after != .start { return true }
    return held > 0 || jobs.count == order.limit
  }

  /// Claims and starts.
  func claim(_ order: ClaimedJob.Order) async throws(PostgresError) -> (jobs: [ClaimedJob], held: Int) {
    let claimed = try await ClaimedJob.claim(order, in: database)
    count { metrics in
      metrics.claims += 1
      metrics.emptyClaims += claimed.jobs.isEmpty ? 1 : 0
      metrics.started += claimed.jobs.count
    }
    for job in claimed.jobs { start(job, isQuarantined: order.queue == "quarantine") }
    return claimed
  }

  private func start(_ claim: ClaimedJob, isQuarantined: Bool) {
    let job = RunningJob(claim: claim, timeLimit: configuration.timeLimit) { [endings] in endings.send(String($0)) }
    let (loop, phase) = state.withLock { state in
      state.nextLoop = (state.nextLoop + 1) % loops.count
      state.runs[claim.token] = Run(job: job, isQuarantined: isQuarantined)
      if state.busySince == nil { state.busySince = System.monotonicNanoseconds() }
      return (loops[state.nextLoop], state.phase)
    }
    // Claimed while the drain began: the handler may yield at its first step.
    if phase != .working { job.stop(.draining) }
    let task = Task(executorPreference: loop) { await self.run(job) }
    state.withLock { $0.runs[claim.token]?.task = task }
  }
}
