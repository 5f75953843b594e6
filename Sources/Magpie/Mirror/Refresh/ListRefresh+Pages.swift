import Postgres
import Upstream

extension ListRefresh {
  enum Owner {
    case known(Int64)
    case ended(JobResult)
  }

  /// The owner's id. A login may be somebody else's since it was stored, so a page that has changed must say whose it is: its
  /// links do, and only a list without links costs a request for the profile.
  func owner(
    of page: WalkPage, at start: GitHub.AccountReference, _ person: Person, _ known: PersonStore.Known?,
    _ job: RunningJob
  ) async throws -> Owner {
    if case .login = start, let next = page.next, let id = WalkPage.ownerID(in: next) { return .known(id) }
    if let known, page.isUnchanged || !start.isLogin { return .known(known.id) }
    let verdict = try await gate.ask(
      GitHub.Profile(start), priority: job.priority, preferred: known?.credential, validators: known?.validators,
      redirected: GitHub.Profile.init(at:))
    switch verdict {
    case .ended(let result): return .ended(result)
    case .answered(.ok(let profile, let validators), let credential):
      try await job.step(in: database, checkpoint: job.checkpoint) { transaction in
        try await PersonStore.store(profile, validators, credential: credential, in: transaction)
      }
      return .known(profile.id)
    case .answered(.notModified, _):
      guard let known else { return .ended(.retry(error: "upstream/invalid-answer: nothing to be unchanged")) }
      return .known(known.id)
    case .answered(.gone(let status, _), _):
      let finding = try await LostPerson(gate: gate, database: database).settle(person, known, status: status, job)
      return .ended(finding.result ?? .done)
    case .answered: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
    }
  }

  /// The same page of the last complete walk, if its validator may be used: once a week every page is read in full, since an
  /// unchanged validator has been seen on a changed list. A last page that is full is always read: its body stays the same when
  /// a page is added behind it, and only its links would tell.
  func storedPage(of owner: Int64?, page: Int, url: String) async throws -> StoredPage? {
    guard let owner else { return nil }
    let rows = try await database.query(
      """
      SELECT p.etag, p.credential, p.next_url, p.members, w.pages
        FROM magpie.listing l JOIN magpie.walk w ON w.id = l.walk_id JOIN magpie.walk_page p ON p.walk_id = w.id
       WHERE l.owner_id = \(owner) AND l.kind = \(list.rawValue) AND l.generation > 0 AND l.full_at > now() - interval '7 days'
         AND p.page = \(Int32(page)) AND p.url = \(url) AND p.etag IS NOT NULL
         AND (p.next_url IS NOT NULL OR cardinality(p.members) < \(Int32(perPage)))
      """)
    guard let row = rows.first else { return nil }
    let fields = try row.decode((String, String, String?, [Int64], Int).self)
    return StoredPage(etag: fields.0, credential: fields.1, next: fields.2, members: fields.3, lastPage: fields.4)
  }

  /// What became of a page.
  enum Storing {
    case stored(WalkPlace)
    /// The walk is not under way any more.
    case replaced
    /// Another job walks the same list.
    case busy
  }

  /// Stores a page and moves the checkpoint behind it.
  ///
  /// - Parameter login: belongs to the owner, as this page shows.
  func store(
    _ page: WalkPage, of owner: Int64, login: String?, url: String, _ walk: GitHub.Walk, _ place: WalkPlace,
    expected counter: Int64?, _ job: RunningJob
  ) async throws -> Storing {
    var arrived = place
    arrived.page = walk.pagesDone
    arrived.next = walk.url
    arrived.isComplete = walk.isComplete
    let pages = walk.pagesExpected.map { Int64($0) }
    // The counter of the profile, or else as many as fit the pages; both may be wrong, and the end corrects them.
    let expected = counter ?? pages.map { $0 * Int64(GitHub.maxPerPage) }
    if let login {
      try await job.step(in: database, checkpoint: job.checkpoint) { transaction in
        try await PersonStore.note(owner, login: login, in: transaction)
      }
    }
    // In one statement: the walk, its people, its page and the checkpoint. A walk that is not the expected one gets nothing.
    let checkpoint: Query = """
      CASE WHEN s.members IS NOT NULL THEN \(JSON(arrived.json))::jsonb || jsonb_build_object('walk', s.walk) END
      """
    let rows = try await job.step(
      in: database,
      statement: """
        SELECT f.priority, f.waiting, s.walk, s.members FROM (
          SELECT o.walk, CASE WHEN o.walk = coalesce(\(arrived.walk), o.walk) THEN \(fragment: page.people) END,
            CASE WHEN o.walk = coalesce(\(arrived.walk), o.walk) THEN
              magpie.store_page(o.walk, \(Int32(arrived.page)), \(fragment: page.items), \(url), \(page.next), \(page.etag),
                \(page.credential), \(page.isUnchanged), \(pages.map { Int32(clamping: $0) }), \(expected)) END AS members
            FROM (SELECT magpie.open_walk(\(owner), \(list.rawValue), \(job.id)) AS walk OFFSET 0) AS o OFFSET 0) AS s
          CROSS JOIN LATERAL \(fragment: job.fence(checkpoint, done: Int64(walk.pagesDone), total: pages)) AS f
        """)
    guard let walkID = try rows[0].decode(Int64?.self, at: 2) else { return .busy }
    guard try rows[0].decode(Int64?.self, at: 3) != nil else { return .replaced }
    arrived.walk = walkID
    job.announce(job.id)
    return .stored(arrived)
  }

  /// Whether a job that asks for the same list by another name is at it.
  func isWalkedByAnother(_ owner: Int64, _ job: RunningJob) async throws -> Bool {
    let rows = try await database.query(
      """
      SELECT FROM magpie.listing l JOIN magpie.walk w ON w.listing_id = l.id AND w.state = 'walking'
        JOIN magpie.job j ON j.id = w.job_id
       WHERE l.owner_id = \(owner) AND l.kind = \(list.rawValue) AND j.id <> \(job.id)
      """)
    return !rows.isEmpty
  }
}

extension GitHub.AccountReference {
  var person: Person {
    switch self {
    case .login(let login): .login(login.description)
    case .id(let id): .id(id)
    }
  }

  var isLogin: Bool {
    if case .login = self { true } else { false }
  }
}
