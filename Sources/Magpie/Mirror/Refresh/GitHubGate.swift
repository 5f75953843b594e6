import EventLoop
import HTTPClient
import Postgres
import Synchronization
import Upstream

/// The one way to GitHub: takes from the budget, sends, settles, and says what came of it.
public final class GitHubGate: Sendable {
  /// The name of GitHub's credentials in the budgets.
  public static let pool = "github"
  /// Redirects followed for one question.
  static let maxRedirects = 5
  /// How long to stand at the gate before the job is put off: longer waits should not hold a slot.
  static let patience = Duration.milliseconds(500)

  let service: UpstreamService
  private let client: HTTPClient
  private let budgets: Budgets
  private let secrets: Mutex<[String: Upstream.Credential?]>
  private let isPaced: Bool

  /// - Parameter tokens: each with its own budget; none means anonymous use, 60 requests an hour.
  public init(service: UpstreamService, tokens: [Upstream.Credential], client: HTTPClient, budgets: Budgets) {
    self.service = service
    self.client = client
    self.budgets = budgets
    secrets = Mutex(GitHubGate.table(tokens))
    // The pace keeps below GitHub's secondary limits, which other servers do not have.
    isPaced = service.base == "https://api.github.com"
  }

  /// Takes other tokens from now on.
  public func use(_ tokens: [Upstream.Credential]) { secrets.withLock { $0 = GitHubGate.table(tokens) } }

