import EventLoop
import Postgres
import Synchronization

/// Tells the open streams of a process what happens. Streams are grouped by account: a change is read once, whatever the number
/// of devices, and the same bytes go to all of them.
///
/// Who writes says so (`changed`, or a notice from another process or from the database); every second one statement looks
/// for accounts that have moved on unheard. Streams hold no connection to the database.
public final class StreamHub: Sendable {
  /// The channel on which accounts with new versions are named: ids with commas in between.
  public static let channel = "magpie_changes"
  /// The channel on which sessions that are good no more are named: `s:` and a session's id, or `a:` and an account's.
  public static let sessionChannel = "magpie_sessions"

  /// How it behaves.
  public struct Configuration: Sendable {
    /// Between two signs of life on a stream; its session is looked at then, too.
    public var pingInterval = Duration.seconds(25)
    /// Between two looks for changes that nobody told of.
    public var pollInterval = Duration.seconds(1)
    /// Streams of the process.
    public var maxStreams = 8_000
    /// Streams of one account in the process.
    public var maxStreamsOfAccount = 100

    /// The defaults.
    public init() {}
  }

  /// There are too many streams.
  public enum Full: Error, Sendable {
    /// In all.
    case process
    /// Of this account.
    case account
  }

  struct Group {
    var version: Int64
    var streams: [ObjectIdentifier: StreamSubscription] = [:]
  }

  struct State {
    var groups: [Int64: Group] = [:]
    var open: [Int64: Int] = [:]
    var openInAll = 0
    var changed: Set<Int64> = []
    /// Named by notices, and not looked at yet.
    var jobs: Set<Int64> = []
    var suspects: Set<String> = []
    var suspectsAll = false
    var isDraining = false
    var isStopped = false
  }

  let configuration: Configuration
  let database: Database
  let sync: Sync
  let jobDocument: @Sendable (Job.Status) -> [UInt8]
  let bell = Doorbell()
  let state = Lock(State())
  let sent = Atomic<Int>(0)
  let slow = Atomic<Int>(0)
  private let writers = Lock(NoticeLimiter())

  /// Listens, and tells nobody before `start`.
  ///
  /// - Parameter jobDocument: JSON without line breaks of what a device is told of a job.
  public init(
    database: Database, notices: Notices, configuration: Configuration = Configuration(),
    jobDocument: @escaping @Sendable (Job.Status) -> [UInt8]
  ) {
    self.configuration = configuration
    self.database = database
    self.jobDocument = jobDocument
    sync = Sync(database: database)
    notices.on(StreamHub.channel) { [weak self] in self?.hear($0) }
    notices.on(JobWaiter.channel) { [weak self] in self?.hearOfJobs($0) }
    notices.on(StreamHub.sessionChannel) { [weak self] in self?.hearOfSessions($0) }
  }

  /// Starts telling, on the loop. Runs until `stop`.
  public func start(on loop: EventLoop) {
    Task(executorPreference: loop) { await self.run() }
  }

  /// Somebody with this token has written, and the write is committed. Tells the streams of all processes, this one included.
  /// The first word goes at once, those that follow in a bunch.
  public func wrote(_ token: [UInt8]) {
    let name = token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let now = System.monotonicNanoseconds()
    let decision = writers.withLock { $0.add(name, at: now) }
    guard let loop = EventLoop.current else { return }
    switch decision {
    case .planned: break
    case .now: Task(executorPreference: loop) { await self.tellOfWriters() }
    case .at(let time):
      Task(executorPreference: loop) {
        try? await loop.sleep(for: .nanoseconds(Int64(clamping: time &- now)))
        await self.tellOfWriters()
      }
    }
  }

  private func tellOfWriters() async {
    for names in writers.withLock({ $0.take(at: System.monotonicNanoseconds()) }) {
      _ = try? await database.query("SELECT magpie.tell_changes(string_to_array(\(names)::text, ','))")
    }
  }

  /// Ends all streams with a word to their clients. New ones end at once.
  public func drain() {
    let streams = state.withLock { state in
      state.isDraining = true
      return state.groups.values.flatMap { Array($0.streams.values) }
    }
    for stream in streams { stream.finish(.drain) }
  }

  /// Ends the telling.
  public func stop() {
    state.withLock { $0.isStopped = true }
    bell.ring()
  }

