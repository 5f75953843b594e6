import EventLoop
import Postgres
import TestSupport
import Testing
import WorldSupport

@testable import Magpie

@Suite struct JobRaceTests {
  /// The request comes first: the completion finds the row locked, and then sees that it must start over.
  @Test func completionDuringARequestIsBusyAndThenStartsOver() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let jobs = try await fixture.claim(for: worker)
      try await fixture.database.transaction { transaction in
        _ = try await transaction.query("SELECT magpie.request_job('a', 'x', p_again => true)")
        #expect(try await fixture.complete(jobs) == [jobs[0].id: "busy"])
        // The form for one run alone waits; given a lock timeout it fails and is tried again.
      }
      #expect(try await fixture.complete(jobs) == [jobs[0].id: "rerun"])
    }
  }

  /// The completion comes first: the request waits for it and makes a new job.
  @Test func requestDuringACompletionMakesANewJob() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let first = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let claim = try await fixture.claimOne(for: worker)
      let job = RunningJob(claim: claim, timeLimit: .seconds(9)) { _ in }
      let request = try await fixture.database.transaction { transaction in
        try await job.complete(in: transaction)
        let request = Task {
          try await fixture.queue.request(kind: "a", subject: "x", priority: .soon, whenRunning: .startOver)
        }
        try await eventually("the request waits for the row") {
          try await column(
            Int.self,
            """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """, of: fixture.url) == [1]
        }
        return request
      }
      let second = try await request.value
      #expect(second.outcome == .inserted && second.id != first.id)
      #expect(try await fixture.status(first.id).state == .completed)
      #expect(try await fixture.status(second.id).state == .available)
    }
  }

  /// What a run is about to have stored is not asked for again by whoever looked before it was there: the condition is looked
  /// at once more when the run is committed.
  @Test(arguments: [true, false]) func requestDuringACompletionIsAnsweredByIt(alone: Bool) async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let job = RunningJob(claim: try await fixture.claimOne(for: worker), timeLimit: .seconds(9)) { _ in }
      let request = try await fixture.database.transaction { transaction in
        try await job.complete(in: transaction)
        let request = Task { () async throws -> [String] in
          func done(_ subject: Query) -> Query {
            "EXISTS (SELECT FROM magpie.job_done d WHERE d.subject = \(fragment: subject) AND d.state = 'completed')"
          }
          let args = Array("{}".utf8)
          if alone {
            let ticket = try await fixture.queue.request(
              kind: "a", subject: "x", args: args, priority: .interactive, account: nil, unless: done("'x'"))
            return ticket == nil ? [] : ["x"]
          }
          return try await fixture.queue.request(
            kind: "a", [("x", args), ("y", args)], priority: .interactive, account: nil, unless: done("s.subject")
          ).keys.sorted()
        }
        try await eventually("the request waits for the row") {
          try await column(
            Int.self,
            """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """, of: fixture.url) == [1]
        }
        return request
      }
      let asked = alone ? [] : ["y"]
      #expect(try await request.value == asked)
      #expect(try await fixture.database.query("SELECT subject FROM magpie.job").decode(String.self) == asked)
    }
  }

  @Test func eightClaimersShareOutAllJobs() async throws {
    try await QueueFixture.make(loops: 2) { fixture in
      let worker = try await fixture.registerWorker()
      try await fixture.database.query(
        "INSERT INTO magpie.job (kind, subject) SELECT 'a', n::text FROM generate_series(1, 400) n")
      let claimed = try await withThrowingTaskGroup(of: [Int64].self) { group in
        for _ in 0..<8 {
          group.addTask {
            var ids: [Int64] = []
            while true {
              let jobs = try await fixture.claim(Int.random(in: 1...9), for: worker)
              ids += jobs.map(\.id)
              // Others may hold the last rows while this one looks.
              if jobs.isEmpty, try await fixture.value("SELECT count(*) FROM magpie.job WHERE state = 'available'") == 0
              {
                return ids
              }
            }
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(claimed.count == 400)
      #expect(Set(claimed).count == 400)
    }
  }

  /// A request made after a run has started is answered by one that started later, whatever the timing.
  @Test func noRequestIsLostBetweenRuns() async throws {
    try await QueueFixture.make(loops: 2) { fixture in
      let starts = Record<Int64>()
      let clock = ContinuousClock.now
      @Sendable func now() -> Int64 { Int64((ContinuousClock.now - clock) / .nanoseconds(1)) }
      let worker = fixture.worker([
        ClosureHandler { _ in
          starts.add(now())
          return .done
        }
      ])
      worker.start()
      let asked = try await withThrowingTaskGroup(of: [(Job.Ticket, Int64)].self) { group in
        for _ in 0..<4 {
          group.addTask {
            var tickets: [(Job.Ticket, Int64)] = []
            for _ in 0..<100 {
              let before = now()
              let ticket = try await fixture.queue.request(
                kind: "test", subject: "one", priority: .interactive, whenRunning: .startOver)
              tickets.append((ticket, before))
            }
            return tickets
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      try await eventually("the queue is empty") { try await fixture.value("SELECT count(*) FROM magpie.job") == 0 }
      await worker.drain(deadline: .seconds(5))
      let last = try #require(starts.entries.max())
      for (ticket, before) in asked {
        #expect(last > before)
        #expect(try await fixture.status(ticket.id).answers(ticket))
      }
      #expect(starts.entries.count <= asked.count)
    }
  }

  /// All verbs at once on few subjects: no deadlock reaches a caller, and the books balance.
  @Test func verbsDoNotDeadlock() async throws {
    try await QueueFixture.make(loops: 2) { fixture in
      let worker = try await fixture.registerWorker()
      let made = Record<Int64>()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for session in 0..<8 {
          group.addTask {
            var held: [ClaimedJob] = []
            for round in 0..<150 {
              switch (session + round + Int.random(in: 0..<8)) % 8 {
              case 0, 1, 2:
                let ticket = try await fixture.queue.request(
                  kind: "a", subject: "\(Int.random(in: 0..<20))", priority: Job.Priority(rawValue: .random(in: 0...3)),
                  whenRunning: .random() ? .join : .startOver, account: nil)
                if ticket.outcome == .inserted { made.add(ticket.id) }
              case 3, 4: held += try await fixture.claim(.random(in: 1...5), for: worker)
              case 5:
                let outcomes = try await fixture.database.retrying(
                  CompletedRun.query(held.map { CompletedRun(id: $0.id, token: $0.token) })
                ).decode((Int64, String).self)
                let busy = Set(outcomes.filter { $0.1 == "busy" }.map(\.0))
                held = held.filter { busy.contains($0.id) }
              case 6:
                if let job = held.popLast() {
                  let how = ["retry", "snooze", "yield", "cancel"].randomElement() ?? "retry"
                  try await fixture.database.retrying(
                    "SELECT magpie.end_run(\(job.id), \(job.token), \(how), 'e', '0')")
                }
              default:
                if let id = made.entries.randomElement() {
                  try await fixture.database.retrying("SELECT c.id FROM magpie.cancel_jobs(\([id])) c")
                }
                try await fixture.database.retrying("SELECT r.id FROM magpie.rescue_jobs() r")
                try await fixture.database.retrying(
                  """
                  UPDATE magpie.job SET state = 'available' WHERE id = ANY (ARRAY(
                    SELECT id FROM magpie.job WHERE state = 'scheduled' FOR NO KEY UPDATE SKIP LOCKED))
                  """)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      // Every job that was ever made is in exactly one of the two tables.
      let ids = made.entries
      #expect(Set(ids).count == ids.count)
      let found: [Int64] = try await fixture.database.query(
        "SELECT id FROM magpie.job UNION ALL SELECT id FROM magpie.job_done ORDER BY 1"
      ).decode(Int64.self)
      #expect(found == ids.sorted())
      #expect(try await fixture.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0)
    }
  }
}
