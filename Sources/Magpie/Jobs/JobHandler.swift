/// What a kind of job does.
///
/// A handler may be run again for a job that it has done in part or, after a crash, in full. It is safe against that when
/// everything it writes is written through `RunningJob.step` or `RunningJob.complete`.
public protocol JobHandler: Sendable {
  /// The kind it is registered for, 1 to 128 characters.
  var kind: String { get }

  /// Runs on one of the worker's loops.
  ///
  /// - Returns: how the run ended.
  /// - Throws: anything, which is a failed attempt, followed by another one later. `JobError` of a checkpoint should be let
  ///   through. The error's `description` is stored with the job and must not hold secrets.
  func run(_ job: RunningJob) async throws -> JobResult
}

/// How a run ended.
public enum JobResult: Sendable, Equatable {
  /// All is done.
  case done
  /// It did not work now; try again after a time, or after the usual back-off: 2, 4, 8 … seconds, an hour at most, each half
  /// to one and a half times as long. The last attempt discards the job.
  case retry(after: Duration? = nil, error: String)
  /// It cannot go on yet through no fault of its own, such as a spent budget. The attempt is given back; a request of
  /// higher priority ends the wait.
  case snooze(Duration)
  /// It stops here so that another process, or a more urgent job, may go on. The attempt is given back and the checkpoint
  /// kept; it is available again at once.
  case yield
  /// Trying again would not help.
  case discard(error: String)
}
