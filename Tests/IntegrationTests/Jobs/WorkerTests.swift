import EventLoop
import Postgres
import TestSupport
import Testing
import WorldSupport

@testable import Magpie

@Suite struct WorkerTests {
  /// No notices at all: looking is enough.
  @Test func runsEachJobOnceAndEmptiesTheQueue() async throws {
    try await QueueFixture.make(loops: 2) { fixture in
      let ran = Record<String>()
      let worker = fixture.worker([
        ClosureHandler { job in
          ran.add(job.subject ?? "")
          return .done
        }
      ])
      worker.start()
      for number in 0..<50 {
        _ = try await fixture.queue.request(kind: "test", subject: "\(number)", priority: .soon)
      }
      try await eventually("all are done") { try await fixture.value("SELECT count(*) FROM magpie.job_done") == 50 }
      await worker.drain(deadline: .seconds(5))
      #expect(ran.entries.count == 50)
      #expect(Set(ran.entries).count == 50)
      #expect(worker.metrics.completed == 50)
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job") == 0)
      #expect(try await column(String.self, "SELECT state FROM magpie.worker", of: fixture.url) == ["dead"])
    }
  }

  @Test func aRequestWakesTheWorkerByNotice() async throws {
    try await QueueFixture.make { fixture in
      let notices = Notices(database: fixture.database)
      var configuration = Worker.Configuration()
      configuration.pollInterval = .seconds(600)
      let worker = Worker(
        database: fixture.database, notices: notices, loops: fixture.group, handlers: [ClosureHandler { _ in .done }],
        configuration: configuration)
      notices.start()
      worker.start()
      try await eventually("it has looked and found nothing") { worker.metrics.emptyClaims > 0 }
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      try await eventually("done") { try await fixture.status(ticket.id).state == .completed }
      await worker.drain(deadline: .seconds(5))
    }
  }

  @Test func keepsASlotForInteractiveJobsAndRunsNoMoreThanItMay() async throws {
    try await QueueFixture.make { fixture in
      let background = Gate()
      let interactive = Gate()
      let worker = fixture.worker([
        ClosureHandler("background") { _ in
          await background.pass()
          return .done
        },
        ClosureHandler("interactive") { _ in
          await interactive.pass()
          return .done
        },
      ])
      for number in 0..<9 {
        _ = try await fixture.queue.request(kind: "background", subject: "\(number)", priority: .background)
      }
      worker.start()
      try await eventually("three of four slots") { background.arrivals == 3 }
      let claims = worker.metrics.claims
      try await eventually("it looks on") { worker.metrics.claims >= claims + 5 }
      #expect(background.arrivals == 3)
      for number in 0..<3 {
        _ = try await fixture.queue.request(kind: "interactive", subject: "\(number)", priority: .interactive)
      }
      try await eventually("the last slot") { interactive.arrivals == 1 }
      #expect(worker.metrics.running == 4)
      interactive.open()
      background.open()
      try await eventually("all are done") { try await fixture.value("SELECT count(*) FROM magpie.job_done") == 12 }
      await worker.drain(deadline: .seconds(5))
    }
  }

  @Test func drainLetsHandlersEndAndClaimsNothingMore() async throws {
    try await QueueFixture.make { fixture in
      let gate = Gate()
      let worker = fixture.worker([
        ClosureHandler { job in
          await gate.pass()
          #expect(job.shouldStop)
          return .done
        }
      ])
      let first = try await fixture.queue.request(kind: "test", subject: "1", priority: .soon)
      worker.start()
      try await eventually("it runs") { gate.arrivals == 1 }
      let drain = Task { await worker.drain(deadline: .seconds(30)) }
      try await eventually("it is draining") {
        try await column(String.self, "SELECT state FROM magpie.worker", of: fixture.url) == ["draining"]
      }
      let second = try await fixture.queue.request(kind: "test", subject: "2", priority: .soon)
      gate.open()
      await drain.value
      #expect(try await fixture.status(first.id).state == .completed)
      #expect(try await fixture.status(second.id).state == .available)
    }
  }

  @Test func drainGivesBackWhatDoesNotEndInTimeWithItsAttempt() async throws {
    try await QueueFixture.make { fixture in
      let stubborn = Gate()
      let arrived = Gate()
      let worker = fixture.worker([
        ClosureHandler { job in
          await arrived.pass()
          if job.subject == "polite" {
            try await EventLoop.current?.sleep(for: .seconds(600))
          } else {
            await stubborn.pass()
          }
          return .done
        }
      ])
      arrived.open()
      let polite = try await fixture.queue.request(kind: "test", subject: "polite", priority: .soon)
      let rude = try await fixture.queue.request(kind: "test", subject: "rude", priority: .soon)
      worker.start()
      try await eventually("both run") { arrived.arrivals == 2 }
      await worker.drain(deadline: .milliseconds(10))
      for id in [polite.id, rude.id] {
        let status = try await fixture.status(id)
        #expect(status.state == .available)
        #expect(status.attempt == 0)
      }
      // What the stubborn one does afterwards is not taken.
      stubborn.open()
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job_done") == 0)
    }
  }

