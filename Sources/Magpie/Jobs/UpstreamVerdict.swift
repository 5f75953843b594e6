import HTTPClient
import Upstream

/// What came of a question to an upstream.
enum UpstreamVerdict<Answer: Sendable>: Sendable {
  /// The upstream answered; the credential is the one the validators belong to.
  case answered(Outcome<Answer>, credential: String)
  /// Not now, or never: how the job should end.
  case ended(JobResult)

  /// What a reply means for the job, once the budgets have been told of it.
  init(_ reply: Reply<Answer>, grant: Budgets.Grant) {
    switch reply.outcome {
    case .ok, .notModified, .moved, .gone: self = .answered(reply.outcome, credential: grant.credential)
    case .limited(let limit):
      // The gate is closed by now. It knows all credentials and their times, so that the job is to ask there at once. Only the
      // limit of another resource leaves it open.
      let isClosed = limit.kind == .secondary || reply.budget.map { $0.resource == grant.resource } ?? true
      self = .ended(.snooze(isClosed ? atOnce : .seconds(limit.seconds)))
    case .unauthorized: self = .ended(.snooze(atOnce))  // with another credential, if there is one
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
    // Another process, or an administrator, has to do with the credentials just now. They are announced again and again.
    case .none: self = .ended(.snooze(delay ?? .seconds(2)))
    case .disabled:
      self = .ended(.retry(after: delay ?? .seconds(60), error: "upstream/unauthorized: no credential is good"))
    default: self = .ended(.snooze(delay ?? .seconds(60)))
    }
  }
}

/// How long a job is put off that may go on at the gate.
private let atOnce = Duration.milliseconds(10)

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
      if limit.kind == .primary {
        // Whatever the figure says: it was refused.
        remaining = 0
        reset = reset ?? .seconds(limit.seconds)
      }
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
