import EventLoop
import Postgres
import TestSupport
import Testing

@testable import Magpie

@Suite struct JobVerbTests {
  @Test func claimsTakeTheMostUrgentThenTheOldestAndNoMoreThanAsked() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      var ids: [Int64] = []
      for priority in [3, 1, 0, 1] {
        ids.append(
          try await fixture.queue.request(kind: "a", subject: nil, priority: Job.Priority(rawValue: priority)).id)
      }
      #expect(try await fixture.claim(2, for: worker).map(\.id) == [ids[2], ids[1]])
      #expect(try await fixture.claim(9, for: worker).map(\.id) == [ids[3], ids[0]])
      #expect(try await fixture.claim(9, for: worker).isEmpty)
    }
  }

  @Test func aStaleRunChangesNothing() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let other = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let stale = try await fixture.claimOne(for: worker)
      try await fixture.database.query("UPDATE magpie.worker SET state = 'dead' WHERE id = \(worker)")
      #expect(try await fixture.value("SELECT outcome FROM magpie.rescue_jobs()") == "rescheduled")
      try await fixture.database.query("UPDATE magpie.job SET state = 'available', wait_reason = NULL")
      let fresh = try await fixture.claimOne(for: other)
      #expect(fresh.id == stale.id && fresh.attempt == 2)

      let job = RunningJob(claim: stale, timeLimit: .seconds(1)) { _ in }
      await #expect(throws: JobError.lostRun) {
        try await job.step(in: fixture.database, checkpoint: Array("{}".utf8), done: 1) { transaction in
          try await transaction.query("INSERT INTO magpie.job (kind, subject) VALUES ('effect', 'of the stale run')")
        }
      }
      await #expect(throws: JobError.lostRun) {
        try await fixture.database.transaction { try await job.complete(in: $0) }
      }
      #expect(try await fixture.complete([stale]) == [:])
      #expect(try await fixture.database.query(CompletedRun(id: stale.id, token: stale.token).query).isEmpty)
      for how in ["retry", "snooze", "yield", "discard", "cancel"] {
        #expect(try await fixture.end(stale, how) == "lost")
      }
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job WHERE kind = 'effect'") == 0)
      #expect(try await fixture.status(ticket.id).done == nil)
      #expect(try await fixture.complete([fresh]) == [ticket.id: "completed"])
      // The end of the very run that ended it is known, for a process whose answer got lost.
      #expect(try await fixture.end(fresh, "retry") == "completed")
      #expect(try await fixture.end(stale, "retry") == "lost")
    }
  }

  @Test func whoGetsFurtherHasAllAttemptsAgain() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      try await fixture.database.query("UPDATE magpie.job SET attempt = 7, crashes = 2, progress_most = 5")
      let claim = try await fixture.claimOne(for: worker)
      let job = RunningJob(claim: claim, timeLimit: .seconds(60)) { _ in }
      func counts(after done: Int64?) async throws -> String {
        try await job.step(in: fixture.database, checkpoint: nil, done: done) { _ in }
        return try await fixture.value("SELECT concat_ws(' ', attempt, crashes) FROM magpie.job")
      }
      // A walk that begins anew has come no further than before.
      for done: Int64? in [nil, 1, 5] { #expect(try await counts(after: done) == "8 2") }
      #expect(try await counts(after: 6) == "1 0")
      try await fixture.database.query("UPDATE magpie.job SET attempt = 3, crashes = 1")
      for done: Int64? in [nil, 1, 6] { #expect(try await counts(after: done) == "3 1") }
      #expect(try await counts(after: 7) == "1 0")
    }
  }

  /// What an earlier run has reached says nothing of one that starts over: by whichever way the earlier one ends.
  @Test(arguments: ["done", "discard", "rescue"])
  func whoStartsOverGetsFurtherFromTheBeginning(end: String) async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let claim = try await fixture.claimOne(for: worker)
      try await RunningJob(claim: claim, timeLimit: .seconds(60)) { _ in }
        .step(in: fixture.database, checkpoint: nil, done: 1_000) { _ in }
      if end == "rescue" { _ = try await fixture.queue.cancel(ticket.id) }
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon, whenRunning: .startOver)
      switch end {
      case "done": #expect(try await fixture.complete([claim]) == [ticket.id: "rerun"])
      case "discard": #expect(try await fixture.end(claim, "discard", "e") == "rerun")
      default:
        try await fixture.database.query("UPDATE magpie.worker SET state = 'dead'")
        #expect(try await fixture.value("SELECT r.outcome FROM magpie.rescue_jobs() r") == "rescheduled")
      }
      #expect(try await fixture.value("SELECT progress_most FROM magpie.job") == 0)
    }
  }

  @Test func whoHasWaitedForASlotIsGivenWay() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      _ = try await fixture.queue.request(kind: "walk", subject: "long", priority: .background)
      let job = RunningJob(claim: try await fixture.claimOne(for: worker), timeLimit: .seconds(60)) { _ in }
      let now = System.monotonicNanoseconds()
      let later = now + RunningJob.turn.wholeNanoseconds + 60_000_000_000
      func interruptions() async throws -> [JobResult?] {
        try await job.step(in: fixture.database, checkpoint: nil) { _ in }
        return [job.interruption(at: now), job.interruption(at: later)]
      }
      let pause = JobResult.snooze(RunningJob.pause)
      #expect(try await interruptions() == [nil, nil])
      let other = try await fixture.queue.request(kind: "other", subject: "x", priority: .idle)
      func wait(as priority: Job.Priority, for seconds: Double) async throws {
        try await fixture.database.query(
          """
          UPDATE magpie.job SET priority = \(priority.rawValue)::int, available_at = now() - make_interval(secs => \(seconds))
           WHERE id = \(other.id)
          """)
      }
      // Less urgent; of the same urgency, which has to wait for this run's turn; more urgent, but only since a moment; or at once.
      try await wait(as: .idle, for: 60)
      #expect(try await interruptions() == [nil, nil])
      try await wait(as: .background, for: 60)
      #expect(try await interruptions() == [nil, pause])
      try await wait(as: .interactive, for: -60)
      #expect(try await interruptions() == [nil, nil])
      try await wait(as: .interactive, for: 60)
      #expect(try await interruptions() == [pause, pause])
      // Nobody waits for what nobody may begin.
      for kind in ["other", "*"] {
        try await withDatabase(fixture.url) { owner in
          try await owner.query("INSERT INTO magpie.queue_pause (kind) VALUES (\(kind))")
          #expect(try await interruptions() == [nil, nil])
          try await owner.query("DELETE FROM magpie.queue_pause")
        }
      }
      job.stop(.draining)
      #expect(try await interruptions() == [.yield, .yield])
    }
  }

  @Test(arguments: [(1, 2.0), (2, 4.0), (5, 32.0), (12, 3_600.0), (30, 3_600.0)])
  func failedRunWaitsHalfToOneAndAHalfTimesTheBackOff(_ attempt: Int, _ base: Double) async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      var delays: [Double] = []
      for number in 0..<20 {
        let ticket = try await fixture.queue.request(kind: "a", subject: "\(number)", priority: .soon)
        try await fixture.database.query(
          "UPDATE magpie.job SET attempt = \(attempt - 1)::int, max_attempts = 100 WHERE id = \(ticket.id)")
        let job = try await fixture.claimOne(for: worker)
        #expect(try await fixture.end(job, "retry", "no luck") == "retry")
        delays.append(
          try await fixture.value(
            "SELECT extract(epoch FROM available_at - now())::float8 FROM magpie.job WHERE id = \(ticket.id)"))
      }
      // The clock ran on between the two statements.
      #expect(delays.allSatisfy { $0 > 0.5 * base - 1 && $0 <= 1.5 * base })
      #expect(Set(delays).count > 15)
    }
  }

  @Test func lastAttemptDiscardsAndKeepsTheLastTenErrors() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      try await fixture.database.query("UPDATE magpie.job SET max_attempts = 12")
      for attempt in 1...12 {
        let job = try await fixture.claimOne(for: worker)
        #expect(job.attempt == attempt)
        #expect(
          try await fixture.end(job, "retry", "error \(attempt)", after: 0) == (attempt < 12 ? "retry" : "discarded"))
        try await fixture.database.query("UPDATE magpie.job SET state = 'available'")
      }
      let status = try await fixture.status(ticket.id)
      #expect(status.state == .discarded)
      #expect(status.lastError == "error 12")
      let errors: [String] = try await fixture.database.query(
        "SELECT e ->> 'error' FROM magpie.job_done, jsonb_array_elements(errors) e"
      ).decode(String.self)
      #expect(errors == (3...12).map { "error \($0)" })
    }
  }

  @Test func nothingIsPutOffByMoreThanADay() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      let job = try await fixture.claimOne(for: worker)
      #expect(try await fixture.end(job, "snooze", after: 1_800_000_000) == "snooze")
      #expect((86_390...86_400).contains(try #require(try await fixture.status(ticket.id).startsIn).inSeconds))
    }
  }

  @Test func snoozeGivesTheAttemptBackAndOnlyAMoreUrgentRequestEndsIt() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      let job = try await fixture.claimOne(for: worker)
      #expect(try await fixture.end(job, "snooze", after: 1_000) == "snooze")
      let snoozed = try await fixture.status(ticket.id)
      #expect(snoozed.state == .scheduled && snoozed.attempt == 0)
      #expect((990...1_000).contains(try #require(snoozed.startsIn).inSeconds))
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .background, whenRunning: .startOver)
      #expect(try await fixture.status(ticket.id).state == .scheduled)
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      #expect(try await fixture.status(ticket.id).state == .available)
      #expect(try await fixture.claimOne(for: worker).attempt == 1)
    }
  }

  @Test func noRequestCutsABackOffShort() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      #expect(try await fixture.end(try await fixture.claimOne(for: worker), "retry", "e", after: 500) == "retry")
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .interactive, whenRunning: .startOver)
      let status = try await fixture.status(ticket.id)
      #expect(status.state == .scheduled && status.priority == .interactive)
      #expect((490...500).contains(try #require(status.startsIn).inSeconds))
    }
  }

  @Test func yieldKeepsTheCheckpointAndIsAvailableAtOnce() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      let claim = try await fixture.claimOne(for: worker)
      let job = RunningJob(claim: claim, timeLimit: .seconds(9)) { _ in }
      try await job.step(in: fixture.database, checkpoint: Array(#"{"page": 7}"#.utf8), done: 7, total: 9) { _ in }
      #expect(try await fixture.end(claim, "yield") == "yield")
      let status = try await fixture.status(ticket.id)
      #expect(status.state == .available && status.done == 7 && status.total == 9)
      let next = try await fixture.claimOne(for: worker)
      #expect(next.attempt == 1)
      #expect(next.checkpoint.map { String(decoding: $0, as: UTF8.self) } == #"{"page": 7}"#)
    }
  }

  @Test func cancelEndsAWaitingJobAtOnceAndARunningOneAtItsCheckpoint() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let running = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let claim = try await fixture.claimOne(for: worker)
      let waiting = try await fixture.queue.request(kind: "a", subject: "y", priority: .soon)
      #expect(try await fixture.queue.cancel(waiting.id))
      #expect(try await fixture.status(waiting.id).state == .cancelled)
      #expect(try await !fixture.queue.cancel(waiting.id))

      #expect(try await fixture.queue.cancel(running.id))
      #expect(try await fixture.status(running.id).isCancelling)
      let job = RunningJob(claim: claim, timeLimit: .seconds(9)) { _ in }
      await #expect(throws: JobError.cancelled) {
        try await job.step(in: fixture.database, checkpoint: nil, done: 1) { transaction in
          try await transaction.query("INSERT INTO magpie.job (kind, subject) VALUES ('effect', 'x')")
        }
      }
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job WHERE kind = 'effect'") == 0)
      #expect(try await fixture.end(claim, "cancel") == "cancelled")
      #expect(try await fixture.status(running.id).state == .cancelled)
    }
  }

  @Test func checkpointTakesOverARaisedPriorityAndMovesTheDeadline() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      let job = RunningJob(claim: try await fixture.claimOne(for: worker), timeLimit: .seconds(7_000)) { _ in }
      #expect(job.priority == .background)
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .interactive)
      try await job.step(in: fixture.database, checkpoint: nil) { _ in }
      #expect(job.priority == .interactive)
      let left: Double = try await fixture.value(
        "SELECT extract(epoch FROM deadline_at - now())::float8 FROM magpie.job")
      #expect((6_990...7_000).contains(left))
    }
  }
}
