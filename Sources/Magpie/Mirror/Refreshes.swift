import Postgres

/// Orders refreshes and waits for them. One job a subject, however many ask.
public struct Refreshes: Sendable {
  let queue: JobQueue
  let waiter: JobWaiter
  let budgets: Budgets

  /// All three on the API's own database.
  public init(queue: JobQueue, waiter: JobWaiter, budgets: Budgets) {
    self.queue = queue
    self.waiter = waiter
    self.budgets = budgets
  }

  /// Orders a refresh, or joins the one that is under way.
  ///
  /// - Parameters:
  ///   - startsOver: what is read before this moment does not count.
  ///   - account: may look at the job from then on.
  /// - Throws: `PostgresError`.
  public func request(
    _ subject: Subject, priority: Job.Priority, startsOver: Bool = false, account: Int64
  ) async throws -> Job.Ticket {
    try await queue.request(
      kind: subject.jobKind, subject: subject.key, args: subject.args, priority: priority,
      whenRunning: startsOver ? .startOver : .join, account: account)
  }

  /// Orders what nothing is stored of, or joins the job that is fetching it.
  ///
  /// - Returns: `nil` when all of it has been stored meanwhile.
  /// - Throws: `PostgresError`.
  public func requestMissing(_ subject: Subject, account: Int64) async throws -> Job.Ticket? {
    try await queue.request(
      kind: subject.jobKind, subject: subject.key, args: subject.args, priority: .interactive, account: account,
      unless: subject.isStored)
  }

  /// Orders a page of a search, or joins the job that is fetching it.
  ///
  /// - Throws: `PostgresError`.
  public func request(
    _ query: SearchQuery, priority: Job.Priority, startsOver: Bool = false, account: Int64
  ) async throws -> Job.Ticket {
    try await queue.request(
      kind: SearchQuery.jobKind, subject: query.subject, args: query.args, priority: priority,
      whenRunning: startsOver ? .startOver : .join, account: account)
  }

  /// Orders a page of a search of which no answer is stored that is young enough, or joins the job that is fetching it.
  ///
  /// - Parameter maxAge: seconds for which an answer counts at most; `nil`: as long as it lives.
  /// - Returns: `nil` when it has been stored meanwhile.
  /// - Throws: `PostgresError`.
  public func requestMissing(
    _ query: SearchQuery, _ timeToLive: TimeToLive, maxAge: Double?, account: Int64
  ) async throws -> Job.Ticket? {
    try await queue.request(
      kind: SearchQuery.jobKind, subject: query.subject, args: query.args, priority: .interactive, account: account,
      unless: StoredSearch.isStored(query, timeToLive, maxAge: maxAge))
  }

  /// Orders a person's picture, or joins the job that is fetching it.
  ///
  /// - Throws: `PostgresError`.
  public func request(
    _ avatar: AvatarRequest, priority: Job.Priority, startsOver: Bool = false, account: Int64
  ) async throws -> Job.Ticket {
    try await queue.request(
      kind: AvatarRequest.jobKind, subject: avatar.subject, priority: priority,
      whenRunning: startsOver ? .startOver : .join, account: account)
  }

  /// Orders a picture that is neither stored nor known not to be there, or joins the job that is fetching it.
  ///
  /// - Returns: `nil` when that has changed meanwhile.
  /// - Throws: `PostgresError`.
  public func requestMissing(_ avatar: AvatarRequest, account: Int64) async throws -> Job.Ticket? {
    try await queue.request(
      kind: AvatarRequest.jobKind, subject: avatar.subject, args: Array("{}".utf8), priority: .interactive,
      account: account, unless: avatar.isKnown)
  }

  /// Orders the profiles of several people at once, by their keys. Those that have come since they were looked for, and are
  /// no older than `life`, are ordered only with `startsOver`.
  ///
  /// - Throws: `PostgresError`.
  public func requestProfiles(
    of people: [Person], priority: Job.Priority, startsOver: Bool, life: Double, account: Int64
  ) async throws -> [String: Job.Ticket] {
    let orders = people.map { ($0.key, Subject.profile($0).args) }
    if startsOver {
      return try await queue.request(
        kind: "github-user", orders, priority: priority, whenRunning: .startOver, account: account)
    }
    let fresh: Query = """
      EXISTS (SELECT FROM magpie.github_user u
        WHERE u.login_key = s.subject AND u.state <> 'gone' AND u.profile_validated_at > now() - make_interval(secs => \(life)))
      OR s.subject LIKE 'id:%' AND EXISTS (SELECT FROM magpie.github_user u
        WHERE u.id = substr(s.subject, 4)::bigint AND u.state <> 'gone'
          AND u.profile_validated_at > now() - make_interval(secs => \(life)))
      """
    return try await queue.request(kind: "github-user", orders, priority: priority, account: account, unless: fresh)
  }

  /// How a job stands, for an account that has asked for it; `nil` for others.
  ///
  /// - Throws: `PostgresError`.
  public func status(_ id: Int64, account: Int64) async throws(PostgresError) -> Job.Status? {
    try await queue.status(id, account: account)
  }

  /// An account gives a job up, which ends when nobody else wants it. `false` when it had not asked for it.
  ///
  /// - Throws: `PostgresError`.
  public func withdraw(_ account: Int64, from id: Int64) async throws(PostgresError) -> Bool {
    try await queue.withdraw(account, from: id) != .unknown
  }

  /// Waits for the next thing to happen to a job: its end, a page, or, if `endsWhenPutOff`, that it waits for a later time.
  ///
  /// - Parameter progress: pages that are known already.
  /// - Throws: `JobError.tooManyWaiters`.
  public func news(
    of ticket: Job.Ticket, beyond progress: Int64?, endsWhenPutOff: Bool, timeout: Duration
  ) async throws(JobError) -> JobWaiter.Outcome {
    try await waiter.wait(for: ticket, progressBeyond: progress, endsWhenPutOff: endsWhenPutOff, timeout: timeout)
  }

  /// What a class of work, or else somebody who waits, may still ask of an upstream, by resource; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func allowances(
    pool: String = GitHubGate.pool, token: [UInt8], priority: Job.Priority = .interactive
  ) async throws -> [Budgets.Allowance]? {
    try await budgets.allowances(pool: pool, priority: priority, token: token)
  }

  /// Why the upstream would not answer an interactive question now, and for how long; `nil` when nothing is known against it.
  ///
  /// - Parameters:
  ///   - pool: the upstream's name among the budgets.
  ///   - resource: the budget the question is charged to.
  /// - Throws: `PostgresError`.
  public func outlook(
    pool: String = GitHubGate.pool, resource: String = "core"
  ) async throws(PostgresError) -> Outlook? {
    guard let outlook = try await budgets.outlook(pool: pool, resource: resource, priority: .interactive)
    else {
      return nil
    }
    switch outlook.refusal {
    case .limited, .spent, .reserved: return Outlook(isLimiting: true, opensIn: outlook.opensIn)
    case .disabled: return Outlook(isLimiting: false, opensIn: outlook.opensIn)
    case .busy, .paced, .none: return nil
    }
  }

  /// What is known against asking the upstream.
  public struct Outlook: Sendable {
    /// It limits us; otherwise no credential is good.
    public let isLimiting: Bool
    /// Until it can be asked again, if that is known.
    public let opensIn: Duration?
  }
}
