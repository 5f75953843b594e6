import EventLoop
import Glibc
import MagpieSchema
import Postgres
import TestSupport
import Testing
import WorldSupport

@testable import Magpie

/// Processes that die, freeze and wake up, and a database that is torn down under load.
@Suite struct WorkerFaultTests {
  /// A process that ends without a word: its jobs run again elsewhere, after its lease and not before.
  @Test func jobsOfADeadProcessGoToAnother() async throws {
    try await QueueFixture.make { fixture in
      let gate = Gate()
      let lease = Duration.milliseconds(600)
      let doomed = fixture.worker(
        [
          ClosureHandler { _ in
            await gate.pass()
            return .done
          }
        ], lease: lease)
      var ids: [Int64] = []
      for number in 0..<3 {
        ids.append(try await fixture.queue.request(kind: "test", subject: "\(number)", priority: .soon).id)
      }
      doomed.start()
      try await eventually("all three run") { gate.arrivals == 3 }
      let survivor = fixture.worker([ClosureHandler { _ in .done }], lease: lease)
      survivor.start()
      try await eventually("the second is up") {
        try await fixture.value("SELECT count(*) FROM magpie.worker WHERE state = 'up'") == 2
      }
      let death = ContinuousClock.now
      doomed.halt()
      try await eventually("done by the other") { try await fixture.value("SELECT count(*) FROM magpie.job_done") == 3 }
      #expect(ContinuousClock.now - death < lease + .seconds(15))
      gate.open()
      for id in ids {
        let (attempt, crashes) = try #require(
          try await fixture.database.query("SELECT attempt, crashes FROM magpie.job_done WHERE id = \(id)").first
        ).decode((Int, Int).self)
        #expect(attempt == 2 && crashes == 1)
      }
      #expect(survivor.metrics.reaped == 1)
      await survivor.drain(deadline: .seconds(5))
    }
  }

  /// What SIGSTOP past the lease and SIGCONT amount to: the process still believes in its run after another has taken it.
  @Test func aProcessThatWakesUpAfterItsLeaseIsRefusedAndStartsOver() async throws {
    try await QueueFixture.make { fixture in
      let runs = Gate()
      let outcome = Record<String>()
      let worker = fixture.worker(
        [
          ClosureHandler { job in
            await runs.pass()
            do {
              try await job.step(in: fixture.database, checkpoint: nil, done: Int64(job.attempt)) { transaction in
                try await transaction.query(
                  "INSERT INTO magpie.job (kind, subject, state) VALUES ('effect', \("\(job.attempt)"), 'held')")
              }
              outcome.add("\(job.attempt) written")
            } catch JobError.lostRun {
              outcome.add("\(job.attempt) refused")
              throw JobError.lostRun
            }
            return .done
          }
          // With no second slot, so that it does not claim the job again itself.
        ], concurrency: 1)
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      worker.start()
      try await eventually("it runs") { runs.arrivals == 1 }
      // Others have declared it dead, and one of them has claimed its job.
      try await fixture.database.query("UPDATE magpie.worker SET state = 'dead'")
      #expect(try await fixture.value("SELECT outcome FROM magpie.rescue_jobs()") == "rescheduled")
      let other = try await fixture.registerWorker()
      try await fixture.database.query("UPDATE magpie.job SET state = 'available', wait_reason = NULL")
      let second = try await fixture.claimOne(for: other)
      #expect(second.attempt == 2)
      runs.open()
      try await eventually("the first run was refused") { outcome.entries == ["1 refused"] }
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job WHERE kind = 'effect'") == 0)
      #expect(try await fixture.status(ticket.id).done == nil)
      #expect(try await fixture.complete([second]) == [ticket.id: "completed"])
      await worker.drain(deadline: .seconds(5))
      #expect(worker.metrics.lost == 1)
    }
  }

  @Test func aProcessDeclaredDeadRegistersAnewAndWorksOn() async throws {
    try await QueueFixture.make { fixture in
      let worker = fixture.worker([ClosureHandler { _ in .done }], lease: .milliseconds(600))
      worker.start()
      try await eventually("registered") {
        try await fixture.value("SELECT count(*) FROM magpie.worker WHERE state = 'up'") == 1
      }
      try await fixture.database.query("UPDATE magpie.worker SET state = 'dead'")
      try await eventually("registered again") {
        try await fixture.value("SELECT count(*) FROM magpie.worker WHERE state = 'up'") == 1
      }
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      try await eventually("done") { try await fixture.status(ticket.id).state == .completed }
      #expect(worker.metrics.deaths == 1)
      await worker.drain(deadline: .seconds(5))
    }
  }

  /// The database's clock jumps ten minutes ahead: heartbeats then differ from what they were, and nobody is buried.
  @Test func aJumpOfTheDatabasesClockBuriesNobody() async throws {
    try await QueueFixture.make { fixture in
      let gate = Gate()
      // Two looks, a third of a lease apart, must be over well before a lease is, on a busy machine too.
      let worker = fixture.worker(
        [
          ClosureHandler { _ in
            await gate.pass()
            return .done
          }
        ], lease: .seconds(6))
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      worker.start()
      try await eventually("it runs") { gate.arrivals == 1 }
      let looks = worker.metrics.duties["reap"]?.successes ?? 0
      // Seen from the new time, all that was written before lies ten minutes back.
      try await fixture.database.query("UPDATE magpie.worker SET heartbeat_at = heartbeat_at - interval '10 minutes'")
      try await fixture.database.query(
        "UPDATE magpie.job SET deadline_at = deadline_at - interval '10 minutes', started_at = started_at - interval '10 minutes'"
      )
      try await eventually("it has looked around twice") {
        (worker.metrics.duties["reap"]?.successes ?? 0) >= looks + 2
      }
      #expect(worker.metrics.reaped == 0 && worker.metrics.rescued == 0)
      gate.open()
      try await eventually("done") { try await fixture.status(ticket.id).state == .completed }
      #expect(try await fixture.status(ticket.id).attempt == 1)
      await worker.drain(deadline: .seconds(5))
    }
  }

  /// Backends ended at random, one killed so that the whole server starts over, and the server killed outright: every job
  /// is done, with its effect, exactly once.
  @Test func everyEffectHappensOnceWhateverHappensToTheDatabase() async throws {
    // Removed together with the shared cluster.
    let directory = try await TestCluster.shared().directory + "/faults"
    var options = PrivateCluster.Options()
    options.settings = ["max_connections=60", "shared_buffers=32MB"]
    let cluster = PrivateCluster(directory: directory, options: options)
    let url = try await cluster.start()
    do {
      try await Migrator.migrate(connectionString: url, migrations: Migrations.all, repeatable: Migrations.repeatable)
      try await endure(url, cluster, superuser: try PrivateCluster.superuserConnectionString(directory: directory))
    } catch {
      await cluster.stop()
      throw error
    }
    await cluster.stop()
  }

  private func endure(_ url: String, _ cluster: PrivateCluster, superuser: String) async throws {
    let total = 1_500
    _ = try await withDatabase(url) { database in
      try await database.query("CREATE TABLE magpie.effect (job_id bigint NOT NULL, run_token uuid NOT NULL)")
      try await database.query("GRANT SELECT, INSERT ON magpie.effect TO magpie_worker")
    }
    try await QueueFixture.with(url, loops: 2) { fixture in
      try await fixture.database.query(
        "INSERT INTO magpie.job (kind, subject, max_attempts) SELECT 'test', n::text, 100 FROM generate_series(1, \(total)::int) n"
      )
      let handler = ClosureHandler { job in
        try await fixture.database.transaction { transaction in
          try await transaction.query("INSERT INTO magpie.effect VALUES (\(job.id), \(job.runToken))")
          if job.id % 2 == 0 { try await job.complete(in: transaction) }
          if job.id % 2 == 1 { try await job.checkpoint(in: transaction, Array(#"{"done": true}"#.utf8)) }
        }
        return .done
      }
      // The odd jobs' effect comes before their end: a second run sees by the checkpoint that nothing is left to do.
      let resuming = ClosureHandler { job in job.checkpoint == nil ? try await handler.run(job) : .done }
      let workers = (0..<3).map { _ in fixture.worker([resuming], lease: .seconds(2), concurrency: 4) }
      for worker in workers { worker.start() }

      func done() async -> Int { (try? await fixture.value("SELECT count(*) FROM magpie.job_done")) ?? 0 }
      let faults: [() async throws -> Void] = [
        { try await self.terminate("pg_terminate_backend(pid)", superuser) },
        { try await self.terminate("pg_terminate_backend(pid)", superuser) },
        {
          let pids = try await column(
            Int32.self,
            "SELECT pid FROM pg_stat_activity WHERE usename = 'magpie' ORDER BY random() LIMIT 1", of: superuser)
          if let pid = pids.first { kill(pid, SIGKILL) }
        },
        { if let server = cluster.serverProcess { kill(server, SIGQUIT) } },
        { if let server = cluster.serverProcess { kill(server, SIGQUIT) } },
      ]
      for (number, fault) in faults.enumerated() {
        let goal = (number + 1) * total / (faults.count + 2)
        try await eventually("\(goal) are done") { await done() >= goal }
        try await fault()
      }
      try await eventually("all are done") { await done() == total }
      for worker in workers { await worker.drain(deadline: .seconds(5)) }

      #expect(workers.map(\.metrics.databaseErrors).reduce(0, +) > 0)
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job") == 0)
      #expect(
        try await fixture.value("SELECT count(DISTINCT id) FROM magpie.job_done WHERE state = 'completed'") == total)
      #expect(try await fixture.value("SELECT count(*) FROM magpie.effect") == total)
      #expect(try await fixture.value("SELECT count(DISTINCT job_id) FROM magpie.effect") == total)
    }
  }

  private func terminate(_ call: String, _ superuser: String) async throws {
    _ = try await column(
      Bool.self,
      "SELECT \(unsafe: call) FROM (SELECT pid FROM pg_stat_activity WHERE usename = 'magpie' ORDER BY random() LIMIT 3) p",
      of: superuser)
  }
}
