/// Why a run cannot go on, or a request was refused.
public enum JobError: Error, Sendable, Equatable {
  /// The run is no longer this process's: its lease ended, or an administrator took the job away. What the transaction
  /// wrote must not be committed.
  case lostRun
  /// Nobody wants the job any more.
  case cancelled
  /// The run went on for longer than its time limit without a checkpoint.
  case timedOut
  /// More callers wait for jobs than this process can serve.
  case tooManyWaiters
  /// A job's row stayed locked for a second; nothing was done.
  case locked
  /// The database answered without the row that belongs there.
  case noAnswer
}

extension JobError: CustomStringConvertible {
  /// Short and without details.
  public var description: String {
    switch self {
    case .lostRun: "the run was lost"
    case .cancelled: "the job was cancelled"
    case .timedOut: "timed out"
    case .tooManyWaiters: "too many callers wait for jobs"
    case .locked: "the job is locked"
    case .noAnswer: "the database gave no answer"
    }
  }
}
