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
  private let secrets: Mutex<Secrets>
  private let isPaced: Bool

  /// - Parameter tokens: each with its own budget; none means anonymous use, 60 requests an hour.
  public init(service: UpstreamService, tokens: [Upstream.Credential], client: HTTPClient, budgets: Budgets) {
    self.service = service
    self.client = client
    self.budgets = budgets
    secrets = Mutex(Secrets(present: GitHubGate.table(tokens)))
    // The pace keeps below GitHub's secondary limits, which other servers do not have.
    isPaced = service.base == "https://api.github.com"
  }

  /// Tokens by the ids of their credentials; `nil` stands for use without one.
  private typealias Table = [String: Upstream.Credential?]

  private struct Secrets {
    var present: Table
    /// Not announced yet, or not to everybody who waits: the present ones are used meanwhile.
    var coming: Table?
    /// How often there were others.
    var changes = 0
  }

  /// Takes other tokens as soon as `register` or `takeOver` has announced them: the budgets know nothing of them before.
  public func use(_ tokens: [Upstream.Credential]) {
    secrets.withLock { secrets in
      secrets.coming = GitHubGate.table(tokens)
      secrets.changes += 1
    }
  }

  /// Announces what `use` has brought, and uses it from then on. Nothing when there is nothing new; to be repeated after errors.
  ///
  /// - Throws: `PostgresError`.
  public func takeOver() async throws {
    if secrets.withLock({ $0.coming != nil }) { try await register() }
  }

  private static func table(_ tokens: [Upstream.Credential]) -> Table {
    if tokens.isEmpty { return [Budgets.Credential.identifier(pool: pool, secret: nil): Upstream.Credential?.none] }
    return Dictionary(
      tokens.map { (Budgets.Credential.identifier(pool: pool, secret: $0.token), $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Announces the credentials, those that `use` has brought if it has; to be repeated as long as they are used.
  ///
  /// - Throws: `PostgresError`.
  public func register() async throws {
    let (table, isNew, change) = secrets.withLock { ($0.coming ?? $0.present, $0.coming != nil, $0.changes) }
    let isAnonymous = table.values.contains { $0 == nil }
    let credentials = table.keys.map { id in
      Budgets.Credential(
        id: id, pool: GitHubGate.pool, label: isAnonymous ? "anonymous" : "token",
        resources: [
          Budgets.Resource("core", limit: isAnonymous ? 60 : 5_000, window: .seconds(3_600)),
          Budgets.Resource("search", limit: isAnonymous ? 10 : 30, window: .seconds(60)),
        ], pace: isPaced ? Budgets.Pace() : .unlimited)
    }
    try await budgets.register(credentials)
    guard isNew else { return }
    secrets.withLock { if $0.changes == change { $0.present = table } }
    try await budgets.endWaits(ofKinds: "github-")
    secrets.withLock { if $0.changes == change { $0.coming = nil } }
  }

  typealias Verdict<Answer: Sendable> = UpstreamVerdict<Answer>

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
    let table = secrets.withLock { $0.present }
    let ids = Array(table.keys)
    let admission = try await budgets.take(
      ids, resource: request.resource, priority: priority, preferred: preferred, patience: GitHubGate.patience)
    let grant: Budgets.Grant
    switch admission {
    case .granted(let given): grant = given
    case .wait(let delay, let refusal): return Verdict(refusal, delay)
    }
    let secret = table[grant.credential] ?? nil
    let isConditional = validators != nil && grant.credential == preferred
    let call = request.call(to: service, credential: secret, validators: isConditional ? validators : nil)
    let response: HTTPClient.Response
    do {
      response = try await client.send(
        HTTPClient.Request(
          .get, call.url, fields: call.fields, maxBytes: call.maxBytes, timeout: call.timeout))
    } catch let failure as HTTPClient.Failure {
      try await budgets.settle(grant, Budgets.Answer(.lost))
      return Verdict(failure)
    } catch {
      try await budgets.settle(grant, Budgets.Answer(.lost))
      throw error
    }
    let answer = UpstreamAnswer(
      status: response.status.code, fields: response.fields, body: response.body,
      receivedAt: Instant.now.microseconds / 1_000_000)
    let reply = request.reply(to: answer, from: service)
    let isFree = if case .notModified = reply.outcome { secret != nil } else { false }
    try await budgets.settle(grant, Budgets.Answer(reply, refund: isFree ? 1 : 0))
    return Verdict(reply, grant: grant)
  }
}
