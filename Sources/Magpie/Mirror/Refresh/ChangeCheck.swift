import Postgres
import Upstream

/// What there is to do after a walk: prepares the list's orders, and looks singly at the members whom the walk has missed,
/// before anybody is told that they have left. The job kinds `github-followers-changes` and `github-following-changes`.
///
/// Each finding is stored when it is made, so that a run that takes over repeats one person at most. They become events all
/// together, when the owner still has the login that the questions were asked with.
public struct ChangeCheck: JobHandler {
  /// The kind of the job.
  public var kind: String { "github-\(list.rawValue)-changes" }
  let list: FollowKind
  let gate: GitHubGate
  let database: Database

  /// Times that one run asks for a person, or begins anew, because somebody was renamed meanwhile.
  static let maxTries = 3

  /// For a statement that may take two minutes.
  private static let patience = Duration.seconds(125)

  /// - Parameter database: with the role `magpie_worker`.
  public init(_ list: FollowKind, gate: GitHubGate, database: Database) {
    self.list = list
    self.gate = gate
    self.database = database
  }

  /// Checks everybody who is to be checked, and settles.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let subject = job.subject.flatMap(Person.init(key:)), case .id(let owner) = subject else {
      return .discard(error: "jobs/bad-subject: no person")
    }
    let listings = try await database.query(
      "SELECT l.id FROM magpie.listing l WHERE l.owner_id = \(owner) AND l.kind = \(list.rawValue)")
    guard let listing = try listings.first?.decode(Int64.self) else { return .done }
    // Orders that could not be made must not keep anybody from being told who has left.
    var trouble: PostgresError?
    do { try await prepare(listing, job) } catch let error as PostgresError { trouble = error }
    let result = try await settle(listing, of: owner, job)
    guard let trouble, result == .done else { return result }
    return .retry(error: "\(trouble)")
  }

  /// Brings the orders up to date, and the index behind the search of them.
  private func prepare(_ listing: Int64, _ job: RunningJob) async throws {
    for statement: Query in ["SELECT magpie.prepare_orders(\(listing))", "SELECT magpie.tidy_search()"] {
      try await job.step(in: database, checkpoint: nil) { transaction in
        // Sorting hundreds of thousands takes longer than a statement otherwise may.
        try await transaction.query("SELECT set_config('statement_timeout', '120s', true)")
        try await transaction.query(statement, timeout: ChangeCheck.patience)
      }
    }
  }

  /// Looks at everybody who is to be looked at, and makes events of what was found.
  private func settle(_ listing: Int64, of owner: Int64, _ job: RunningJob) async throws -> JobResult {
    for _ in 0..<ChangeCheck.maxTries {
      if let result = try await check(listing, of: owner, job) { return result }
      let cases = try await database.query(
        "SELECT count(*) FROM magpie.follow_check c WHERE c.listing_id = \(listing) AND c.finding IS NOT NULL")
      if try cases[0].decode(Int.self) == 0 { return .done }
      switch try await PersonCheck(gate: gate, database: database).look(at: owner, checkpoint: nil, job) {
      case .ended(let result): return result
      // Whose list is gone has lost nobody, and what was asked about it is worth nothing. Should they come back, the next walk
      // goes on from here.
      case .gone: return try await forget(listing, job)
      case .here(let person):
        // Whom somebody with a private profile follows is not told; what was asked about it is worth nothing.
        if list == .following, person.isPrivate { return try await forget(listing, job) }
        let lost = try await job.step(in: database, checkpoint: nil) { transaction in
          let rows = try await transaction.query("SELECT magpie.settle_checks(\(listing), \(person.login))")
          return try rows[0].decode(Int.self)
        }
        // Whoever has left stands in another relation to the owner now.
        if lost > 0 { try await prepare(listing, job) }
      }
      let open = try await database.query(
        "SELECT count(*) FROM magpie.follow_check c WHERE c.listing_id = \(listing)\(fragment: ChangeCheck.isOpen)")
      if try open[0].decode(Int.self) == 0 { return .done }
    }
    // Whoever is left is met by a walk under way, whose end will order another check.
    return .done
  }

  /// Without a finding, and not met by a walk under way, whose end will tell more.
  private static let isOpen: Query = """
     AND c.finding IS NULL AND NOT EXISTS (SELECT FROM magpie.follow_edge e
      WHERE e.listing_id = c.listing_id AND e.member_id = c.member_id AND e.gone_generation IS NULL)
    """

  /// The members without a finding, one after the other. `nil` when there are none left.
  private func check(_ listing: Int64, of owner: Int64, _ job: RunningJob) async throws -> JobResult? {
    var passed: Int64 = 0
    while true {
      if let interruption = job.interruption { return interruption }
      let rows = try await database.query(
        """
        SELECT c.member_id, c.login FROM magpie.follow_check c
         WHERE c.listing_id = \(listing) AND c.member_id > \(passed)\(fragment: ChangeCheck.isOpen) ORDER BY c.member_id LIMIT 1
        """)
      guard let row = rows.first else { return nil }
      let (member, login) = try row.decode((Int64, String).self)
      passed = member
      switch try await MemberCheck(list, gate: gate, database: database).check(member, of: owner, known: login, job) {
      case .ended(let result): return result
      case .undecided: continue
      case .ownerGone: return try await forget(listing, job)
      case .found(let finding, let ownerLogin):
        try await job.step(in: database, checkpoint: nil) { transaction in
          try await transaction.query(
            """
            UPDATE magpie.follow_check c SET finding = \(finding.rawValue), owner_login = \(ownerLogin), checked_at = clock_timestamp()
             WHERE c.listing_id = \(listing) AND c.member_id = \(member)
            """)
        }
      }
    }
  }

  private func forget(_ listing: Int64, _ job: RunningJob) async throws -> JobResult {
    try await job.step(in: database, checkpoint: nil) { transaction in
      try await transaction.query(
        """
        UPDATE magpie.follow_check c SET finding = NULL, checked_at = NULL
         WHERE c.listing_id = \(listing) AND c.finding <> 'follows' AND c.finding <> 'deleted_or_suspended'
        """)
    }
    return .done
  }
}
