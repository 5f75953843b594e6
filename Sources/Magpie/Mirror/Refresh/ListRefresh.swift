import Postgres
import Upstream

/// Refreshes one list by walking it from its first page to its last: the job kinds `github-followers` and `github-following`.
///
/// Each page is stored together with the place to go on from, so that a run that takes over repeats one request at most.
public struct ListRefresh: JobHandler {
  /// The kind of the job.
  public var kind: String { "github-\(list.rawValue)" }
  let list: FollowKind
  let gate: GitHubGate
  let database: Database
  /// Members a page; fewer than GitHub gives let a test have many pages of few people.
  let perPage: Int

  /// Walks begun within one run: the first, and a second where the first made too many members leave; others when a walk was
  /// ended by somebody else.
  static let maxWalks = 4

  /// How long to leave a list alone that another job walks.
  static let restForOthers = Duration.seconds(1)

  /// - Parameter database: with the role `magpie_worker`.
  public init(_ list: FollowKind, gate: GitHubGate, database: Database) {
    self.init(list, gate: gate, database: database, perPage: GitHub.maxPerPage)
  }

  init(_ list: FollowKind, gate: GitHubGate, database: Database, perPage: Int) {
    self.perPage = perPage
    self.list = list
    self.gate = gate
    self.database = database
  }

