import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// Turns everything that can go wrong into the one answer it has.
public enum ErrorResponses {
  /// The answer to a request that never reaches the route table.
  @Sendable
  public static func response(to error: HTTPError, requestID: String) -> Response {
    var failure = failure(for: error)
    failure.problem.requestID = requestID
    return response(failure)
  }

  /// The answer to an error that a handler, or the route table, ended with.
  @Sendable
  static func response(to error: any Error, _ request: Request) -> Response {
    if let accepted = error as? Accepted { return answer(to: accepted) }
    var failure = failure(for: error)
    // Only a read asks for the right to read.
    if (error as? PostgresError)?.sqlState?.rawValue == "MG403", request.method == .get || request.method == .head {
      failure = .insufficientScope("read")
    }
    failure.problem.requestID = request.id
    if request.target.path.hasPrefix("/giphy/") { return response(failure, as: GifProblem.response) }
    if request.target.path == "/github" || request.target.path.hasPrefix("/github/") {
      addGitHubMembers(to: &failure.problem)
    }
    return response(failure)
  }

  private static func response(
    _ failure: APIError, as document: (Problem) -> Response = { Response($0) }
  ) -> Response {
    var response = document(failure.problem)
    for field in failure.fields { response.fields.set(field.name, field.value) }
    response.fields.set(.cacheControl, "no-store")
    response.fields.set(.xContentTypeOptions, "nosniff")
    return response
  }

  private static func answer(to accepted: Accepted) -> Response {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("job")
    writer.int(accepted.job)
    writer.key("url")
    writer.string("/v1/jobs/\(accepted.job)")
    writer.endObject()
    var response = Answers.unstored(writer.bytes, status: .accepted)
    response.fields.set("Magpie-Job", "/v1/jobs/\(accepted.job)")
    response.fields.set(.location, "/v1/jobs/\(accepted.job)")
    response.fields.set(.preferenceApplied, "respond-async")
    return response
  }

  private static func failure(for error: any Error) -> APIError {
    switch error {
    case let error as APIError: return error
    case let error as HTTPError:
      var problem = Problem(error.status, code: error.code, detail: error.detail)
      problem.retryAfter = error.retryAfter
      return APIError(problem)
    case let error as PostgresError: return failure(for: error)
    case let error as JSONObjectReader.Refusal: return failure(for: error)
    case is PasswordWorkers.Busy, is Mirror.Contention: return busy
    case is Favorites.Contention:
      return APIError(.conflict, "favorites/contention", "Others change the same item all the time; try again.")
    default:
      return APIError(.internalServerError, "server/internal", "Something went wrong here; the log has more.")
    }
  }

  private static var busy: APIError {
    var problem = Problem(
      .serviceUnavailable, code: "server/busy", detail: "Too many requests at once; try again soon.")
    problem.retryAfter = 1
    return APIError(problem)
  }

  private static func failure(for error: PostgresError) -> APIError {
    switch error.sqlState?.rawValue {
    case "MG403": return .insufficientScope("write")
    case "MG409": return IdempotencyMiddleware.running
    case "MG424": return FavoriteProblem.noSuchCollection
    case "MG429": return FavoriteProblem.full
    case "22001", "22003", "22007", "22008", "22009", "22P02", "22021", "23502", "23514", "MG422":
      return APIError(.unprocessableContent, "request/invalid-value", "A value is not allowed, or beyond its limit.")
    case "40001", "40P01", "55P03", "53300", "53200", "57014": return busy
    default: break
    }
    switch error.kind {
    case .unavailable, .connectionLost:
      var problem = Problem(
        .serviceUnavailable, code: "server/database-unavailable", detail: "The database cannot be reached just now.")
      problem.retryAfter = 2
      return APIError(problem)
    case .overloaded, .timeout: return busy
    default: return APIError(.internalServerError, "server/internal", "Something went wrong here; the log has more.")
    }
  }

  private static func failure(for refusal: JSONObjectReader.Refusal) -> APIError {
    switch refusal {
    case .invalid(let invalid):
      return APIError(.badRequest, "request/invalid-json", invalid.description)
    case .issues(let issues):
      var problem = Problem(
        .unprocessableContent, code: "request/invalid-body", detail: "The body is not what this request takes.")
      problem.errors = issues.map { Problem.Detail(pointer: $0.pointer, detail: $0.detail) }
      return APIError(problem)
    }
  }

  /// GitHub's clients read these two, in GitHub's own words for the same case.
  private static func addGitHubMembers(to problem: inout Problem) {
    let message =
      switch problem.status {
      case .notFound, .gone: "Not Found"
      case .unauthorized: "Bad credentials"
      case .movedPermanently: "Moved Permanently"
      case .unprocessableContent: "Validation Failed"
      default: problem.title
      }
    // A handler may have words of GitHub's for the case.
    if !problem.members.contains(where: { $0.name == "message" }) {
      problem.members.insert(Problem.Member("message", message), at: 0)
    }
    problem.members.append(Problem.Member("documentation_url", "https://docs.github.com/rest"))
  }
}
