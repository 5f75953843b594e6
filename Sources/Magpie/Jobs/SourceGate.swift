import EventLoop
import Glibc
import HTTPClient
import Postgres
import Upstream

/// The one way to an upstream that is asked with one credential, or with none: takes from its budget, sends, settles, and says
/// what came of it. Redirects are answers that make no sense: none of these upstreams has any.
public final class SourceGate: Sendable {
  /// The upstream's name among the budgets.
  public let pool: String
  let service: UpstreamService
  private let credential: Upstream.Credential?
  private let identifier: String
  private let resources: [Budgets.Resource]
  private let client: HTTPClient
  private let budgets: Budgets

  /// - Parameters:
  ///   - credential: `nil` for an upstream that wants none.
  ///   - resources: the budgets that are assumed, since such upstreams do not say what is left.
  init(
    pool: String, service: UpstreamService, credential: Upstream.Credential?, resources: [Budgets.Resource],
    client: HTTPClient, budgets: Budgets
  ) {
    self.pool = pool
    self.service = service
    self.credential = credential
    identifier = Budgets.Credential.identifier(pool: pool, secret: credential?.token)
    self.resources = resources
    self.client = client
    self.budgets = budgets
  }

  /// The photo service, which states no limits: more than enough for somebody who asks anew at every turn.
  public static func photos(_ service: UpstreamService, client: HTTPClient, budgets: Budgets) -> SourceGate {
    SourceGate(
      pool: "photos", service: service, credential: nil,
      resources: [Budgets.Resource("core", limit: 120, window: .seconds(3_600))], client: client, budgets: budgets)
  }

  /// Announces the credential; to be repeated as long as it is used.
  ///
  /// - Throws: `PostgresError`.
  public func register() async throws {
    try await budgets.register([
      Budgets.Credential(
        id: identifier, pool: pool, label: credential == nil ? "anonymous" : "key", resources: resources,
        pace: .unlimited, maximumOutstanding: 16)
    ])
    try await budgets.setLimits(of: identifier, resources)
  }

  /// Asks once.
  ///
  /// - Parameter validators: those of what is stored.
  func ask<Request: UpstreamRequest>(
    _ request: Request, priority: Job.Priority, validators: Validators? = nil
  ) async throws -> UpstreamVerdict<Request.Answer> {
    let admission = try await budgets.take(
      [identifier], resource: request.resource, priority: priority, patience: GitHubGate.patience)
    let grant: Budgets.Grant
    switch admission {
    case .granted(let given): grant = given
    case .wait(let delay, let refusal): return UpstreamVerdict(refusal, delay)
    }
    let call = request.call(to: service, credential: credential, validators: validators)
    let response: HTTPClient.Response
    do {
      response = try await client.send(
        HTTPClient.Request(.get, call.url, fields: call.fields, maxBytes: call.maxBytes, timeout: call.timeout))
    } catch let failure as HTTPClient.Failure {
      try await budgets.settle(grant, Budgets.Answer(.lost))
      return UpstreamVerdict(failure)
    } catch {
      try await budgets.settle(grant, Budgets.Answer(.lost))
      throw error
    }
    if repeatsKey(response.body) {
      try await budgets.settle(grant, Budgets.Answer(.ok))
      return .ended(.retry(error: "upstream/invalid-answer: it has this server's key in it"))
    }
    let reply = request.reply(
      to: UpstreamAnswer(
        status: response.status.code, fields: response.fields, body: response.body,
        receivedAt: Instant.now.microseconds / 1_000_000), from: service)
    try await budgets.settle(grant, Budgets.Answer(reply, refund: 0))
    if case .moved = reply.outcome {
      return .ended(.retry(error: "upstream/invalid-answer: a redirect, and none is expected"))
    }
    return UpstreamVerdict(reply, grant: grant)
  }

  /// What has the key in it is passed on to nobody.
  private func repeatsKey(_ body: [UInt8]) -> Bool {
    guard let key = credential?.token.utf8 else { return false }
    return Array(key).withUnsafeBytes { key in
      body.withUnsafeBytes { body in
        guard var place = UnsafeRawPointer(body.baseAddress), let wanted = key.baseAddress else { return false }
        let end = place + body.count
        while end - place >= key.count, let found = memchr(place, Int32(key[0]), end - place - key.count + 1) {
          if memcmp(found, wanted, key.count) == 0 { return true }
          place = UnsafeRawPointer(found) + 1
        }
        return false
      }
    }
  }
}

extension Budgets {
  /// Makes limits that only the operator knows those of a credential that is registered already.
  ///
  /// - Throws: `PostgresError`.
  func setLimits(of credential: String, _ resources: [Resource]) async throws(PostgresError) {
    for resource in resources {
      try await database.retrying(
        "SELECT magpie.set_budget_limit(\(credential), \(resource.name), \(Int32(clamping: resource.limit)))")
    }
  }
}
