import HTTP
import HTTPServer
import Magpie

/// `GET /v1/jobs/{id}`: how a refresh goes on.
struct JobEndpoints: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let account = try await services.accounts.account(of: token) else { throw APIError.badCredentials }
    guard let id = request.parameters["id"].flatMap({ Int64($0) }) else { throw JobEndpoints.notFound }
    guard let status = try await services.refreshes.status(id, account: account) else { throw JobEndpoints.notFound }
    return Answers.document(JobDocument.bytes(status), for: request)
  }

  private static let notFound = APIError(.notFound, "jobs/not-found", "There is no such job, or it is not yours.")
}
