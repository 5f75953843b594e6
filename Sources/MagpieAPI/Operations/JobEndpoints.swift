import HTTP
import HTTPServer
import JSONText
import Magpie

/// `GET /v1/jobs/{id}`: how a refresh goes on.
struct JobEndpoints: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let account = try await services.accounts.account(of: token) else { throw APIError.badCredentials }
    guard let id = request.parameters["id"].flatMap({ Int64($0) }) else { throw JobEndpoints.notFound }
    guard let status = try await services.refreshes.status(id, account: account) else { throw JobEndpoints.notFound }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("id")
    writer.int(status.id)
    writer.key("kind")
    writer.string(status.kind)
    writer.key("state")
    writer.string(status.state.rawValue)
    writer.key("pages_done")
    writer.int(status.done ?? 0)
    writer.key("pages_expected")
    if let total = status.total { writer.int(total) } else { writer.null() }
    writer.key("attempt")
    writer.int(status.attempt)
    writer.key("created_at")
    writer.string(Timestamp(microseconds: status.createdAt.microseconds).description)
    for (name, time) in [("started_at", status.startedAt), ("finished_at", status.finishedAt)] {
      writer.key(name)
      if let time { writer.string(Timestamp(microseconds: time.microseconds).description) } else { writer.null() }
    }
    writer.key("error")
    // The code alone: the rest is for administrators.
    if let error = status.lastError { writer.string(error.prefix { $0 != ":" }.description) } else { writer.null() }
    writer.endObject()
    return Answers.document(writer.bytes, for: request)
  }

  private static let notFound = APIError(.notFound, "jobs/not-found", "There is no such job, or it is not yours.")
}