  /// What there is to be measured.
  public var counts: (open: Int, sent: Int, slow: Int) {
    (state.withLock { $0.openInAll }, sent.load(ordering: .relaxed), slow.load(ordering: .relaxed))
  }

  // MARK: Streams

  /// Takes a place for a stream, which is free again when nobody holds the subscription. It gets nothing before `join`.
  ///
  /// - Throws: `Full`.
  public func subscribe(
    _ page: Sync.Page, since: Int64, token: [UInt8]
  ) throws(Full) -> StreamSubscription {
    let account = page.account
    let refusal = state.withLock { state -> Full? in
      if state.openInAll >= configuration.maxStreams { return .process }
      if state.open[account, default: 0] >= configuration.maxStreamsOfAccount { return .account }
      state.open[account, default: 0] += 1
      state.openInAll += 1
      return nil
    }
    if let refusal { throw refusal }
    return StreamSubscription(account: account, token: token, session: page.session, version: since) {
      [weak self] in self?.release(account)
    }
  }

  private func release(_ account: Int64) {
    state.withLock { state in
      state.openInAll -= 1
      let left = state.open[account, default: 1] - 1
      state.open[account] = left > 0 ? left : nil
    }
  }

  /// Lets a stream that has everything up to a version have what comes after it. `false` when the others of its account are
  /// further: then it has to read on by itself first.
  public func join(_ stream: StreamSubscription, at version: Int64) -> Bool {
    let (hasJoined, isDraining) = state.withLock { state -> (Bool, Bool) in
      let isFirst = state.groups[stream.account] == nil
      var group = state.groups[stream.account] ?? Group(version: version)
      guard group.version <= version else { return (false, state.isDraining) }
      let ping = System.monotonicNanoseconds() &+ configuration.pingInterval.wholeNanoseconds
      stream.joined(nextPing: ping)
      group.streams[ObjectIdentifier(stream)] = stream
      state.groups[stream.account] = group
      // Nobody has heard of changes between the stream's last read and now.
      if isFirst { state.changed.insert(stream.account) }
      // Nor of the end of its session, which is told to the streams that are here.
      state.suspects.insert("s:" + stream.session)
      return (true, state.isDraining)
    }
    if isDraining { stream.finish(.drain) }
    if hasJoined { bell.ring() }
    return hasJoined
  }

  /// The stream's task has ended.
  public func leave(_ stream: StreamSubscription) {
    state.withLock { state in
      state.groups[stream.account]?.streams[ObjectIdentifier(stream)] = nil
      if state.groups[stream.account]?.streams.isEmpty == true { state.groups[stream.account] = nil }
    }
  }

  /// Counts events that a stream's task has sent by itself.
  public func count(_ events: Int) { sent.add(events, ordering: .relaxed) }

  // MARK: Notices

  private func hear(_ payload: String?) {
    if let payload {
      mark(payload.split(separator: ",").compactMap { Int64($0) })
    } else {
      mark(state.withLock { Array($0.groups.keys) })
    }
  }

  /// Progress only: what is missed is not made up for, and whoever must know asks `/v1/jobs/{id}`.
  private func hearOfJobs(_ payload: String?) {
    let isWanted = state.withLock { state in
      guard !state.groups.isEmpty, state.jobs.count < StreamHub.maxJobs, let payload else { return false }
      state.jobs.formUnion(payload.split(separator: ",").compactMap { Int64($0) })
      return !state.jobs.isEmpty
    }
    if isWanted { bell.ring() }
  }

  private func hearOfSessions(_ payload: String?) {
    state.withLock { state in
      guard let payload else { return state.suspectsAll = true }
      state.suspects.formUnion(payload.split(separator: ",").map(String.init))
      // More than can be streams here: look at all instead.
      if state.suspects.count > configuration.maxStreams {
        state.suspects = []
        state.suspectsAll = true
      }
    }
    bell.ring()
  }

  /// Jobs that wait to be looked at.
  private static let maxJobs = 1_000

  private func mark(_ accounts: [Int64]) {
    let isWanted = state.withLock { state in
      for account in accounts where state.groups[account] != nil { state.changed.insert(account) }
      return !state.changed.isEmpty
    }
    if isWanted { bell.ring() }
  }
}
