import Postgres
import Upstream

/// Refreshes one list of things by walking it from its first page to its last: the job kinds `github-repos`, `github-gists`,
/// `github-orgs` and those of other people's repositories.
///
/// Goes the way of `ListRefresh`; what differs is what a page shows, and that things know their owner.
struct ItemListRefresh<Item: MirroredItem>: JobHandler {
  let list: ItemKind
  let gate: GitHubGate
  let database: Database
  /// The first page of an account's list.
  let first: @Sendable (GitHub.AccountReference) -> GitHub.ItemList<Item>

  var kind: String { "github-\(list.rawValue)" }

  func run(_ job: RunningJob) async throws -> JobResult {
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

  private func walk(
    from place: inout WalkPlace, start: GitHub.AccountReference, _ person: Person, _ job: RunningJob
  ) async throws -> ListRefresh.WalkEnd {
    if place.isComplete { return .complete }
    let known = try await PersonStore.find(place.owner.map(Person.id) ?? start.person, in: database)
    if place.page == 0, let known, try await isWalkedByAnother(known.id, job) {
      return .ended(.snooze(ListRefresh.restForOthers))
    }
    var walk = GitHub.Walk(
      at: place.next ?? first(start).url(at: gate.service), after: place.page, through: gate.service)
    let leavesOut = try await PersonStore.hasForgotten(in: database)
    while let url = walk.url {
      if let interruption = job.interruption { return .ended(interruption) }
      let (stored, now) = try await storedPage(of: place.owner ?? known?.id, page: place.page + 1, url: url)
      let verdict = try await gate.ask(
        GitHub.ItemList<Item>(at: url), priority: job.priority, preferred: stored?.credential,
        validators: stored.map { Validators(etag: $0.etag) }, redirected: GitHub.ItemList<Item>.init(at:))
      var page: Page
      switch verdict {
      case .ended(let result): return .ended(result)
      case .answered(.ok(let answer, let validators), let credential):
        page = Page(answer, validators, credential: credential, seenAt: now)
      case .answered(.notModified, let credential):
        guard let stored else { return .ended(.retry(error: "upstream/invalid-answer: nothing to be unchanged")) }
        page = Page(stored, credential: credential, seenAt: now)
      case .answered(.gone(let status, _), _):
        let finding = try await LostPerson(gate: gate, database: database).settle(person, known, status: status, job)
        // The same person under a new login: from the beginning, by id.
        return finding.found.map { .restart(.id($0)) } ?? .ended(finding.result ?? .done)
      case .answered: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
      }
      guard page.items.count <= GitHub.maxPerPage else {
        return .ended(.retry(error: "upstream/invalid-answer: more items than a page has"))
      }
      if place.page == 0 {
        switch try await owner(of: page, at: start, person, known, job) {
        case .ended(let result): return .ended(result)
        case .known(let id):
          place.owner = id
          if leavesOut, try await PersonStore.isForgotten(id, in: database) {
            return .ended(try await PersonStore.endAsAbsent(person, job, in: database))
          }
        }
      }
      // Organizations are accounts like people; the numbers of other things are their own.
      if leavesOut, list == .organizations {
        page = page.without(try await PersonStore.forgotten(among: page.ids, in: database))
      }
      do throws(GitHub.Walk.Refusal) {
        try walk.advance(next: page.next, lastPage: page.lastPage)
      } catch {
        return .ended(.retry(error: "upstream/invalid-answer: a next link that leads nowhere (\(error.rawValue))"))
      }
      guard let owner = place.owner else { return .restart(start) }
      switch try await store(page, of: owner, start, url: url, walk, place, job) {
      case .stored(let reached): place = reached
      case .replaced: return .restart(start)
      case .busy: return .ended(.snooze(ListRefresh.restForOthers))
      }
    }
    return .complete
  }

  /// Makes the walk the list that readers see. `nil` when it must be walked once more: a page is missing, somebody has ended
  /// it, or so many things would leave that a second walk must agree.
  private func publish(_ place: inout WalkPlace, _ job: RunningJob) async throws -> JobResult? {
    let (walk, owner, doubt) = (place.walk, place.owner, place.doubt)
    let (outcome, next) = try await database.transaction(retries: 5) { transaction in
      let walks = try await transaction.query("SELECT w.members FROM magpie.walk w WHERE w.id = \(walk)")
      let members = try walks.first?.decode(Int64.self) ?? 0
      let isBelieved = doubt?.agrees(with: members) ?? false
      let rows = try await transaction.query("SELECT magpie.publish_items(\(walk), \(isBelieved))")
      let outcome = try rows[0].decode(String.self)
      let next = outcome == "suspicious" ? WalkDoubt.after(doubt, members: members) : nil
      switch outcome {
      case "published": try await job.complete(in: transaction)
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

/// The handlers of all lists of things.
public enum ItemListRefreshes {
  /// One a kind.
  ///
  /// - Parameter database: with the role `magpie_worker`.
  public static func all(gate: GitHubGate, database: Database) -> [any JobHandler] {
    func repositories(_ kind: ItemKind, _ scope: GitHub.RepositoryScope) -> any JobHandler {
      ItemListRefresh<GitHub.Repository>(list: kind, gate: gate, database: database) { .init(scope, of: $0) }
    }
    return [
      repositories(.repositories, .owner), repositories(.memberRepositories, .member),
      repositories(.allRepositories, .all),
      ItemListRefresh<GitHub.Gist>(list: .gists, gate: gate, database: database) { .init(of: $0) },
      ItemListRefresh<GitHub.Organization>(list: .organizations, gate: gate, database: database) { .init(of: $0) },
    ]
  }
}
