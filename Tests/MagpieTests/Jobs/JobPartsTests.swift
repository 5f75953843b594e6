import Postgres
import Testing

@testable import Magpie

@Suite struct NoticeLimiterTests {
  @Test func firstNoticeGoesAtOnceAndTheNextWaitInABunch() {
    var limiter = NoticeLimiter()
    #expect(limiter.add("a", at: 1_000) == .now)
    #expect(limiter.add("b", at: 1_001) == .planned)
    #expect(limiter.take(at: 1_002) == ["a,b"])
    #expect(limiter.add("c", at: 1_003) == .at(1_002 + NoticeLimiter.interval))
    #expect(limiter.add("c", at: 1_004) == .planned)
    #expect(limiter.add("a", at: 1_005) == .planned)
    #expect(limiter.take(at: 60_000_000) == ["a,c"])
    #expect(limiter.add("d", at: 60_000_000 + NoticeLimiter.interval - 1) == .at(60_000_000 + NoticeLimiter.interval))
    #expect(limiter.take(at: 200_000_000) == ["d"])
    #expect(limiter.add("e", at: 200_000_000 + NoticeLimiter.interval) == .now)
  }

  @Test func payloadsStayBelowTheServersLimit() {
    var limiter = NoticeLimiter()
    let payloads = (0..<2_000).map { "\(1_000_000_000 + $0)" }
    for payload in payloads { _ = limiter.add(payload, at: 0) }
    let notices = limiter.take(at: 0)
    #expect(notices.allSatisfy { $0.utf8.count <= NoticeLimiter.maximumPayload })
    #expect(notices.count == 3)
    let told: [String] = notices.flatMap { notice in notice.split(separator: ",").map(String.init) }
    #expect(told == payloads)
  }

  @Test func noMoreThanTheLimitIsKeptWhileNothingCanBeSent() {
    var limiter = NoticeLimiter()
    for number in 0...NoticeLimiter.maximumWaiting { _ = limiter.add("\(number)", at: 0) }
    let kept = limiter.take(at: 0).flatMap { $0.split(separator: ",") }
    #expect(kept.count == NoticeLimiter.maximumWaiting)
    #expect(!kept.contains("\(NoticeLimiter.maximumWaiting)"))
  }
}

@Suite struct StillnessWatchTests {
  @Test func onlyWhatKeepsItsValueGrowsOld() {
    var watch = StillnessWatch<String, Int>()
    #expect(watch.observe([("a", 1), ("b", 1)], at: 100) == ["a": 0, "b": 0])
    #expect(watch.observe([("a", 1), ("b", 2), ("c", 1)], at: 150) == ["a": 50, "b": 0, "c": 0])
    #expect(watch.observe([("a", 1), ("b", 2)], at: 190) == ["a": 90, "b": 40])
    // Gone and back again is new.
    #expect(watch.observe([("c", 1)], at: 200) == ["c": 0])
  }

  /// A jump of the clock that made the values is a change of value like any other, and buries nobody.
  @Test func afterATimeWithoutSightNothingIsOld() {
    var watch = StillnessWatch<String, Int>()
    _ = watch.observe([("a", 1)], at: 0)
    watch.forget()
    #expect(watch.observe([("a", 1)], at: 1_000) == ["a": 0])
  }
}

@Suite struct LowWaterMarkTests {
  private func jobs(_ places: [(Int, Int64)]) -> [ClaimedJob] {
    places.map { priority, id in
      ClaimedJob(
        id: id, token: UUID(), kind: "a", subject: nil, priority: Job.Priority(rawValue: priority), attempt: 1,
        args: [],
        checkpoint: nil, timeLimit: nil)
    }
  }

  @Test func claimsGoOnBehindAFullOneForASecond() {
    var mark = LowWaterMark()
    #expect(mark.start(at: 0) == .start)
    mark.record(jobs([(0, 9), (1, 4)]), limit: 2, at: 5_000_000_000)
    #expect(mark.start(at: 5_000_000_000) == .init(priority: 1, id: 4))
    // Going on does not make it younger.
    mark.record(jobs([(1, 8)]), limit: 1, at: 5_900_000_000)
    #expect(mark.start(at: 5_999_999_999) == .init(priority: 1, id: 8))
    #expect(mark.start(at: 6_000_000_000) == .start)
  }

