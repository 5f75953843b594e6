import HTTP
import JSONText

extension GitHub {
  /// Judges an answer by its status, and lets `read` look at the body of a 200.
  static func reply<Answer: Sendable>(
    to answer: UpstreamAnswer, from service: UpstreamService, resource: String = "core",
    read: () throws(Malformed) -> Answer
  ) -> Reply<Answer> {
    let budget = RateBudget(of: answer, assuming: resource)
    do throws(Malformed) {
      return Reply(try outcome(of: answer, from: service, budget: budget, read: read), budget: budget)
    } catch {
      return Reply(.invalid(error), budget: budget)
    }
  }

  private static func outcome<Answer: Sendable>(
    of answer: UpstreamAnswer, from service: UpstreamService, budget: RateBudget?,
    read: () throws(Malformed) -> Answer
  ) throws(Malformed) -> Outcome<Answer> {
    switch answer.status {
    case 200: return .ok(try read(), Validators(of: answer.fields))
    case 304: return .notModified
    case 301, 302, 307, 308: return try moved(answer, from: service)
    case 401: return .unauthorized
    case 403, 429: return refused(answer, ErrorBody(answer.body), budget: budget)
    case 404: return .gone(status: 404, reason: nil)
    case 451: return .gone(status: 451, reason: ErrorBody(answer.body).blockReason)
    case 400, 410:
      let body = ErrorBody(answer.body)
      // Both also mean that our version of the API is not there, which says nothing about what was asked for.
      if body.isAboutVersion { return .refused(.version(message: body.message)) }
      return answer.status == 410
        ? .gone(status: 410, reason: nil) : .refused(.request(status: 400, message: body.message))
    case 408, 500..<600: return .transient(status: answer.status, retryAfter: answer.retryAfter)
    case 402..<500: return .refused(.request(status: answer.status, message: ErrorBody(answer.body).message))
    default: throw Malformed("unexpected status \(answer.status)")
    }
  }

  private static func moved<Answer: Sendable>(
    _ answer: UpstreamAnswer, from service: UpstreamService
  ) throws(Malformed) -> Outcome<Answer> {
    guard let place = answer.fields[.location] ?? ErrorBody(answer.body).url, let url = service.resolve(place) else {
      throw Malformed("redirect without a usable address")
    }
    let isPermanent = answer.status == 301 || answer.status == 308
    return .moved(to: url, sameOrigin: service.owns(url), isPermanent: isPermanent)
  }

  /// Tells the refusals with status 403 and 429 apart. The order matters: the last request of a window has nothing
  /// remaining whatever it was refused for, so what is surely no limit comes first.
  private static func refused<Answer: Sendable>(
    _ answer: UpstreamAnswer, _ body: ErrorBody, budget: RateBudget?
  ) -> Outcome<Answer> {
    if let reason = body.blockReason { return .refused(.blocked(reason: reason)) }
    if answer.fields["x-github-sso"]?.lowercased().hasPrefix("required") == true { return .refused(.singleSignOn) }
    if let seconds = answer.retryAfter { return .limited(Limit(.secondary, seconds: seconds, isNamed: true)) }
    // What stands before GitHub may leave out how much remains, or have a figure of its own; the words are plain.
    if budget?.remaining == 0 || body.isAboutPrimaryLimit && budget?.secondsToReset != nil {
      let seconds = budget?.secondsToReset
      // A second more, as the window's end is told in whole seconds.
      return .limited(Limit(.primary, seconds: seconds.map { $0 + 1 } ?? unnamedRest, isNamed: seconds != nil))
    }
    // Words alone do not say which resource is spent, so that the credential rests as for a secondary limit.
    if body.isAboutSecondaryLimit || body.isAboutPrimaryLimit || answer.status == 429 {
      let seconds = max(unnamedRest, budget?.secondsToReset ?? 0)
      return .limited(Limit(.secondary, seconds: seconds, isNamed: false))
    }
    return .refused(.forbidden(message: body.message))
  }

  /// The rest, in seconds, after a limit whose end is not told.
  private static let unnamedRest: Int64 = 60
}
