import Postgres
import TestSupport
import Testing

@testable import Magpie

@Suite struct JobRequestTests {
  @Test func requestsOfOneSubjectMergeAndTheMostUrgentCounts() async throws {
    try await QueueFixture.make { fixture in
      let first = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      #expect(first == Job.Ticket(id: first.id, run: 1, outcome: .inserted))
      let second = try await fixture.queue.request(
        kind: "a", subject: "x", args: Array(#"{"n": 2}"#.utf8), priority: .interactive)
      #expect(second == Job.Ticket(id: first.id, run: 1, outcome: .merged))
      let third = try await fixture.queue.request(kind: "a", subject: "x", priority: .idle)
      #expect(third == Job.Ticket(id: first.id, run: 1, outcome: .merged))
      #expect(try await fixture.status(first.id).priority == .interactive)
      #expect(try await fixture.value("SELECT args::text FROM magpie.job") == #"{"n": 2}"#)
      // Another kind with the same subject is another job; jobs without a subject never merge.
      #expect(try await fixture.queue.request(kind: "b", subject: "x", priority: .idle).outcome == .inserted)
      #expect(try await fixture.queue.request(kind: "a", subject: nil, priority: .idle).outcome == .inserted)
      #expect(try await fixture.queue.request(kind: "a", subject: nil, priority: .idle).outcome == .inserted)
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job") == 4)
    }
  }

  @Test func joiningARunningJobDoesNotMakeItStartOver() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let first = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      let jobs = try await fixture.claim(for: worker)
      let joined = try await fixture.queue.request(kind: "a", subject: "x", priority: .interactive)
      #expect(joined == Job.Ticket(id: first.id, run: 1, outcome: .merged))
      #expect(try await fixture.status(first.id).priority == .interactive)
      #expect(try await fixture.complete(jobs) == [first.id: "completed"])
      #expect(try await fixture.value("SELECT count(*) FROM magpie.job") == 0)
      #expect(try await fixture.status(first.id).answers(joined))
    }
  }

  @Test func askingAgainDuringARunMakesItStartOverWithTheNewArguments() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let first = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      let jobs = try await fixture.claim(for: worker)
      let again = try await fixture.queue.request(
        kind: "a", subject: "x", args: Array(#"{"n": 3}"#.utf8), priority: .soon, whenRunning: .startOver)
      #expect(again == Job.Ticket(id: first.id, run: 2, outcome: .rerun))
      try await fixture.database.transaction { transaction in
        _ = try await transaction.query(
          "UPDATE magpie.job SET checkpoint = '{}', progress_done = 5 WHERE run_token = \(jobs[0].token)")
      }
      #expect(try await fixture.complete(jobs) == [first.id: "rerun"])

      let status = try await fixture.status(first.id)
      #expect(status.state == .available)
      #expect(status.done == nil)
      #expect(status.answers(first))
      #expect(!status.answers(again))
      let second = try await fixture.claim(for: worker)
      #expect(String(decoding: second[0].args, as: UTF8.self) == #"{"n": 3}"#)
      #expect(second[0].checkpoint == nil)
      #expect(second[0].attempt == 1)
      #expect(try await fixture.complete(second) == [first.id: "completed"])
      #expect(try await fixture.status(first.id).answers(again))
    }
  }

