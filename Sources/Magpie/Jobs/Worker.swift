import EventLoop
import Postgres
import Synchronization

/// Runs jobs: claims them, hands them to their handlers, keeps the process's lease, and does its share of the housekeeping.
///
/// What may go wrong around it is expected: a process that is killed or stopped loses its jobs to others after a lease, and
/// when it wakes up again none of its writes are taken. A database that goes away is waited for.
public final class Worker: Sendable {
  /// As given.
  public let configuration: Configuration

  let database: Database
  let loops: [EventLoop]
  let handlers: [String: any JobHandler]
  let duties: [Duty]
  let leadership: Leadership
  let completions: Completions
  /// Wakes the claiming.
  let bell = Doorbell()
  /// Tells other processes of jobs that have become available.
  let requests: NoticeSender
  /// Tells those who wait for jobs.
  let endings: NoticeSender
  /// Wakes whoever sleeps between two beats or two rounds of a duty, when the end has come.
  let alarms = Mutex<[Doorbell]>([])
  let state = Mutex(State())
  let counters = Mutex(Metrics())

  struct State {
    enum Phase { case idle, working, draining, stopped }
    var phase = Phase.idle
    /// This process in the table of workers; `nil` before it is registered and after it was declared dead.
    var id: UUID?
    /// Until then nobody can have declared it dead.
    var leaseEnds: UInt64 = 0
    var runs: [UUID: Run] = [:]
    /// Tasks of the worker's own that have not ended.
    var ownTasks = 0
    /// Something more urgent may have come in since the last claim.
    var heard = true
    var nextLoop = 0
    /// Since when some handler has been at work without a pause.
    var busySince: UInt64?
    var overdue = StillnessWatch<UUID, Instant>()
    var beats = StillnessWatch<UUID, Instant>()
    /// The login may not clean the queue's table; autovacuum must do.
    var cannotVacuum = false

    var working: Int { runs.values.count { $0.isWorking } }
  }

  /// From the claim until the database knows how it ended.
  struct Run {
    let job: RunningJob
    let isQuarantined: Bool
    var task: Task<Void, Never>?
    var isWorking = true
  }

  /// - Parameters:
  ///   - database: with the role `magpie_worker`, whose group has the loops that jobs run on. Give it a lock timeout of half
  ///     a second: verbs that meet a lock try again.
  ///   - notices: where to hear of new jobs; without them they are found by looking.
  ///   - handlers: one a kind; of two for the same kind the later counts.
  ///   - duties: what else is to be done from time to time.
  public init(
    database: Database, notices: Notices? = nil, loops: EventLoopGroup, handlers: [any JobHandler], duties: [Duty] = [],
    configuration: Configuration = Configuration()
  ) {
    self.configuration = configuration
    self.database = database
    self.loops = loops.loops
    self.handlers = Dictionary(handlers.map { ($0.kind, $0) }, uniquingKeysWith: { _, later in later })
    self.duties = duties
    leadership = Leadership(database: database)
    completions = Completions(database: database)
    requests = NoticeSender(channel: JobQueue.requestChannel, database: database)
    endings = NoticeSender(channel: JobWaiter.channel, database: database)
    notices?.on(JobQueue.requestChannel) { [weak self] _ in self?.wake() }
  }

  /// Begins. Works as soon as the database can be reached.
  public func start() {
    let isFirst = state.withLock { state in
      defer { if state.phase == .idle { state.phase = .working } }
      return state.phase == .idle
    }
    guard isFirst else { return }
    launch { await self.keepLease() }
    launch { await self.claimJobs() }
    launch { await self.completions.work { self.report($0, $1) } }
    for duty in housekeeping + duties { launch { await self.perform(duty) } }
  }

  private func launch(_ body: @escaping @Sendable () async -> Void) {
    state.withLock { $0.ownTasks += 1 }
    Task(executorPreference: loops[0]) {
      await body()
      self.state.withLock { $0.ownTasks -= 1 }
    }
  }

  /// A bell that rings at the end of the worker.
  func alarm() -> Doorbell {
    let bell = Doorbell()
    alarms.withLock { $0.append(bell) }
    if isStopped { bell.ring() }
    return bell
  }

  /// Ends in good order: claims nothing more, lets handlers end until the deadline, then cuts them off and gives their jobs
  /// back with their attempts, and returns when the database knows.
  ///
  /// - Parameter deadline: the longest time for handlers; the rest takes three seconds at most.
  public func drain(deadline: Duration) async {
    let runs = state.withLock { state in
      if state.phase == .working { state.phase = .draining }
      return Array(state.runs.values)
    }
    for run in runs { run.job.stop(.draining) }
    bell.ring()
    await announceDraining()
    await wait(upTo: deadline) { $0.runs.isEmpty }
    let rest = state.withLock { Array($0.runs.values) }
    for run in rest where run.isWorking { run.task?.cancel() }
    await wait(upTo: .seconds(1)) { $0.runs.isEmpty }
    await leave()
    halt()
    await wait(upTo: .seconds(1)) { $0.ownTasks == 0 }
  }

  /// A look at the counters.
  public var metrics: Metrics {
    var metrics = counters.withLock { $0 }
    let now = System.monotonicNanoseconds()
    state.withLock { state in
      metrics.running = state.working
      metrics.leaseLeft = .nanoseconds(Int64(clamping: state.leaseEnds) - Int64(clamping: now))
    }
    metrics.isLeader = leadership.isHeld
    return metrics
  }

  /// Looks for jobs now.
  public func wake() {
    state.withLock { $0.heard = true }
    bell.ring()
  }

  /// Ends everything at once without a word to the database, as a crash would.
  func halt() {
    let runs = state.withLock { state in
      state.phase = .stopped
      return Array(state.runs.values)
    }
    for run in runs { run.task?.cancel() }
    completions.stop()
    bell.ring()
    for alarm in alarms.withLock({ $0 }) { alarm.ring() }
  }

  var isStopped: Bool { state.withLock { $0.phase == .stopped || $0.phase == .idle } }

  func count(_ change: (inout Metrics) -> Void) { counters.withLock { change(&$0) } }

  private func wait(upTo limit: Duration, until condition: @Sendable (borrowing State) -> Bool) async {
    let end = System.monotonicNanoseconds() &+ limit.wholeNanoseconds
    while !state.withLock({ condition($0) }), System.monotonicNanoseconds() < end {
      await Task(executorPreference: loops[0]) { _ = await Doorbell().wait(upTo: .milliseconds(10)) }.value
    }
  }
}
