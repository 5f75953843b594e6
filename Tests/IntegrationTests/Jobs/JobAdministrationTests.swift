import Postgres
import TestSupport
import Testing

@testable import Magpie

@Suite struct JobAdministrationTests {
  private func asAdmin<Value: ColumnDecodable & Sendable>(
    _ type: Value.Type, _ query: Query, _ fixture: QueueFixture
  ) async throws -> [Value] {
    try await withDatabase(fixture.url, configure: { $0.role = "magpie_admin" }) { try await $0.column(type, query) }
  }

  @Test func pausedKindIsNotStartedUntilItIsResumed() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      _ = try await asAdmin(String?.self, "SELECT admin.pause_queue('slow')::text", fixture)
      for number in 0..<3 {
        _ = try await fixture.queue.request(kind: "slow", subject: "\(number)", priority: .interactive)
      }
      let other = try await fixture.queue.request(kind: "other", subject: "x", priority: .idle)
      let order = ClaimedJob.Order(worker: worker, limit: 2, timeLimit: .seconds(9))
      let first = try await ClaimedJob.claim(order, in: fixture.database)
      #expect(first.jobs.isEmpty && first.held == 2)
      let second = try await ClaimedJob.claim(order, in: fixture.database)
      #expect(second.jobs.map(\.id) == [other.id] && second.held == 1)
      #expect(
        try await asAdmin(Int.self, "SELECT held FROM admin.queue_health WHERE kind = 'slow' AND paused", fixture) == [
          3
        ])
      // A request for a held job joins it and does not set it free.
      #expect(try await fixture.queue.request(kind: "slow", subject: "0", priority: .interactive).outcome == .merged)
      #expect(try await ClaimedJob.claim(order, in: fixture.database).jobs.isEmpty)
      #expect(try await asAdmin(Int.self, "SELECT admin.resume_queue('slow')", fixture) == [3])
      #expect(try await fixture.claim(9, for: worker).count == 3)
    }
  }

  @Test func pausingAllStopsEveryKindAndLeavesTheQueueAsItIs() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      _ = try await asAdmin(String?.self, "SELECT admin.pause_queue()::text", fixture)
      #expect(try await fixture.claim(for: worker).isEmpty)
      #expect(try await fixture.status(ticket.id).state == .available)
      #expect(try await asAdmin(Int.self, "SELECT admin.resume_queue()", fixture) == [0])
      #expect(try await fixture.claim(for: worker).map(\.id) == [ticket.id])
    }
  }

  @Test func retryPutsAFinishedJobBackUnlessItsSubjectHasANewerOne() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let job = try await fixture.claimOne(for: worker)
      #expect(try await fixture.end(job, "discard", "hopeless") == "discarded")
      #expect(try await asAdmin(String.self, "SELECT last_error FROM admin.failed_jobs", fixture) == ["hopeless"])
      let newer = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      #expect(
        try await asAdmin(String.self, "SELECT admin.retry_job(\(ticket.id))", fixture) == [
          "a newer job has its subject"
        ])
      #expect(try await asAdmin(String.self, "SELECT admin.cancel_job(\(newer.id))", fixture) == ["cancelled"])
      #expect(try await asAdmin(String.self, "SELECT admin.retry_job(\(ticket.id))", fixture) == ["available"])
      #expect(try await asAdmin(Int.self, "SELECT count(*) FROM admin.failed_jobs", fixture) == [0])
      let again = try await fixture.claim(for: worker)
      #expect(again.map(\.id) == [ticket.id])
      #expect(try await asAdmin(String.self, "SELECT admin.retry_job(\(ticket.id))", fixture) == ["running"])
      #expect(try await asAdmin(String.self, "SELECT admin.cancel_job(\(ticket.id))", fixture) == ["cancelling"])
      #expect(try await asAdmin(String.self, "SELECT admin.retry_job(0)", fixture) == ["unknown"])
    }
  }

  @Test func viewsCountEveryStateOnce() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      for number in 0..<4 { _ = try await fixture.queue.request(kind: "a", subject: "\(number)", priority: .soon) }
      let jobs = try await fixture.claim(3, for: worker)
      #expect(try await fixture.complete([jobs[0]]).count == 1)
      #expect(try await fixture.end(jobs[1], "retry", "e", after: 60) == "retry")
      let states = try await asAdmin(String.self, "SELECT state FROM admin.jobs ORDER BY id", fixture)
      #expect(states == ["completed", "retrying", "running", "available"])
      let health = try await withDatabase(fixture.url, configure: { $0.role = "magpie_admin" }) { database in
        try await database.query(
          "SELECT available, scheduled, held, running, overdue, past_deadline FROM admin.queue_health"
        )
        .decode((Int, Int, Int, Int, Int, Int).self)
      }
      #expect(health.count == 1)
      #expect(try #require(health.first) == (1, 1, 0, 1, 0, 0))
    }
  }

  @Test func historyIsKeptByDaysAndDroppedByDays() async throws {
    try await QueueFixture.make { fixture in
      // The schema comes with its first days; a database that was not tended for long has none that count.
      _ = try await column(
        Int.self,
        """
        DO $$ DECLARE day regclass; BEGIN
          FOR day IN SELECT i.inhrelid::regclass FROM pg_inherits i
            WHERE i.inhparent = 'magpie.job_done'::regclass AND i.inhrelid <> 'magpie.job_done_default'::regclass LOOP
            EXECUTE format('DROP TABLE %s', day);
          END LOOP;
        END $$
        """, of: fixture.url)
      try await fixture.database.query(
        """
        INSERT INTO magpie.job_done (id, finished_at, state, created_at, attempt, max_attempts, priority, kind, args, errors)
        SELECT n, now() - n * interval '1 day', 'completed', now(), 1, 1, 1, 'a', '{}', '[]' FROM generate_series(0, 40) n
        """)
      let maintain: Query = "SELECT made, dropped FROM magpie.maintain_history('14 days')"
      async let first = fixture.database.query(maintain)
      async let second = fixture.database.query(maintain)
      var made: [Int] = []
      for rows in try await [first, second] { made.append(try #require(rows.first).decode(Int.self, at: 0)) }
      #expect(made.sorted() == [0, 3])
      // Today's row has moved to its day; the default partition holds the younger of the rest.
      #expect(try await column(Int.self, "SELECT count(*) FROM magpie.job_done_default", of: fixture.url) == [13])
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job_done") == 14)
      try await fixture.database.query("SELECT magpie.maintain_history('-3 days')")
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job_done") == 0)
    }
  }

  @Test func appAndWorkerHaveNoMoreThanTheyNeed() async throws {
    try await QueueFixture.make { fixture in
      for statement in ["CREATE TABLE magpie.t ()", "DROP TABLE magpie.job", "SELECT * FROM magpie.job_asker"] {
        let failure = await #expect(throws: PostgresError.self) {
          try await fixture.database.query(Query(unsafe: statement))
        }
        #expect(failure?.sqlState == .insufficientPrivilege)
      }
    }
    try await QueueFixture.make(role: "magpie_app") { fixture in
      for statement in [
        "CREATE TABLE magpie.t ()", "SELECT magpie.maintain_history()", "SELECT * FROM admin.jobs",
        "UPDATE magpie.credential SET strikes = 0", "DELETE FROM magpie.worker",
      ] {
        let failure = await #expect(throws: PostgresError.self) {
          try await fixture.database.query(Query(unsafe: statement))
        }
        #expect(failure?.sqlState == .insufficientPrivilege)
      }
    }
  }

  @Test func everythingBelongsToTheOwnerHasAnExplanationAndIsClosedToThePublic() async throws {
    try await QueueFixture.make { fixture in
      let foreign = try await column(
        String.self,
        """
        SELECT c.relname FROM pg_class c WHERE c.relnamespace IN ('magpie'::regnamespace, 'admin'::regnamespace)
          AND c.relowner <> 'magpie_owner'::regrole
        UNION ALL SELECT p.proname FROM pg_proc p WHERE p.pronamespace IN ('magpie'::regnamespace, 'admin'::regnamespace)
          AND (p.proowner <> 'magpie_owner'::regrole OR has_function_privilege('public', p.oid, 'EXECUTE'))
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
        """, of: fixture.url)
      #expect(foreign == [])
      let silent = try await column(
        String.self,
        """
        SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'admin'::regnamespace AND c.relkind = 'v'
          AND obj_description(c.oid, 'pg_class') IS NULL
        UNION ALL SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'admin'::regnamespace
          AND obj_description(p.oid, 'pg_proc') IS NULL
        """, of: fixture.url)
      #expect(silent == [])
    }
  }
}