  /// A run that is being cancelled is no answer to a new request.
  @Test func joiningACancelledRunStartsItOver() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let first = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      let jobs = try await fixture.claim(for: worker)
      #expect(try await fixture.queue.cancel(first.id))
      let joined = try await fixture.queue.request(kind: "a", subject: "x", priority: .background)
      #expect(joined == Job.Ticket(id: first.id, run: 2, outcome: .rerun))
      #expect(try await fixture.end(jobs[0], "cancel") == "rerun")
      let status = try await fixture.status(first.id)
      #expect(status.state == .available)
      #expect(!status.isCancelling)
    }
  }

  @Test func plainInsertIsACompleteRequest() async throws {
    try await QueueFixture.make(role: "magpie_admin") { fixture in
      try await fixture.database.query("INSERT INTO magpie.job (kind, subject) VALUES ('a', 'x')")
      let row = try #require(
        try await fixture.database.query("SELECT state, priority, queue, args::text, unattended FROM magpie.job").first)
      let (state, priority, queue, args, unattended) = try row.decode((String, Int, String, String, Bool).self)
      #expect((state, priority, queue, args, unattended) == ("available", 2, "default", "{}", true))
      let failure = await #expect(throws: PostgresError.self) {
        try await fixture.database.query("INSERT INTO magpie.job (kind, subject) VALUES ('a', 'x')")
      }
      #expect(failure?.sqlState == .uniqueViolation)
    }
  }

  @Test(arguments: [
    "UPDATE magpie.job SET state = 'running'",
    "UPDATE magpie.job SET priority = 10",
    "UPDATE magpie.job SET state = 'completed'",
    "UPDATE magpie.job SET kind = NULL",
    "INSERT INTO magpie.job (kind, subject) VALUES ('a', '')",
    "INSERT INTO magpie.job (kind) VALUES (repeat('k', 129))",
  ])
  func impossibleStatesByHandAreRefused(_ sql: String) async throws {
    try await QueueFixture.make(role: "magpie_admin") { fixture in
      try await fixture.database.query("INSERT INTO magpie.job (kind, subject) VALUES ('a', 'x')")
      let failure = await #expect(throws: PostgresError.self) { try await fixture.database.query(Query(unsafe: sql)) }
      #expect(failure?.sqlState == .checkViolation || failure?.sqlState == .notNullViolation)
    }
  }

  @Test func delayedJobStartsNoEarlierAndARequestWithoutDelayEndsIt() async throws {
    try await QueueFixture.make { fixture in
      let worker = try await fixture.registerWorker()
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon, delay: .seconds(60))
      let delayed = try await fixture.status(ticket.id)
      #expect(delayed.state == .scheduled)
      #expect((50...60).contains(try #require(delayed.startsIn).inSeconds))
      #expect(try await fixture.claim(for: worker).isEmpty)
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      #expect(try await fixture.status(ticket.id).state == .available)
      #expect(try await fixture.claim(for: worker).map(\.id) == [ticket.id])
    }
  }

  @Test func onlyAccountsThatAskedSeeAJobAndTheLastToWithdrawEndsIt() async throws {
    try await QueueFixture.make(role: "magpie_app") { fixture in
      let queue = fixture.queue
      let ticket = try await queue.request(kind: "a", subject: "x", priority: .interactive, account: 1)
      _ = try await queue.request(kind: "a", subject: "x", priority: .interactive, account: 2)
      #expect(try await queue.status(ticket.id, account: 1)?.id == ticket.id)
      #expect(try await queue.status(ticket.id, account: 2)?.id == ticket.id)
      #expect(try await queue.status(ticket.id, account: 3) == nil)
      #expect(try await queue.withdraw(3, from: ticket.id) == .unknown)
      #expect(try await queue.withdraw(1, from: ticket.id) == .withdrawn)
      #expect(try await queue.withdraw(1, from: ticket.id) == .unknown)
      #expect(try await queue.status(ticket.id, account: 1) == nil)
      #expect(try await fixture.status(ticket.id).state == .available)
      #expect(try await queue.withdraw(2, from: ticket.id) == .cancelled)
      #expect(try await fixture.status(ticket.id).state == .cancelled)
    }
  }

  @Test func aJobTheServerWantsOutlivesTheAccountsThatAsked() async throws {
    try await QueueFixture.make(role: "magpie_app") { fixture in
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon, account: 1)
      _ = try await fixture.queue.request(kind: "a", subject: "x", priority: .idle)
      #expect(try await fixture.queue.withdraw(1, from: ticket.id) == .withdrawn)
      #expect(try await fixture.status(ticket.id).state == .available)
    }
  }
}