  @Test func failuresRetrySnoozesWaitAndUnknownKindsAreLeftForOthers() async throws {
    try await QueueFixture.make { fixture in
      struct Bad: Error, CustomStringConvertible { let description = "bad luck" }
      let worker = fixture.worker([
        ClosureHandler { job in
          switch job.subject {
          case "throws": throw Bad()
          case "retries": return .retry(after: .seconds(700), error: "not yet")
          case "snoozes": return .snooze(.seconds(800))
          case "discards": return .discard(error: "never")
          default: return .done
          }
        }
      ])
      var ids: [String: Int64] = [:]
      for subject in ["throws", "retries", "snoozes", "discards"] {
        ids[subject] = try await fixture.queue.request(kind: "test", subject: subject, priority: .soon).id
      }
      let foreign = try await fixture.queue.request(kind: "foreign", subject: "x", priority: .soon)
      worker.start()
      try await eventually("each has its answer") {
        try await fixture.value("SELECT count(*) FROM magpie.job WHERE state IN ('available', 'running')") == 0
      }
      await worker.drain(deadline: .seconds(5))
      let thrown = try await fixture.status(try #require(ids["throws"]))
      // Available when the time has come while the worker was drained; so are others below.
      #expect([Job.State.scheduled, .available].contains(thrown.state))
      #expect(thrown.lastError == "bad luck" && thrown.attempt >= 1)
      let retried = try await fixture.status(try #require(ids["retries"]))
      #expect(retried.attempt == 1 && retried.lastError == "not yet")
      #expect((690...700).contains(try #require(retried.startsIn).inSeconds))
      let snoozed = try await fixture.status(try #require(ids["snoozes"]))
      #expect(snoozed.attempt == 0)
      #expect((790...800).contains(try #require(snoozed.startsIn).inSeconds))
      #expect(try await fixture.status(try #require(ids["discards"])).state == .discarded)
      let unknown = try await fixture.status(foreign.id)
      #expect([Job.State.scheduled, .available].contains(unknown.state) && unknown.attempt == 0)
    }
  }

  @Test func aRunWithoutCheckpointsIsCutOffAtItsTimeLimit() async throws {
    try await QueueFixture.make { fixture in
      let worker = fixture.worker([
        ClosureHandler { _ in
          try await EventLoop.current?.sleep(for: .seconds(600))
          return .done
        }
      ])
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      try await fixture.database.query("UPDATE magpie.job SET time_limit = '50 ms'")
      worker.start()
      try await eventually("cut off") { try await fixture.status(ticket.id).lastError == "timed out" }
      await worker.drain(deadline: .seconds(5))
      #expect(worker.metrics.timedOut >= 1)
      #expect(try await [Job.State.scheduled, .available].contains(fixture.status(ticket.id).state))
    }
  }

  /// A handler that does not hear keeps its slot, and loses its job a lease later.
  @Test func anOverdueRunThatIgnoresItsTimeLimitLosesItsJob() async throws {
    try await QueueFixture.make { fixture in
      let gate = Gate()
      let worker = fixture.worker(
        [
          ClosureHandler { job in
            if job.attempt == 1 { await gate.pass() }
            return .done
          }
        ], lease: .seconds(2))
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      try await fixture.database.query("UPDATE magpie.job SET time_limit = '50 ms'")
      worker.start()
      try await eventually("done by a second run") { try await fixture.status(ticket.id).state == .completed }
      let (attempt, crashes) = try #require(
        try await fixture.database.query("SELECT attempt, crashes FROM magpie.job_done").first
      ).decode((Int, Int).self)
      #expect(attempt == 2 && crashes == 0)
      gate.open()
      try await eventually("the first run has ended") { worker.metrics.lost == 1 }
      await worker.drain(deadline: .seconds(5))
      #expect(worker.metrics.completed == 1)
    }
  }

  @Test func theLeaderCleansTheTableWhenManyRowsAreDead() async throws {
    try await QueueFixture.make { fixture in
      var configuration = Worker.Configuration()
      configuration.vacuumThreshold = 100
      let worker = Worker(
        database: fixture.database, loops: fixture.group, handlers: [], configuration: configuration)
      try await fixture.database.query(
        "INSERT INTO magpie.job (kind, subject) SELECT 'none', n::text FROM generate_series(1, 300) n")
      try await fixture.database.query("DELETE FROM magpie.job")
      worker.start()
      try await eventually("cleaned") {
        try await column(
          Int.self, "SELECT vacuum_count FROM pg_stat_user_tables WHERE relid = 'magpie.job'::regclass", of: fixture.url
        ) == [1]
      }
      await worker.drain(deadline: .seconds(5))
      // The connection that did it is a worker's again.
      for _ in 0..<16 {
        let role = try await fixture.database.pooled { try await $0.query("SELECT current_user").first?[0] }
        #expect(role == "magpie_worker")
      }
    }
  }

  @Test func aCancelledRunEndsAtItsNextCheckpoint() async throws {
    try await QueueFixture.make { fixture in
      let gate = Gate()
      let worker = fixture.worker([
        ClosureHandler { job in
          await gate.pass()
          try await job.step(in: fixture.database, checkpoint: nil, done: 1) { _ in }
          Issue.record("went on after it was cancelled")
          return .done
        }
      ])
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      worker.start()
      try await eventually("it runs") { gate.arrivals == 1 }
      #expect(try await fixture.queue.cancel(ticket.id))
      gate.open()
      try await eventually("cancelled") { try await fixture.status(ticket.id).state == .cancelled }
      await worker.drain(deadline: .seconds(5))
      #expect(worker.metrics.cancelled == 1)
    }
  }

  /// Effects and the end of the job are one transaction.
  @Test func completingInATransactionCountsOnce() async throws {
    try await QueueFixture.make { fixture in
      let worker = fixture.worker([
        ClosureHandler { job in
          try await fixture.database.transaction { transaction in
            try await transaction.query("INSERT INTO magpie.job (kind, subject, state) VALUES ('effect', 'x', 'held')")
            try await job.complete(in: transaction)
          }
          return .done
        }
      ])
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      worker.start()
      try await eventually("done") { try await fixture.status(ticket.id).state == .completed }
      await worker.drain(deadline: .seconds(5))
      #expect(worker.metrics.completed == 1 && worker.metrics.lost == 0)
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job WHERE kind = 'effect'") == 1)
    }
  }

  /// The answer of a claim that was lost on its way: the table says we run a job that we do not know.
  @Test func aJobLeakedInALiveProcessComesBack() async throws {
    try await QueueFixture.make { fixture in
      let worker = fixture.worker([ClosureHandler { _ in .done }], lease: .seconds(2))
      worker.start()
      try await eventually("it is registered") {
        try await fixture.value("SELECT count(*) FROM magpie.worker WHERE state = 'up'") == 1
      }
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon, delay: .seconds(600))
      try await fixture.database.query(
        """
        UPDATE magpie.job SET state = 'running', wait_reason = NULL, run_token = gen_random_uuid(), attempt = 1,
          worker_id = (SELECT id FROM magpie.worker WHERE state = 'up'), started_at = now()
        """)
      try await eventually("done by a second run") { try await fixture.status(ticket.id).state == .completed }
      await worker.drain(deadline: .seconds(5))
      #expect(worker.metrics.leaked == 1)
      #expect(try await fixture.status(ticket.id).attempt == 2)
    }
  }

  @Test func aJobThatKillsItsWorkersIsQuarantinedAndThenDiscarded() async throws {
    try await QueueFixture.make { fixture in
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      for crash in 1...3 {
        let worker = try await fixture.registerWorker()
        let claimed = try await fixture.claim(for: worker, queue: crash == 3 ? "quarantine" : "default")
        #expect(claimed.map(\.id) == [ticket.id])
        try await fixture.database.query("UPDATE magpie.worker SET state = 'dead' WHERE id = \(worker)")
        let outcome: String = try await fixture.value("SELECT outcome FROM magpie.rescue_jobs()")
        #expect(outcome == (crash == 3 ? "discarded" : "rescheduled"))
        if crash < 3 {
          let (queue, crashes) = try #require(
            try await fixture.database.query("SELECT queue, crashes FROM magpie.job").first
          ).decode((String, Int).self)
          #expect(queue == (crash == 2 ? "quarantine" : "default") && crashes == crash)
        }
        try await fixture.database.query("UPDATE magpie.job SET state = 'available', wait_reason = NULL")
      }
      #expect(try await fixture.status(ticket.id).lastError == "worker died")
    }
  }