  /// Walks, or goes on with a walk, and publishes it.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let person = job.subject.flatMap(Person.init(key:)),
      let account = GitHub.AccountReference(person, try await PersonStore.find(person, in: database), job)
    else {
      return .discard(error: "jobs/bad-subject: no person")
    }
    var place = job.checkpoint.flatMap(WalkPlace.init) ?? WalkPlace()
    // The upstream's address may have been set anew since.
    if let next = place.next, !gate.service.owns(next) { place = WalkPlace() }
    var start = account
    for _ in 0..<ListRefresh.maxWalks {
      switch try await walk(from: &place, start: start, person, job) {
      case .ended(let result): return result
      case .restart(let account):
        start = account
        place = WalkPlace(doubt: place.doubt)
      case .complete:
        if let result = try await publish(&place, job) { return result }
      }
    }
    return .retry(error: "jobs/lost-walk: the walk was replaced again and again")
  }

  var upstreamKind: GitHub.FollowList.Kind { list == .followers ? .followers : .following }

  enum WalkEnd {
    case complete
    /// From the first page, at the list of this account.
    case restart(GitHub.AccountReference)
    case ended(JobResult)
  }

  private func walk(
    from place: inout WalkPlace, start: GitHub.AccountReference, _ person: Person, _ job: RunningJob
  ) async throws -> WalkEnd {
    if place.isComplete { return .complete }
    var known = try await PersonStore.find(place.owner.map(Person.id) ?? start.person, in: database)
    if place.page == 0, let known, try await isWalkedByAnother(known.id, job) {
      return .ended(.snooze(ListRefresh.restForOthers))
    }
    var walk = GitHub.Walk(
      at: place.next ?? GitHub.FollowList(upstreamKind, of: start, perPage: perPage).url(at: gate.service),
      after: place.page,
      through: gate.service)
    guard let first = walk.url else { return .complete }
    if let interruption = job.interruption { return .ended(interruption) }
    let leavesOut = try await PersonStore.hasForgotten(in: database)
    var url = first
    var asked = try await ask(url, page: place.page + 1, owner: place.owner ?? known?.id, job)
    while true {
      var page: WalkPage
      switch try await reading(of: asked, person, known, job) {
      case .page(let read): page = read
      case .otherwise(let end): return end
      }
      if place.page == 0 {
        switch try await owner(of: page, at: start, person, known, job) {
        case .ended(let result): return .ended(result)
        case .known(let id):
          place.owner = id
          if leavesOut, try await PersonStore.isForgotten(id, in: database) {
            return .ended(try await PersonStore.endAsAbsent(person, job, in: database))
          }
          if known?.id != id { known = try await PersonStore.find(.id(id), in: database) }
        }
      }
      do throws(GitHub.Walk.Refusal) {
        try walk.advance(next: page.next, lastPage: page.lastPage)
      } catch {
        return .ended(.retry(error: "upstream/invalid-answer: a next link that leads nowhere (\(error.rawValue))"))
      }
      guard let owner = place.owner else { return .restart(start) }
      if leavesOut { page = page.without(try await PersonStore.forgotten(among: page.ids, in: database)) }
      let stored = page
      let login: String? = if walk.pagesDone == 1, case .login(let login) = start { login.description } else { nil }
      let expected = list == .followers ? known?.followers : known?.following
      let interruption = job.interruption
      guard let next = walk.url, interruption == nil else {
        let storing = try await store(stored, of: owner, login: login, url: url, walk, place, expected: expected, job)
        if let end = end(of: storing, &place, start) { return end }
        return walk.url == nil ? .complete : .ended(interruption ?? .yield)
      }
      // The next page comes while this one is stored: neither waits for the other.
      let number = walk.pagesDone + 1
      async let ahead = ask(next, page: number, owner: owner, job)
      let storing = try await store(stored, of: owner, login: login, url: url, walk, place, expected: expected, job)
      if let end = end(of: storing, &place, start) { return end }
      asked = try await ahead
      url = next
    }
  }

  /// What came of a question for a page.
  private enum Asked {
    case page(WalkPage)
    case otherwise(GitHubGate.Verdict<GitHub.FollowPage>)
  }

  private func ask(_ url: String, page: Int, owner: Int64?, _ job: RunningJob) async throws -> Asked {
    let stored = try await storedPage(of: owner, page: page, url: url)
    let verdict = try await gate.ask(
      GitHub.FollowList(at: url), priority: job.priority, preferred: stored?.credential,
      validators: stored.map { Validators(etag: $0.etag) }, redirected: GitHub.FollowList.init(at:))
    switch verdict {
    case .answered(.ok(let answer, let validators), let credential):
      return .page(WalkPage(answer, validators, credential: credential))
    case .answered(.notModified, let credential):
      return stored.map { .page(WalkPage($0, credential: credential)) } ?? .otherwise(verdict)
    default: return .otherwise(verdict)
    }
  }

  private enum PageReading {
    case page(WalkPage)
    case otherwise(WalkEnd)
  }

  private func reading(
    of asked: Asked, _ person: Person, _ known: PersonStore.Known?, _ job: RunningJob
  ) async throws -> PageReading {
    guard case .page(let page) = asked else { return .otherwise(try await end(of: asked, person, known, job)) }
    guard page.ids.count <= GitHub.maxPerPage else {
      return .otherwise(.ended(.retry(error: "upstream/invalid-answer: more members than a page has")))
    }
    return .page(page)
  }

  private func end(
    of asked: Asked, _ person: Person, _ known: PersonStore.Known?, _ job: RunningJob
  ) async throws -> WalkEnd {
    switch asked {
    case .otherwise(.ended(let result)): return .ended(result)
    case .otherwise(.answered(.notModified, _)):
      return .ended(.retry(error: "upstream/invalid-answer: nothing to be unchanged"))
    case .otherwise(.answered(.gone(let status, _), _)):
      let finding = try await LostPerson(gate: gate, database: database).settle(person, known, status: status, job)
      // The same person under a new login: from the beginning, by id.
      return finding.found.map { .restart(.id($0)) } ?? .ended(finding.result ?? .done)
    default: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
    }
  }

  /// Moves on behind a stored page; what else there is to do ends the walk.
  private func end(of storing: Storing, _ place: inout WalkPlace, _ start: GitHub.AccountReference) -> WalkEnd? {
    switch storing {
    case .stored(let reached):
      place = reached
      return nil
    case .replaced: return .restart(start)
    case .busy: return .ended(.snooze(ListRefresh.restForOthers))
    }
  }

  /// Makes the walk the list that readers see. `nil` when it must be walked once more: a page is missing, somebody has ended
  /// it, or so many members would leave that a second walk must agree.
  private func publish(_ place: inout WalkPlace, _ job: RunningJob) async throws -> JobResult? {
    let walk = place.walk
    let owner = place.owner
    let doubt = place.doubt
    let hidden = try await isHidden(place, job)
    if let result = hidden.result { return result }
    let isHidden = hidden.isHidden
    let belief: (isBelieved: Bool, result: JobResult?) = try await isHidden ? (true, nil) : isBelieved(place, job)
    if let result = belief.result { return result }
    let (outcome, next) = try await database.transaction(retries: 5) { transaction in
      let rows = try await transaction.query(
        "SELECT p.outcome, p.members FROM magpie.publish_walk(\(walk), \(belief.isBelieved)) AS p")
      let (outcome, members) = try rows[0].decode((String, Int64).self)
      let next = outcome == "suspicious" ? WalkDoubt.after(doubt, members: members) : nil
      switch outcome {
      case "published":
        try await transaction.query("SELECT magpie.record_changes(\(walk), \(isHidden))")
        try await job.complete(in: transaction)
      case "suspicious": try await job.checkpoint(in: transaction, WalkPlace(owner: owner, doubt: next).json)
      default: try await job.checkpoint(in: transaction, nil)
      }
      return (outcome, next)
    }
    if outcome == "published" { return .done }
    place = WalkPlace(owner: owner, doubt: next)
    return next?.result
  }
}
