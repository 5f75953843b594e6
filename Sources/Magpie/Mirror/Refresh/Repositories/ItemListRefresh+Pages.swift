import Postgres
import Upstream

extension ItemListRefresh {
  /// A page as it goes into the walk.
  struct Page: Sendable {
    /// What came with the page; nothing when it is unchanged.
    private(set) var items: [Item]
    /// The members of a page that is as it was.
    private(set) var unchanged: [Int64]?
    let next: String?
    let lastPage: Int?
    let etag: String?
    let credential: String
    /// Before it was asked for.
    let seenAt: Instant

    init(_ answer: GitHub.ItemPage<Item>, _ validators: Validators, credential: String, seenAt: Instant) {
      items = answer.items
      unchanged = nil
      next = answer.next
      lastPage = answer.lastPage
      etag = validators.etag
      self.credential = credential
      self.seenAt = seenAt
    }

    init(_ stored: StoredPage, credential: String, seenAt: Instant) {
      items = []
      unchanged = stored.members
      next = stored.next
      lastPage = stored.lastPage
      etag = stored.etag
      self.credential = credential
      self.seenAt = seenAt
    }

    /// What the members are known by, for those that have numbers of GitHub's.
    var ids: [Int64] { unchanged ?? items.compactMap { Int64($0.identity) } }

    func without(_ left: [Int64]) -> Page {
      if left.isEmpty { return self }
      var page = self
      page.items.removeAll { item in left.contains { String($0) == item.identity } }
      page.unchanged?.removeAll(where: left.contains)
      return page
    }
  }

  /// The owner's id: things say whose they are, links do, and only for a list that tells neither the profile is asked for.
  func owner(
    of page: Page, at start: GitHub.AccountReference, _ person: Person, _ known: PersonStore.Known?, _ job: RunningJob
  ) async throws -> ListRefresh.Owner {
    if case .id(let id) = start { return .known(id) }
    if let known, page.unchanged != nil { return .known(known.id) }
    if case .login(let login) = start {
      if let id = page.next.flatMap(WalkPage.ownerID(in:)) { return .known(id) }
      if let owner = page.items.lazy.compactMap(\.owner).first(where: { $0.login.lowercased() == login.folded }) {
        return .known(owner.id)
      }
    }
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

  /// The same page of the last complete walk, if its validator may be used (see `ListRefresh`), and the database's time.
  func storedPage(of owner: Int64?, page: Int, url: String) async throws -> (StoredPage?, now: Instant) {
    let rows = try await database.query(
      """
      SELECT clock_timestamp(), p.etag, p.credential, p.next_url, p.members, p.pages
        FROM (SELECT) AS one
        LEFT JOIN (
          SELECT p.etag, p.credential, p.next_url, p.members, w.pages
            FROM magpie.listing l JOIN magpie.walk w ON w.id = l.walk_id JOIN magpie.walk_page p ON p.walk_id = w.id
           WHERE l.owner_id = \(owner) AND l.kind = \(list.rawValue) AND l.generation > 0
             AND l.full_at > now() - interval '7 days'
             AND p.page = \(Int32(page)) AND p.url = \(url) AND p.etag IS NOT NULL
             AND (p.next_url IS NOT NULL OR cardinality(p.members) < \(Int32(GitHub.maxPerPage)))) p ON true
      """)
    let fields = try rows[0].decode((Instant, String?, String?, String?, [Int64]?, Int?).self)
    guard let etag = fields.1, let credential = fields.2, let members = fields.4, let pages = fields.5 else {
      return (nil, fields.0)
    }
    return (
      StoredPage(etag: etag, credential: credential, next: fields.3, members: members, lastPage: pages), fields.0
    )
  }

  /// Stores a page and moves the checkpoint behind it.
  func store(
    _ page: Page, of owner: Int64, _ start: GitHub.AccountReference, url: String, _ walk: GitHub.Walk,
    _ place: WalkPlace, _ job: RunningJob
  ) async throws -> ListRefresh.Storing {
    var arrived = place
    arrived.page = walk.pagesDone
    arrived.next = walk.url
    arrived.isComplete = walk.isComplete
    let pages = walk.pagesExpected.map { Int64($0) }
    let expected = pages.map { $0 * Int64(GitHub.maxPerPage) }
    let reached = arrived
    let storing = try await database.transaction(retries: 5) { transaction -> ListRefresh.Storing in
      if walk.pagesDone == 1, case .login(let login) = start {
        try await PersonStore.note(owner, login: login.description, in: transaction)
      }
      let opened = try await transaction.query("SELECT magpie.open_walk(\(owner), \(list.rawValue), \(job.id))")
      guard let walkID = try opened[0].decode(Int64?.self) else {
        try await job.checkpoint(in: transaction, nil)
        return .busy
      }
      var reached = reached
      if let expected = reached.walk, expected != walkID {
        try await job.checkpoint(in: transaction, nil)
        return .replaced
      }
      reached.walk = walkID
      var ids = page.unchanged ?? []
      if !page.items.isEmpty { ids = try await Item.store(page.items, seenAt: page.seenAt, in: transaction) }
      let documents = page.items.map { String(decoding: $0.document, as: UTF8.self) }
      let count = try await transaction.query(
        """
        SELECT magpie.store_page(\(walkID), \(Int32(reached.page)), \(ids), \(documents), \(url), \(page.next), \(page.etag),
          \(page.credential), \(page.unchanged != nil), \(pages.map { Int32(clamping: $0) }), \(expected))
        """)
      let isStored = try count[0].decode(Int64?.self) != nil
      try await job.checkpoint(
        in: transaction, isStored ? reached.json : nil, done: Int64(walk.pagesDone), total: pages)
      return isStored ? .stored(reached) : .replaced
    }
    if case .stored = storing { job.announce(job.id) }
    return storing
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
