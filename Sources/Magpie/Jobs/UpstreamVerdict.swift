import HTTPClient
import Upstream

/// What came of a question to an upstream.
enum UpstreamVerdict<Answer: Sendable>: Sendable {
  /// The upstream answered; the credential is the one the validators belong to.
  case answered(Outcome<Answer>, credential: String)
  /// Not now, or never: how the job should end.
  case ended(JobResult)

  /// What an answer means for the job.
  init(_ outcome: Outcome<Answer>, credential: String) {
    switch outcome {
    case .ok, .notModified, .moved, .gone: self = .answered(outcome, credential: credential)
    case .limited(let limit): self = .ended(.snooze(.seconds(limit.seconds)))
    case .unauthorized: self = .ended(.snooze(.milliseconds(10)))  // with another credential, if there is one
    case .transient(let status, let retryAfter):
      self = .ended(
        .retry(
          after: retryAfter.map { .seconds($0) }, error: "upstream/offline: the upstream answers with status \(status)")
      )
    case .refused(let refusal): self = .ended(.discard(error: "upstream/refused: \(refusal.inWords)"))
    case .invalid(let malformed): self = .ended(.retry(error: "upstream/invalid-answer: \(malformed)"))
    }
  }

  /// There was no answer.
  init(_ failure: HTTPClient.Failure) {
    switch failure {
    case .tooLarge, .invalidAnswer: self = .ended(.retry(error: "upstream/invalid-answer: \(failure)"))
    case .refusedAddress, .refusedProtocol, .refusedOrigin, .invalidRequest:
      self = .ended(.discard(error: "upstream/refused-address: \(failure)"))
    default: self = .ended(.retry(error: "upstream/offline: \(failure)"))
    }
  }

  /// There was no leave to ask.
  init(_ refusal: Budgets.Refusal, _ delay: Duration?) {
    switch refusal {
    case .disabled, .none:
      self = .ended(.retry(after: delay ?? .seconds(60), error: "upstream/unauthorized: no credential is good"))
    default: self = .ended(.snooze(delay ?? .seconds(60)))
    }
  }
}

extension Budgets.Answer {
  /// What a reply says about the budget.
  init<Answer>(_ reply: Reply<Answer>, refund: Int) {
    self.init(.ok, refund: refund)
    if let budget = reply.budget {
      resource = budget.resource
      limit = budget.limit
      remaining = budget.remaining
      reset = budget.secondsToReset.map { .seconds($0) }
    }
    switch reply.outcome {
    case .limited(let limit):
      outcome = limit.kind == .primary ? .spent : .limited
      if limit.kind == .primary { reset = reset ?? .seconds(limit.seconds) }
      if limit.kind == .secondary, limit.isNamed { blockedFor = .seconds(limit.seconds) }
    case .unauthorized: outcome = .unauthorized
    default: break
    }
  }
}

extension Refusal {
  /// For administrators.
  fileprivate var inWords: String {
    switch self {
    case .blocked: "the upstream has blocked this"
    case .singleSignOn: "the token needs a single sign-on session"
    case .forbidden: "the upstream forbids this"
    case .version: "the upstream does not know our version of its API"
    case .request(let status, _): "the upstream answers with status \(status)"
    }
  }
}
