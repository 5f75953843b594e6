import HTTP
import HTTPServer
import Magpie

/// `/v1/jobs/{id}`: how a refresh goes on, and giving it up. Only for the accounts that asked for it.
struct JobEndpoints: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let account = try await services.accounts.account(of: token) else { throw APIError.badCredentials }
    let id = try JobEndpoints.id(of: request)
    guard let status = try await services.refreshes.status(id, account: account) else { throw JobEndpoints.notFound }
    return Answers.document(JobDocument.bytes(status, budget: try await budget(of: status, token)), for: request)
  }

  /// The account no longer wants the job, which ends when nobody is left who does. A running one ends at its next page; what
  /// it has stored stays.
  func withdraw(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let account = try await services.accounts.account(of: token, writes: true) else {
      throw APIError.badCredentials
    }
    guard try await services.refreshes.withdraw(account, from: try JobEndpoints.id(of: request)) else {
      throw JobEndpoints.notFound
    }
    return Response(.noContent, [.cacheControl: "no-store"])
  }

  /// What the job may still ask of its upstream, and when it may ask more; `nil` for an upstream that keeps no budget.
  private func budget(of status: Job.Status, _ token: [UInt8]) async throws -> Budgets.Allowance? {
    guard !status.state.isFinished, let (pool, resource) = status.budget else { return nil }
    return try await services.refreshes.allowances(pool: pool, token: token, priority: status.priority)?
      .first { $0.resource == resource }
  }

  private static func id(of request: Request) throws(APIError) -> Int64 {
    guard let id = request.parameters["id"].flatMap({ Int64($0) }) else { throw notFound }
    return id
  }

  private static let notFound = APIError(.notFound, "jobs/not-found", "There is no such job, or it is not yours.")
}
