import EventLoop
import Postgres

extension StreamHub {
  /// Accounts read at once.
  private static let maxReads = 32
  /// Sessions looked at in one statement.
  private static let maxChecks = 1_000

  func run() async {
    var nextPoll = System.monotonicNanoseconds()
    while true {
      let before = System.monotonicNanoseconds()
      await bell.wait(upTo: .nanoseconds(nextPoll > before ? Int64(clamping: nextPoll &- before) : 0))
      if state.withLock({ $0.isStopped }) { return }
      let now = System.monotonicNanoseconds()
      if now >= nextPoll {
        nextPoll = now &+ configuration.pollInterval.wholeNanoseconds
        await poll()
        await ping(now)
      }
      await checkSuspects()
      await tellOfJobs()
      let accounts = state.withLock { state in
        defer { state.changed = [] }
        return Array(state.changed)
      }
      await read(accounts)
    }
  }

  /// Finds what has changed without a word.
  private func poll() async {
    let accounts = state.withLock { Array($0.groups.keys) }
    if accounts.isEmpty { return }
    // While the database is away there is nothing to tell, and the next look comes by itself.
    guard
      let rows = try? await database.query(
        "SELECT v.account_id, v.version FROM magpie.account_versions(\(accounts)) v"),
      let versions = try? rows.decode((Int64, Int64).self)
    else { return }
    state.withLock { state in
      for (account, version) in versions {
        if let group = state.groups[account], group.version != version { state.changed.insert(account) }
      }
    }
  }

  // MARK: Sessions

  private func ping(_ now: UInt64) async {
    let due = state.withLock { state in state.groups.values.flatMap { $0.streams.values.filter { $0.isDue(at: now) } } }
    await check(due)
    let next = now &+ configuration.pingInterval.wholeNanoseconds
    for stream in due where stream.end == nil { stream.ping(StreamEvents.ping(at: stream.version), next: next) }
  }

  private func checkSuspects() async {
    let streams = state.withLock { state -> [StreamSubscription] in
      if state.suspects.isEmpty, !state.suspectsAll { return [] }
      defer {
        state.suspects = []
        state.suspectsAll = false
      }
      return state.groups.values.flatMap { group in
        group.streams.values.filter { stream in
          state.suspectsAll || state.suspects.contains("s:" + stream.session)
            || state.suspects.contains("a:\(stream.account)")
        }
      }
    }
    if await check(streams) { return }
    // The database could not be asked: with the next round.
    state.withLock { state in
      for stream in streams { state.suspects.insert("s:" + stream.session) }
    }
  }

  /// Ends streams whose sessions are good no more. `false` when the database cannot be asked.
  @discardableResult
  private func check(_ streams: [StreamSubscription]) async -> Bool {
    var isAnswered = true
    for start in stride(from: 0, to: streams.count, by: StreamHub.maxChecks) {
      let some = Array(streams[start..<min(start + StreamHub.maxChecks, streams.count)])
      let rows = try? await database.query(
        "SELECT c.place FROM magpie.check_streams(\(some.map(\.token)), \(some.map(\.version))) c")
      isAnswered = isAnswered && rows != nil
      for place in (try? rows?.decode(Int64.self)) ?? [] where some.indices.contains(Int(place) - 1) {
        some[Int(place) - 1].finish(.revoked)
      }
    }
    return isAnswered
  }

  // MARK: Jobs

  /// Tells the devices of every account that has asked for a job how it goes on.
  private func tellOfJobs() async {
    let (ids, accounts) = state.withLock { state in
      defer { state.jobs = [] }
      return (state.jobs.sorted(), state.groups.keys.sorted())
    }
    if ids.isEmpty || accounts.isEmpty { return }
    guard
      let asked = try? await database.query(
        "SELECT a.job_id, a.account_id FROM magpie.job_asker a WHERE a.job_id = ANY (\(ids)) AND a.account_id = ANY (\(accounts))"
      ).decode((Int64, Int64).self), !asked.isEmpty
    else { return }
    let known = Set(asked.map(\.0)).sorted()
    guard let rows = try? await database.query(Job.Status.query(known)) else { return }
    for status in rows.compactMap({ try? Job.Status($0) }) {
      let event = StreamEvents.job(jobDocument(status))
      for (job, account) in asked where job == status.id {
        for stream in streams(of: account) { stream.add(event) }
      }
    }
  }

  // MARK: Changes

  private func read(_ accounts: [Int64]) async {
    for start in stride(from: 0, to: accounts.count, by: StreamHub.maxReads) {
      await withTaskGroup { group in
        for account in accounts[start..<min(start + StreamHub.maxReads, accounts.count)] {
          group.addTask { await self.read(account) }
        }
      }
    }
  }

  /// Reads as one of the account's devices, which is looked at anew by that.
  private func read(_ account: Int64) async {
    while true {
      let lead = state.withLock { state in
        state.groups[account].flatMap { group in
          group.streams.values.first { $0.end == nil }.map { ($0.token, group.version) }
        }
      }
      guard let (token, since) = lead else { return }
      guard let pull = try? await sync.pull(since: since, limit: Sync.defaultPage, token: token) else { return }
      switch pull {
      case .refused(.nobody):
        for stream in streams(of: account) where stream.token == token { stream.finish(.revoked) }
      case .refused(.expired), .refused(.unknownCursor):
        for stream in streams(of: account) { stream.finish(.expired) }
        return
      case .page(let page):
        // When its streams have left meanwhile, others may have come that are not as far: read for those.
        if !tell(page, from: since) { continue }
        if !page.hasMore { return }
      }
    }
  }

  private func streams(of account: Int64) -> [StreamSubscription] {
    state.withLock { state in state.groups[account].map { Array($0.streams.values) } ?? [] }
  }

  /// Hands a page that was read from a version on to the streams of its account. `false` when they lack something before it.
  private func tell(_ page: Sync.Page, from since: Int64) -> Bool {
    let events = EventBatch(page)
    let streams = state.withLock { state -> [StreamSubscription]? in
      guard let group = state.groups[page.account] else { return [] }
      if group.version < since { return nil }
      state.groups[page.account]?.version = max(group.version, page.version)
      return Array(group.streams.values)
    }
    guard let streams else { return false }
    var count = 0
    for stream in streams {
      let offer = stream.offer(events, since: since)
      count += offer.count
      if offer.isTooSlow { slow.add(1, ordering: .relaxed) }
    }
    sent.add(count, ordering: .relaxed)
    return true
  }
}
