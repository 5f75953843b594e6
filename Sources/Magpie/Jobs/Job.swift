import Postgres

/// The vocabulary of the queue. A job is one unit of work about one subject, such as a list of followers to be fetched.
public enum Job {
  /// Who waits for it. Lower numbers run first, and leave less of an upstream's budget to others (`Budgets`).
  public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
    /// 0 to 9, as stored.
    public let rawValue: Int

    /// Takes the number as it is, brought into 0...9.
    public init(rawValue: Int) { self.rawValue = min(9, max(0, rawValue)) }

    /// Somebody waits for the answer right now.
    public static let interactive = Priority(rawValue: 0)
    /// Somebody saw stale data and may look again.
    public static let soon = Priority(rawValue: 1)
    /// Keeping things fresh.
    public static let background = Priority(rawValue: 2)
    /// When there is nothing better to do.
    public static let idle = Priority(rawValue: 3)

    /// More urgent is smaller.
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
  }

  /// Where a job stands.
  public enum State: String, CaseIterable, Sendable {
    /// Not to be started before a certain time.
    case scheduled
    /// Next in line.
    case available
    /// Its kind is paused.
    case held
    /// A worker has it.
    case running
    /// Ended well.
    case completed
    /// Ended because nobody wanted it any more.
    case cancelled
    /// Given up after its last attempt.
    case discarded

    /// Whether it has ended.
    public var isFinished: Bool { self == .completed || self == .cancelled || self == .discarded }
  }

  /// What to do with a request for a subject whose job is running already.
  public enum WhenRunning: Sendable {
    /// The run under way is answer enough. For readers who found nothing or something stale.
    case join
    /// Start over when it ends, since what it has read may be older than this request. For explicit refreshes.
    case startOver
  }

  /// What a request made of the queue.
  public enum RequestOutcome: String, Sendable {
    /// There is a new job.
    case inserted
    /// An unfinished job of the subject serves this request too.
    case merged
    /// A running job will start over.
    case rerun
  }

  /// The proof of a request, and what to wait for.
  public struct Ticket: Hashable, Sendable {
    /// The job.
    public let id: Int64
    /// The run that answers the request, counted from 1 over the job's life.
    public let run: Int
    /// What the request did.
    public let outcome: RequestOutcome

    /// Names a run of a job.
    public init(id: Int64, run: Int = 1, outcome: RequestOutcome = .merged) {
      self.id = id
      self.run = run
      self.outcome = outcome
    }
  }
}