  @Test func aShortClaimForgetsIt() {
    var mark = LowWaterMark()
    mark.record(jobs([(1, 4)]), limit: 1, at: 1)
    mark.record(jobs([(1, 5)]), limit: 2, at: 2)
    #expect(mark.start(at: 3) == .start)
    mark.record(jobs([(1, 6)]), limit: 1, at: 4)
    mark.forget()
    #expect(mark.start(at: 5) == .start)
  }
}

@Suite struct WorkerRuleTests {
  @Test(arguments: [
    // concurrency, reserved, urgent, others → general, interactive
    (4, 1, 0, 0, 3, 4), (4, 1, 0, 3, 0, 1), (4, 1, 1, 3, 0, 0), (4, 1, 4, 0, 0, 0), (4, 1, 2, 0, 2, 2),
    (4, 1, 0, 2, 1, 2),
    (1, 0, 0, 0, 1, 1), (1, 0, 0, 1, 0, 0), (4, 1, 5, 3, 0, 0),
  ])
  func slotsAreKeptForInteractiveJobs(
    _ concurrency: Int, _ reserved: Int, _ urgent: Int, _ others: Int, _ general: Int, _ interactive: Int
  ) {
    let capacity = Worker.Capacity(concurrency: concurrency, reserved: reserved, urgent: urgent, others: others)
    #expect(capacity.general == general)
    #expect(capacity.interactive == interactive)
  }

  @Test func aQuarterOfTheSlotsIsKept() {
    var configuration = Worker.Configuration()
    let kept = [1, 2, 4, 5, 8].map { concurrency in
      configuration.concurrency = concurrency
      return configuration.interactiveSlots
    }
    #expect(kept == [0, 1, 1, 2, 2])
  }

  private struct Bad: Error, CustomStringConvertible { let description = "bad luck" }

  @Test func endsOfHandlersMeanWhatTheySay() {
    typealias Verdict = Worker.Verdict
    #expect(Verdict(.success(.done), stopped: nil) == .completed)
    #expect(Verdict(.success(.yield), stopped: nil) == .ended("yield"))
    #expect(Verdict(.success(.snooze(.seconds(3))), stopped: nil) == .ended("snooze", after: .seconds(3)))
    #expect(
      Verdict(.success(.retry(after: .seconds(9), error: "e")), stopped: nil)
        == .ended("retry", error: "e", after: .seconds(9)))
    #expect(Verdict(.success(.discard(error: "e")), stopped: nil) == .ended("discard", error: "e"))
    #expect(Verdict(.failure(Bad()), stopped: nil) == .ended("retry", error: "bad luck"))
    #expect(Verdict(.failure(JobError.lostRun), stopped: nil) == .lost)
    #expect(Verdict(.failure(JobError.cancelled), stopped: .cancelled) == .ended("cancel"))
    #expect(Verdict(.failure(CancellationError()), stopped: .timedOut) == .ended("retry", error: "timed out"))
    #expect(Verdict(.failure(CancellationError()), stopped: .draining) == .ended("yield"))
    // Done is done, even when the process was about to cut it off.
    #expect(Verdict(.success(.done), stopped: .draining) == .completed)
    #expect(Verdict(.success(.done), stopped: .timedOut) == .completed)
    // Nor can it be lost once the database has it.
    #expect(Verdict(.success(.done), stopped: .lost, isCompleted: true) == .completed)
    // A lost run has nothing more to say.
    #expect(Verdict(.success(.done), stopped: .lost) == .lost)
    #expect(Verdict(.failure(Bad()), stopped: .lost) == .lost)
  }

  @Test func credentialsAreNamedByDigest() {
    typealias Credential = Budgets.Credential
    #expect(Credential.identifier(pool: "github", secret: nil) == "github:anonymous")
    // SHA-256 of "abc" (FIPS 180-2, B.1): ba7816bf 8f01cfea 4141 …
    #expect(Credential.identifier(pool: "github", secret: "abc") == "github:ba7816bf8f01cfea4141")
  }

  @Test func prioritiesStayInTheirRange() {
    #expect(Job.Priority(rawValue: -1) == .interactive)
    #expect(Job.Priority(rawValue: 10).rawValue == 9)
    #expect(Job.Priority.interactive < .soon && .soon < .background && .background < .idle)
  }
}
