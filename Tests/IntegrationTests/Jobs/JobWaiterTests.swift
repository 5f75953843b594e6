import EventLoop
import Postgres
import TestSupport
import Testing
import WorldSupport

@testable import Magpie

@Suite struct JobWaiterTests {
  /// - Parameter interval: ten minutes unless looking is what is tested, so that only a notice can be in time.
  private func withWaiter(
    interval: Duration = .seconds(600), listens: Bool = true,
    _ body: @escaping @Sendable (QueueFixture, JobWaiter) async throws -> Void
  ) async throws {
    try await QueueFixture.make { fixture in
      let notices = Notices(database: fixture.database)
      let waiter = JobWaiter(database: fixture.database, notices: notices, interval: interval)
      if listens { notices.start() }
      waiter.start(on: fixture.group.loops[0])
      do {
        try await fixture.group.loops[0].run { try await body(fixture, waiter) }
        waiter.stop()
      } catch {
        waiter.stop()
        throw error
      }
    }
  }

  private func outcome(_ outcome: JobWaiter.Outcome) -> String {
    switch outcome {
    case .answered(let status): "answered \(status.state)"
    case .progressed(let status): "progressed \(status.done ?? -1)"
    case .putOff(let status): "put off for \(status.startsIn.map { Int($0.inSeconds.rounded()) } ?? -1)"
    case .timedOut(let status): "timed out \(status.map { "\($0.state)" } ?? "")"
    case .unknown: "unknown"
    }
  }

  /// What is said when the time is up. It may be so before the first look has come back: then nothing is known of the job.
  private func saidInTheEnd(_ ticket: Job.Ticket, _ waiter: JobWaiter) async throws -> String {
    var said = ""
    try await eventually("a look comes in time") {
      said = outcome(try await waiter.wait(for: ticket, timeout: .milliseconds(100)))
      return said != "timed out "
    }
    return said
  }

  @Test func aFinishedJobIsAnsweredAtOnceAndAMissingOneIsUnknown() async throws {
    try await withWaiter(listens: false) { fixture, waiter in
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      try await fixture.queue.cancel(ticket.id)
      #expect(outcome(try await waiter.wait(for: ticket, timeout: .seconds(600))) == "answered cancelled")
      #expect(outcome(try await waiter.wait(for: Job.Ticket(id: 77), timeout: .seconds(600))) == "unknown")
    }
  }

  @Test func timeIsUp() async throws {
    try await withWaiter { fixture, waiter in
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      #expect(try await saidInTheEnd(ticket, waiter) == "timed out available")
    }
  }

  @Test func whoDoesNotWantToWaitForAPutOffJobIsToldAtOnce() async throws {
    try await withWaiter { fixture, waiter in
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon, delay: .seconds(500))
      let told = try await waiter.wait(for: ticket, endsWhenPutOff: true, timeout: .seconds(600))
      guard case .putOff(let status) = told else {
        Issue.record("\(outcome(told))")
        return
      }
      #expect((480...500).contains(try #require(status.startsIn).inSeconds))
      #expect(try await saidInTheEnd(ticket, waiter) == "timed out scheduled")
    }
  }

  @Test func progressAndTheEndAreHeardByAllWhoWait() async throws {
    try await withWaiter { fixture, waiter in
      let steps = Gate()
      let end = Gate()
      let worker = fixture.worker([
        ClosureHandler { job in
          await steps.pass()
          try await job.step(in: fixture.database, checkpoint: nil, done: 3, total: 9) { _ in }
          await end.pass()
          return .done
        }
      ])
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .interactive)
      worker.start()
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<20 {
          group.addTask {
            outcome(try await waiter.wait(for: ticket, progressBeyond: 2, timeout: .seconds(60)))
          }
        }
        steps.open()
        for try await heard in group { #expect(heard == "progressed 3") }
      }
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<20 {
          group.addTask { outcome(try await waiter.wait(for: ticket, progressBeyond: 3, timeout: .seconds(60))) }
        }
        end.open()
        for try await heard in group { #expect(heard == "answered completed") }
      }
      await worker.drain(deadline: .seconds(5))
    }
  }

  @Test func withoutAnyNoticeLookingIsEnough() async throws {
    try await withWaiter(interval: .milliseconds(50), listens: false) { fixture, waiter in
      let worker = fixture.worker([ClosureHandler { _ in .done }])
      let ticket = try await fixture.queue.request(kind: "test", subject: "x", priority: .interactive)
      async let heard = waiter.wait(for: ticket, timeout: .seconds(60))
      worker.start()
      #expect(outcome(try await heard) == "answered completed")
      await worker.drain(deadline: .seconds(5))
    }
  }

  /// However much is told of other jobs, one of which nothing is told is looked at.
  @Test func nobodyIsForgottenWhileOthersAreBusy() async throws {
    try await withWaiter(interval: .milliseconds(100), listens: false) { fixture, waiter in
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      let other = try await fixture.queue.request(kind: "a", subject: "y", priority: .soon)
      let isOver = Record<Bool>()
      let noise = Task {
        while isOver.entries.isEmpty { _ = try await waiter.wait(for: other, timeout: .milliseconds(1)) }
      }
      async let heard = waiter.wait(for: ticket, timeout: .seconds(60))
      try await eventually("both wait") { waiter.count == 2 }
      #expect(try await fixture.queue.cancel(ticket.id))
      #expect(outcome(try await heard) == "answered cancelled")
      isOver.add(true)
      try await noise.value
    }
  }

  /// A run that starts over answers those who asked before it.
  @Test func theEndOfARunAnswersThoseWhoAskedBeforeIt() async throws {
    try await withWaiter { fixture, waiter in
      let gates = [Gate(), Gate()]
      let worker = fixture.worker([
        ClosureHandler { job in
          await gates[gates[0].arrivals == 0 ? 0 : 1].pass()
          return .done
        }
      ])
      let first = try await fixture.queue.request(kind: "test", subject: "x", priority: .interactive)
      worker.start()
      try await eventually("it runs") { gates[0].arrivals == 1 }
      let second = try await fixture.queue.request(
        kind: "test", subject: "x", priority: .interactive, whenRunning: .startOver)
      async let early = waiter.wait(for: first, timeout: .seconds(60))
      gates[0].open()
      let answer = outcome(try await early)
      #expect(answer == "answered available" || answer == "answered running")
      #expect(outcome(try await waiter.wait(for: second, timeout: .milliseconds(50))).hasPrefix("timed out"))
      gates[1].open()
      #expect(outcome(try await waiter.wait(for: second, timeout: .seconds(60))) == "answered completed")
      await worker.drain(deadline: .seconds(5))
    }
  }

  @Test func oneTooManyIsRefused() async throws {
    try await withWaiter { fixture, waiter in
      let ticket = try await fixture.queue.request(kind: "a", subject: "x", priority: .soon)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<JobWaiter.maximumWaiters {
          group.addTask { _ = try await waiter.wait(for: ticket, timeout: .seconds(60)) }
        }
        try await eventually("all wait") { waiter.count == JobWaiter.maximumWaiters }
        await #expect(throws: JobError.tooManyWaiters) { try await waiter.wait(for: ticket, timeout: .seconds(60)) }
        try await fixture.queue.cancel(ticket.id)
        try await fixture.database.query("SELECT pg_notify(\(JobWaiter.channel), \(String(ticket.id)))")
        try await group.waitForAll()
      }
      #expect(waiter.count == 0)
    }
  }
}
