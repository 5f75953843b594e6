/// An answer's meaning, and what it told about the budget. Every answer may tell about the budget.
public struct Reply<Answer: Sendable>: Sendable {
  /// What the answer means for the question.
  public let outcome: Outcome<Answer>
  /// The budget it was charged to. `nil` when the answer says nothing, which leaves what is known as it is.
  public let budget: RateBudget?

  /// A reply with both parts.
  public init(_ outcome: Outcome<Answer>, budget: RateBudget?) {
    self.outcome = outcome
    self.budget = budget
  }
}

/// What an upstream's answer means.
public enum Outcome<Answer: Sendable>: Sendable {
  /// A whole and well-formed answer: the only kind that is stored, together with its validators.
  case ok(Answer, Validators)
  /// What is stored is still right (304).
  case notModified
  /// Ask there instead (301, 302, 307, 308). To another origin go without the credential.
  case moved(to: String, sameOrigin: Bool, isPermanent: Bool)
  /// A fact: there is no such thing, or none to be shown (404, 410, 451; of repositories also 403 when they are blocked, and
  /// 409 when they have no commit). The reason is given with a 403, 409 and 451.
  case gone(status: Int, reason: String?)
  /// Too many requests. The credential must rest.
  case limited(Limit)
  /// The credential is no good (401): stop using it.
  case unauthorized
  /// Refused for a reason that waiting does not mend.
  case refused(Refusal)
  /// The upstream is in trouble (5xx, 408); the same request may work later. `retryAfter` in seconds, if it said.
  case transient(status: Int, retryAfter: Int64?)
  /// An answer that makes no sense: nothing of it may be stored.
  case invalid(Malformed)
}

/// Why and how long a credential must rest.
public struct Limit: Sendable, Equatable {
  /// Which limit was met.
  public enum Kind: Sendable, Equatable {
    /// The budget of the window is spent; only the resource of the reply's budget must rest.
    case primary
    /// Asked too fast or too much at once; the credential must rest for everything.
    case secondary
  }

  /// The longest rest, in seconds: a day. Longer ones an upstream names are cut to it.
  public static let maxSeconds: Int64 = 86_400

  /// Which limit was met.
  public let kind: Kind
  /// How long to rest from the moment the answer came, in seconds, 1 to ``maxSeconds``.
  public let seconds: Int64
  /// Whether the upstream named the time. If not, a caller that meets the limit again should wait longer each time.
  public let isNamed: Bool

  /// A limit; the time is brought into its range.
  public init(_ kind: Kind, seconds: Int64, isNamed: Bool) {
    self.kind = kind
    self.seconds = min(max(seconds, 1), Self.maxSeconds)
    self.isNamed = isNamed
  }
}

/// A refusal that is no limit.
public enum Refusal: Sendable, Equatable {
  /// The resource is blocked; the upstream's word for why, such as `tos`.
  case blocked(reason: String)
  /// The credential needs a single sign-on session for that organization; without a credential public data may work.
  case singleSignOn
  /// Any other 403. The message is for logs.
  case forbidden(message: String?)
  /// The API version we ask for is unknown or retired (400, 410).
  case version(message: String?)
  /// The request itself was found wrong (400, 422 and other 4xx). The message is for logs.
  case request(status: Int, message: String?)
}

/// What was wrong with an answer that should have been good.
public struct Malformed: Error, Equatable, Sendable, CustomStringConvertible {
  /// Where in the document, as a JSON Pointer; empty for the whole.
  public let pointer: String
  /// What was wrong, in our words; never text of the answer.
  public let reason: String

  /// A fault at a place.
  public init(_ reason: String, at pointer: String = "") {
    self.reason = reason
    self.pointer = pointer
  }

  /// The place and the fault.
  public var description: String { pointer.isEmpty ? reason : "\(pointer): \(reason)" }
}
