import EventLoop
import Postgres

extension Worker {
  /// The worker's own duties. Each is safe to run in any number of processes at once.
  var housekeeping: [Duty] {
    [
      Duty("leadership", every: Leadership.lifetime / 3, isForLeader: false) { try await self.leadership.campaign() },
      Duty("deadlines", every: .seconds(1), isForLeader: false) { self.cutOffOverdueRuns() },
      Duty("promote", every: configuration.promoteInterval) { try await self.promote() },
      // Without a leader jobs become due a little later.
      Duty("promote-without-leader", every: max(.seconds(2), configuration.promoteInterval), isForLeader: false) {
        if !self.leadership.isHeld { try await self.promote() }
      },
      Duty("reap", every: configuration.watchInterval, isForLeader: false) { try await self.reap() },
      Duty("rescue", every: configuration.watchInterval) { try await self.rescue() },
      Duty("release", every: .seconds(5)) { try await self.releaseHeld() },
      Duty("quarantine", every: .seconds(1)) { try await self.claimQuarantined() },
      Duty("vacuum", every: .seconds(3)) { try await self.vacuum() },
      Duty("history", every: .seconds(3_600)) {
        try await self.database.pooled { connection in
          _ = try await connection.query(
            "SELECT magpie.maintain_history(make_interval(secs => \(self.configuration.history.inSeconds)))")
        }
      },
    ]
  }

  /// At once, then every so often. Until the worker is stopped.
  func perform(_ duty: Duty) async {
    let alarm = alarm()
    var pause = Duration.zero
    while true {
      await alarm.wait(upTo: pause * Double.random(in: 0.9...1.1))
      if isStopped { return }
      if duty.isForLeader, !leadership.isHeld {
        pause = min(duty.interval, .milliseconds(500))
        continue
      }
      pause = duty.interval
      do {
        try await duty.body()
        count { metrics in
          metrics.duties[duty.name, default: DutyRecord()].successes += 1
          metrics.duties[duty.name]?.lastSuccess = System.monotonicNanoseconds()
        }
      } catch {
        count { $0.duties[duty.name, default: DutyRecord()].failures += 1 }
        pause = min(duty.interval, .seconds(5))
      }
    }
  }

  private func promote() async throws {
    while true {
      let rows = try await database.retrying(
        """
        WITH due AS MATERIALIZED (
          SELECT j.id FROM magpie.job j WHERE j.state = 'scheduled' AND j.available_at <= now()
          ORDER BY j.available_at, j.id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
        UPDATE magpie.job j SET state = 'available', wait_reason = NULL WHERE j.id = ANY (ARRAY(SELECT d.id FROM due d))
        """)
      if rows.affected > 0 {
        wake()
        requests.send("default")
      }
      if rows.affected < 1000 { return }
    }
  }

  /// Declares dead the processes whose beat has stood still for their lease, on our clock.
  private func reap() async throws {
    let beats: [WorkerLease.Beat]
    do {
      beats = try await WorkerLease.beats(in: database)
    } catch {
      state.withLock { state in
        state.beats.forget()
        state.overdue.forget()
      }
      throw error
    }
    let now = System.monotonicNanoseconds()
    let (still, own) = state.withLock { ($0.beats.observe(beats.map { ($0.id, $0.at) }, at: now), $0.id) }
    for beat in beats where beat.id != own && still[beat.id] ?? 0 >= beat.lease.wholeNanoseconds {
      guard try await !database.query(WorkerLease.bury(beat)).isEmpty else { continue }
      count { $0.reaped += 1 }
      try await rescue()
    }
  }

  /// Takes back the jobs of the dead, and runs whose deadline has stood in the past for a lease: their own process should
  /// have ended them long ago.
  private func rescue() async throws {
    let late = try await database.query(
      "SELECT j.run_token, j.deadline_at FROM magpie.job j WHERE j.state = 'running' AND j.deadline_at < now()"
    ).decode((UUID, Instant).self)
    let now = System.monotonicNanoseconds()
    let still = state.withLock { $0.overdue.observe(late.map { ($0.0, $0.1) }, at: now) }
    let overdue = still.filter { $0.value >= configuration.lease.wholeNanoseconds }.map(\.key)
    while true {
      let rows = try await database.retrying("SELECT r.id FROM magpie.rescue_jobs(\(overdue)) r")
      if rows.isEmpty { return }
      count { $0.rescued += rows.count }
      for id in try rows.decode(Int64.self) { endings.send(String(id)) }
    }
  }

  /// Jobs that were put aside in the moment their kind was resumed.
  private func releaseHeld() async throws {
    let rows = try await database.retrying(
      """
      WITH free AS MATERIALIZED (
        SELECT j.id FROM magpie.job j
        WHERE j.state = 'held' AND NOT EXISTS (SELECT FROM magpie.queue_pause p WHERE p.kind IN (j.kind, '*'))
        ORDER BY j.id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
      UPDATE magpie.job j SET state = 'available' WHERE j.id = ANY (ARRAY(SELECT f.id FROM free f))
      """)
    if rows.affected > 0 {
      wake()
      requests.send("default")
    }
  }

  /// Jobs whose workers died twice run one at a time, in the leader, and while nothing else does if that can be had within
  /// ten seconds: what dies with them is little.
  private func claimQuarantined() async throws {
    let now = System.monotonicNanoseconds()
    let id = state.withLock { state -> UUID? in
      let isQuiet = state.busySince.map { now &- $0 > 10_000_000_000 } ?? true
      let isFree = state.working < configuration.concurrency && !state.runs.values.contains { $0.isQuarantined }
      return isQuiet && isFree && state.phase == .working && now < state.leaseEnds ? state.id : nil
    }
    guard let id else { return }
    _ = try await claim(
      ClaimedJob.Order(worker: id, limit: 1, queue: "quarantine", timeLimit: configuration.timeLimit))
  }

  /// Autovacuum comes by once a minute, which is too seldom in a burst. Only the owner may clean a table, so this needs a
  /// login that is a member of `magpie_owner`.
  private func vacuum() async throws {
    guard let role = database.configuration.role, !state.withLock({ $0.cannotVacuum }) else { return }
    let dead = try await database.query(
      "SELECT s.n_dead_tup FROM pg_stat_user_tables s WHERE s.relid = 'magpie.job'::regclass")
    guard let count = try dead.first?.decode(Int64.self), count > configuration.vacuumThreshold else { return }
    try await database.pooled { connection in
      do {
        try await connection.query("SET ROLE magpie_owner")
      } catch let error as PostgresError where error.sqlState == .insufficientPrivilege {
        return self.state.withLock { $0.cannotVacuum = true }
      }
      // The connection goes back to others, so it must leave as it came.
      let cleaned: Result<Rows, any Error>
      do { cleaned = .success(try await connection.query("VACUUM (TRUNCATE false) magpie.job")) } catch {
        cleaned = .failure(error)
      }
      try await connection.query(Query(unsafe: "SET ROLE \"\(role)\""))
      _ = try cleaned.get()
    }
  }
}
