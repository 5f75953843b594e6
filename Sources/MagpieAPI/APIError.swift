import HTTP

/// A problem that a handler ends with.
struct APIError: Error {
  var problem: Problem
  var fields: Fields

  init(_ problem: Problem, _ fields: Fields = [:]) {
    self.problem = problem
    self.fields = fields
  }

  init(_ status: Status, _ code: String, _ detail: String? = nil) {
    self.init(Problem(status, code: code, detail: detail))
  }

  /// No credentials at all (RFC 6750, section 3).
  static let unauthenticated = APIError(
    Problem(.unauthorized, code: "auth/missing", detail: "This needs a token: Authorization: Bearer mgp_…"),
    [.wwwAuthenticate: "Bearer realm=\"magpie\""])

  /// Credentials that are nobody's (any more).
  static let badCredentials = APIError(
    Problem(.unauthorized, code: "auth/invalid-token", detail: "The token is not known, or is not good any more."),
    [.wwwAuthenticate: "Bearer realm=\"magpie\", error=\"invalid_token\""])

  /// A token without the right to `read` or `write`.
  static func insufficientScope(_ scope: String) -> APIError {
    APIError(
      Problem(.forbidden, code: "auth/insufficient-scope", detail: "The token may not \(scope)."),
      [.wwwAuthenticate: "Bearer realm=\"magpie\", error=\"insufficient_scope\", scope=\"\(scope)\""])
  }

  /// Too many passwords or codes were tried from there, or for that name.
  static func throttled(_ seconds: Int) -> APIError {
    var problem = Problem(
      .tooManyRequests, code: "auth/throttled", detail: "There were too many attempts; try again later.")
    problem.retryAfter = seconds
    return APIError(problem)
  }

  /// A query parameter that is not what it should be.
  static func badParameter(_ name: String, _ detail: String) -> APIError {
    var problem = Problem(
      .unprocessableContent, code: "request/invalid-parameter", detail: "The parameter \(name) \(detail).")
    problem.errors = [Problem.Detail(pointer: "/\(name)", detail: detail)]
    return APIError(problem)
  }
}