  private static func table(_ tokens: [Upstream.Credential]) -> [String: Upstream.Credential?] {
    if tokens.isEmpty { return [Budgets.Credential.identifier(pool: pool, secret: nil): Upstream.Credential?.none] }
    return Dictionary(
      tokens.map { (Budgets.Credential.identifier(pool: pool, secret: $0.token), $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Announces the credentials; to be repeated as long as they are used.
  ///
  /// - Throws: `PostgresError`.
  public func register() async throws {
    let isAnonymous = secrets.withLock { $0.values.contains { $0 == nil } }
    let credentials = secrets.withLock { Array($0.keys) }.map { id in
      Budgets.Credential(
        id: id, pool: GitHubGate.pool, label: isAnonymous ? "anonymous" : "token",
        resources: [
          Budgets.Resource("core", limit: isAnonymous ? 60 : 5_000, window: .seconds(3_600)),
          Budgets.Resource("search", limit: isAnonymous ? 10 : 30, window: .seconds(60)),
        ], pace: isPaced ? Budgets.Pace() : .unlimited)
    }
    try await budgets.register(credentials)
  }

  /// What came of a question.
  enum Verdict<Answer: Sendable>: Sendable {
    /// The upstream answered; the credential is the one the validators belong to.
    case answered(Outcome<Answer>, credential: String)
    /// Not now, or never: how the job should end.
    case ended(JobResult)
  }

  /// Asks, following redirects on the same origin.
  ///
  /// - Parameters:
  ///   - preferred: whose validators there are.
  ///   - validators: used if the preferred credential is the one that is taken.
  ///   - redirected: makes the request for where a redirect leads.
  func ask<Request: UpstreamRequest>(
    _ request: Request, priority: Job.Priority, preferred: String? = nil, validators: Validators? = nil,
    redirected: (String) -> Request
  ) async throws -> Verdict<Request.Answer> {
    var request = request
    var validators = validators
    for _ in 0...GitHubGate.maxRedirects {
      let verdict = try await askOnce(request, priority, preferred, validators)
      guard case .answered(.moved(let url, let sameOrigin, _), _) = verdict else { return verdict }
      guard sameOrigin else { return .ended(.discard(error: "upstream/invalid-answer: a redirect to another host")) }
      request = redirected(url)
      validators = nil
    }
    return .ended(.discard(error: "upstream/invalid-answer: too many redirects"))
  }

  private func askOnce<Request: UpstreamRequest>(
    _ request: Request, _ priority: Job.Priority, _ preferred: String?, _ validators: Validators?
  ) async throws -> Verdict<Request.Answer> {
    let ids = secrets.withLock { Array($0.keys) }
    let admission = try await budgets.take(
      ids, resource: request.resource, priority: priority, preferred: preferred, patience: GitHubGate.patience)
    let grant: Budgets.Grant
    switch admission {
    case .granted(let given): grant = given
    case .wait(let delay, .disabled), .wait(let delay, .none):
      return .ended(.retry(after: delay ?? .seconds(60), error: "upstream/unauthorized: no credential is good"))
    case .wait(let delay, _): return .ended(.snooze(delay ?? .seconds(60)))
    }
    let secret = secrets.withLock { $0[grant.credential] ?? nil }
    let isConditional = validators != nil && grant.credential == preferred
    let call = request.call(to: service, credential: secret, validators: isConditional ? validators : nil)
    let response: HTTPClient.Response
    do {
      response = try await client.send(
        HTTPClient.Request(
          .get, call.url, fields: call.fields, maxBytes: call.maxBytes, timeout: call.timeout))
    } catch let failure as HTTPClient.Failure {
      try await budgets.settle(grant, Budgets.Answer(.lost))
      return .ended(GitHubGate.result(of: failure))
    } catch {
      try await budgets.settle(grant, Budgets.Answer(.lost))
      throw error
    }
    let answer = UpstreamAnswer(
      status: response.status.code, fields: response.fields, body: response.body,
      receivedAt: Instant.now.microseconds / 1_000_000)
    let reply = request.reply(to: answer, from: service)
    let isFree = if case .notModified = reply.outcome { secret != nil } else { false }
    try await budgets.settle(grant, GitHubGate.settlement(of: reply, refund: isFree ? 1 : 0))
    return GitHubGate.verdict(reply.outcome, credential: grant.credential)
  }

  private static func settlement<Answer>(of reply: Reply<Answer>, refund: Int) -> Budgets.Answer {
    var settlement = Budgets.Answer(.ok)
    if let budget = reply.budget {
      settlement.resource = budget.resource
      settlement.limit = budget.limit
      settlement.remaining = budget.remaining
      settlement.reset = budget.secondsToReset.map { .seconds($0) }
    }
    settlement.refund = refund
    switch reply.outcome {
    case .limited(let limit):
      settlement.outcome = limit.kind == .primary ? .spent : .limited
      if limit.kind == .primary { settlement.reset = settlement.reset ?? .seconds(limit.seconds) }
      if limit.kind == .secondary, limit.isNamed { settlement.blockedFor = .seconds(limit.seconds) }
    case .unauthorized: settlement.outcome = .unauthorized
    default: break
    }
    return settlement
  }

  private static func verdict<Answer>(_ outcome: Outcome<Answer>, credential: String) -> Verdict<Answer> {
    switch outcome {
    case .ok, .notModified, .moved, .gone: .answered(outcome, credential: credential)
    case .limited(let limit): .ended(.snooze(.seconds(limit.seconds)))
    case .unauthorized: .ended(.snooze(.milliseconds(10)))  // with another credential, if there is one
    case .transient(let status, let retryAfter):
      .ended(
        .retry(
          after: retryAfter.map { .seconds($0) }, error: "upstream/offline: the upstream answers with status \(status)")
      )
    case .refused(let refusal): .ended(.discard(error: "upstream/refused: \(GitHubGate.name(refusal))"))
    case .invalid(let malformed): .ended(.retry(error: "upstream/invalid-answer: \(malformed)"))
    }
  }

  private static func name(_ refusal: Refusal) -> String {
    switch refusal {
    case .blocked: "the upstream has blocked this"
    case .singleSignOn: "the token needs a single sign-on session"
    case .forbidden: "the upstream forbids this"
    case .version: "the upstream does not know our version of its API"
    case .request(let status, _): "the upstream answers with status \(status)"
    }
  }

  private static func result(of failure: HTTPClient.Failure) -> JobResult {
    switch failure {
    case .tooLarge, .invalidAnswer: .retry(error: "upstream/invalid-answer: \(failure)")
    case .refusedAddress, .refusedProtocol, .refusedOrigin, .invalidRequest:
      .discard(error: "upstream/refused-address: \(failure)")
    default: .retry(error: "upstream/offline: \(failure)")
    }
  }
}
