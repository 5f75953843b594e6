import HTTP
import Magpie
import Postgres

/// The ways in which mirrored data can be missing.
enum GitHubProblem {
  static let userNotFound = APIError(.notFound, "github/user-not-found", "GitHub has no such account.")

  static let repositoryNotFound = APIError(
    .notFound, "github/repository-not-found", "GitHub has no such repository, or shows it only to some.")

  /// A repository without a commit, in GitHub's own words.
  static func empty(_ message: String, _ fields: Fields) -> APIError {
    var problem = Problem(
      .conflict, code: "github/repository-empty", detail: "The repository has no commit, as GitHub says.")
    problem.members = [Problem.Member("message", message.isEmpty ? "Git Repository is empty." : message)]
    return APIError(problem, fields)
  }

  /// A repository that GitHub has blocked: for its terms (403), or for somebody's rights (451).
  private static func blocked(_ fact: Absence.Fact) -> APIError {
    var problem = Problem(
      fact.status == 451 ? .unavailableForLegalReasons : .forbidden,
      code: fact.status == 451 ? "github/unavailable-for-legal-reasons" : "github/repository-blocked",
      detail: "GitHub has blocked this repository.")
    problem.members = [Problem.Member("message", "Repository access blocked")]
    if !fact.reason.isEmpty { problem.members.append(Problem.Member("reason", fact.reason)) }
    return APIError(problem)
  }

  /// The upstream's word that something is not there.
  static func absent(_ fact: Absence.Fact, _ subject: Subject) -> APIError {
    if subject.repository != nil {
      switch fact.status {
      case 403, 451: return blocked(fact)
      case 409: return empty(fact.reason, [:])
      case 410: break
      default: return repositoryNotFound
      }
    }
    return absent(fact)
  }

  private static func absent(_ fact: Absence.Fact) -> APIError {
    switch fact.status {
    case 451: APIError(.unavailableForLegalReasons, "github/unavailable-for-legal-reasons", "GitHub may not show this.")
    case 410: APIError(.gone, "github/gone", "GitHub has taken this away.")
    default: userNotFound
    }
  }

  /// An account that is asked for by a login it has given up.
  static func moved(to url: String) -> APIError {
    var problem = Problem(.movedPermanently, code: "github/moved", detail: "It has another name now.")
    problem.members = [Problem.Member("url", url)]
    return APIError(problem, [.location: url])
  }

  static let notStored = APIError(
    .gatewayTimeout, "mirror/not-stored", "Nothing is stored of this, and only-if-cached forbids asking for it.")

  /// The wait is over and nothing has come.
  static func notReady(_ job: Int64?) -> APIError {
    var problem = Problem(
      .gatewayTimeout, code: "mirror/not-ready", detail: "This is being fetched; ask again a little later.")
    problem.retryAfter = 2
    return APIError(problem, fields(job))
  }

  /// The upstream limits us, or no credential is good.
  static func closed(_ outlook: Refreshes.Outlook, _ job: Int64?, of service: String = "GitHub") -> APIError {
    let code = outlook.isLimiting ? "upstream/rate-limited" : "upstream/unauthorized"
    var problem = Problem(
      .serviceUnavailable, code: code,
      detail: outlook.isLimiting
        ? "\(service)'s limit for this server is reached; what is asked for will be fetched when it opens again."
        : "\(service) takes none of this server's keys; its operator has to see to that.")
    problem.retryAfter = outlook.opensIn.map { max(1, Int($0.components.seconds) + 1) } ?? 60
    if outlook.isLimiting, let opensIn = outlook.opensIn {
      problem.upstream = Problem.Upstream(reset: Instant.now.microseconds / 1_000_000 + opensIn.components.seconds + 1)
    }
    return APIError(problem, fields(job))
  }

  /// The last attempt has failed, and the next one is some time away.
  static func obstacle(_ code: String, wait: Double, _ job: Int64?, of service: String = "GitHub") -> APIError {
    let (known, detail) =
      switch code {
      case "upstream/invalid-answer": (code, "\(service)'s answer makes no sense; nothing of it was stored.")
      case "upstream/refused", "upstream/refused-address": (code, "\(service) refuses to answer this.")
      case "upstream/unauthorized":
        (code, "\(service) takes none of this server's keys; its operator has to see to that.")
      case "upstream/offline": (code, "\(service) cannot be reached just now; it will be tried again.")
      default: ("mirror/refresh-failed", "Fetching this has failed here; it will be tried again.")
      }
    var problem = Problem(.serviceUnavailable, code: known, detail: detail)
    problem.retryAfter = max(1, Int(wait.rounded(.up)))
    return APIError(problem, fields(job))
  }

  private static func fields(_ job: Int64?) -> Fields {
    job.map { ["Magpie-Job": "/v1/jobs/\($0)"] } ?? [:]
  }
}
