import EventLoop
import Postgres
import Synchronization

/// Lets callers wait for jobs: one look at the database serves all who wait, when a notice names a job, and every second
/// in any case.
public final class JobWaiter: Sendable {
  /// The channel on which the ends and the progress of jobs are told: ids with commas in between.
  public static let channel = "magpie_done"
  /// Callers waiting at once, for any job.
  public static let maximumWaiters = 4_096

  /// How a wait ended.
  public enum Outcome: Sendable {
    /// The request is answered: the job has ended, or its run has.
    case answered(Job.Status)
    /// More is done than the caller knew of.
    case progressed(Job.Status)
    /// It waits for a time of its own, after a failure or for a budget.
    case putOff(Job.Status)
    /// The time is up. The job as it was last seen, if it was.
    case timedOut(Job.Status?)
    /// There is no such job (any more).
    case unknown
  }

  private struct Waiter {
    let id: Int64
    let bell: Doorbell
    var latest: Job.Status?
    var isMissing = false
  }

  private struct State {
    var waiters: [Int: Waiter] = [:]
    var nextNumber = 0
    var toLookAt: Set<Int64> = []
    var isStopped = false
  }

  private let database: Database
  private let interval: Duration
  private let bell = Doorbell()
  private let state = Mutex(State())

  /// - Parameter interval: between looks without a notice; from half of it to one and a half.
  public init(database: Database, notices: Notices, interval: Duration = .seconds(1)) {
    self.database = database
    self.interval = interval
    notices.on(JobWaiter.channel) { [weak self] payload in self?.hear(payload) }
  }

  /// Starts looking, on the loop. Runs until `stop`.
  public func start(on loop: EventLoop) {
    Task(executorPreference: loop) { await self.run() }
  }

  /// Ends the looking; whoever waits runs into the timeout.
  public func stop() {
    state.withLock { $0.isStopped = true }
    bell.ring()
  }

  /// Callers waiting now.
  public var count: Int { state.withLock { $0.waiters.count } }

  /// Waits until the request is answered. Must be called on a loop.
  ///
  /// - Parameters:
  ///   - endsWhenPutOff: also return as soon as the job is scheduled for later.
  ///   - progress: also return as soon as more than this is done. Zero means the first step; `nil` waits for the end.
  ///   - timeout: the longest wait.
  /// - Throws: `JobError.tooManyWaiters`.
  public func wait(
    for ticket: Job.Ticket, progressBeyond progress: Int64? = nil, endsWhenPutOff: Bool = false, timeout: Duration
  ) async throws(JobError) -> Outcome {
    let own = Doorbell()
    let number = state.withLock { state -> Int? in
      guard state.waiters.count < JobWaiter.maximumWaiters else { return nil }
      state.nextNumber += 1
      state.waiters[state.nextNumber] = Waiter(id: ticket.id, bell: own)
      state.toLookAt.insert(ticket.id)
      return state.nextNumber
    }
    guard let number else { throw .tooManyWaiters }
    defer { _ = state.withLock { $0.waiters.removeValue(forKey: number) } }
    bell.ring()

    let deadline = System.monotonicNanoseconds() &+ timeout.wholeNanoseconds
    while true {
      let waiter = state.withLock { $0.waiters[number] }
      if waiter?.isMissing == true { return .unknown }
      if let status = waiter?.latest {
        if status.answers(ticket) { return .answered(status) }
        if let progress, (status.done ?? 0) > progress { return .progressed(status) }
        if endsWhenPutOff, status.state == .scheduled { return .putOff(status) }
      }
      let now = System.monotonicNanoseconds()
      if now >= deadline || Task.isCancelled { return .timedOut(waiter?.latest) }
      await own.wait(upTo: .nanoseconds(Int64(clamping: deadline &- now)))
    }
  }

  private func hear(_ payload: String?) {
    let isWanted = state.withLock { state in
      let waited = Set(state.waiters.values.map(\.id))
      if let payload {
        state.toLookAt.formUnion(payload.split(separator: ",").compactMap { Int64($0) }.filter(waited.contains))
      } else {
        state.toLookAt.formUnion(waited)
      }
      return !state.toLookAt.isEmpty
    }
    if isWanted { bell.ring() }
  }

  private func run() async {
    func nextLook() -> UInt64 {
      System.monotonicNanoseconds() &+ (interval * Double.random(in: 0.5...1.5)).wholeNanoseconds
    }
    var due = nextLook()
    while true {
      let now = System.monotonicNanoseconds()
      await bell.wait(upTo: .nanoseconds(Int64(clamping: due > now ? due - now : 0)))
      // By the clock and not by silence: where much is told, some of it may still get lost.
      let isDue = System.monotonicNanoseconds() >= due
      if isDue { due = nextLook() }
      let (ids, isStopped) = state.withLock { state in
        if isDue { state.toLookAt.formUnion(state.waiters.values.map(\.id)) }
        defer { state.toLookAt = [] }
        return (state.toLookAt.sorted(), state.isStopped)
      }
      if isStopped { return }
      if ids.isEmpty { continue }
      // While the database is away there is nothing to tell, and the next look comes by itself.
      guard let rows = try? await database.query(Job.Status.query(ids)) else { continue }
      deliver(ids, rows.compactMap { try? Job.Status($0) })
    }
  }

  private func deliver(_ ids: [Int64], _ found: [Job.Status]) {
    let byID = Dictionary(found.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let asked = Set(ids)
    let bells = state.withLock { state in
      var bells: [Doorbell] = []
      for (number, waiter) in state.waiters where asked.contains(waiter.id) {
        state.waiters[number]?.latest = byID[waiter.id]
        state.waiters[number]?.isMissing = byID[waiter.id] == nil
        bells.append(waiter.bell)
      }
      return bells
    }
    for bell in bells { bell.ring() }
  }
}