  @Test func aQuarantinedJobRunsInTheEnd() async throws {
    try await QueueFixture.make { fixture in
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .soon)
      try await fixture.database.query("UPDATE magpie.job SET queue = 'quarantine', crashes = 2")
      let worker = fixture.worker([ClosureHandler { _ in .done }])
      worker.start()
      try await eventually("done") { try await fixture.status(ticket.id).state == .completed }
      await worker.drain(deadline: .seconds(5))
    }
  }

  @Test func dutiesRunAndFailWithoutStoppingOthers() async throws {
    try await QueueFixture.make { fixture in
      struct Broken: Error {}
      let runs = Record<Int>()
      let worker = Worker(
        database: fixture.database, loops: fixture.group, handlers: [],
        duties: [
          Duty("broken", every: .milliseconds(5)) { throw Broken() },
          Duty("sound", every: .milliseconds(5)) { runs.add(1) },
        ])
      worker.start()
      try await eventually("several times") {
        runs.entries.count >= 5 && (worker.metrics.duties["broken"]?.failures ?? 0) >= 5
      }
      try await eventually("housekeeping has made the partitions") {
        try await fixture.value(
          "SELECT count(*) FROM pg_inherits WHERE inhparent = 'magpie.job_done'::regclass") == 4
      }
      #expect(worker.metrics.isLeader)
      await worker.drain(deadline: .seconds(5))
      #expect(worker.metrics.duties["broken"]?.successes == 0)
    }
  }
}
