import Glibc

extension Worker {
  /// How a worker process behaves.
  public struct Configuration: Sendable {
    /// Jobs run at once. A quarter of them, rounded up, is kept for interactive jobs when there are two or more.
    public var concurrency = 4
    /// How long the process may be silent before its jobs go to others.
    public var lease = Duration.seconds(30)
    /// How long a run may go without a checkpoint, unless its job says otherwise.
    public var timeLimit = Duration.seconds(300)
    /// Between looks for jobs when no notice comes; from half of it to one and a half.
    public var pollInterval = Duration.seconds(1)
    /// Between looks for scheduled jobs that are due, by the process that does the housekeeping.
    public var promoteInterval = Duration.milliseconds(250)
    /// How long finished jobs are kept. Whole days are dropped.
    public var history = Duration.seconds(14 * 86_400)
    /// Dead rows in the queue's table at which the housekeeping cleans it, at most every 3 s.
    public var vacuumThreshold: Int64 = 50_000
    /// The build, shown to administrators.
    public var version = ""

    /// All defaults.
    public init() {}

    /// Three beats a lease, so that two may be lost.
    var heartbeat: Duration { lease / 3 }
    /// For a beat's answer: a connection that has gone dumb may cost one beat, not the lease.
    var beatTimeout: Duration { min(.seconds(5), max(.seconds(1), heartbeat)) }
    /// How long a job may be running in the table without being known here, before it counts as leaked.
    var grace: Duration { min(.seconds(10), lease) }
    /// Between looks at the beats of others.
    var watchInterval: Duration { min(.seconds(5), lease / 3) }
    var interactiveSlots: Int { concurrency >= 2 ? (concurrency + 3) / 4 : 0 }

    var hostname: String {
      var buffer = [CChar](repeating: 0, count: 256)
      guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
      return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  /// What a worker has done since its start.
  public struct Metrics: Sendable {
    /// Runs started.
    public var started = 0
    /// Runs that ended well.
    public var completed = 0
    /// Runs that failed and will be tried again.
    public var retried = 0
    /// Jobs given up.
    public var discarded = 0
    /// Runs that ended because nobody wanted them.
    public var cancelled = 0
    /// Runs put off or handed on.
    public var snoozed = 0
    /// Runs that others took over, so that their results were refused.
    public var lost = 0
    /// Runs cut off at their time limit.
    public var timedOut = 0
    /// Jobs that the table had as ours and we did not know.
    public var leaked = 0
    /// Other processes found dead.
    public var reaped = 0
    /// Jobs taken back from dead processes and overdue runs.
    public var rescued = 0
    /// Claims, and those among them that found nothing.
    public var claims = 0
    /// See `claims`.
    public var emptyClaims = 0
    /// Statements of the worker itself that failed.
    public var databaseErrors = 0
    /// Times this process was declared dead and registered anew.
    public var deaths = 0
    /// Handlers at work now.
    public var running = 0
    /// Whether this process does the housekeeping.
    public var isLeader = false
    /// Until the lease ends, negative when it has ended.
    public var leaseLeft = Duration.zero
    /// By duty: how often it succeeded and failed, and how long ago it last succeeded.
    public var duties: [String: DutyRecord] = [:]
  }

  /// How a duty fares.
  public struct DutyRecord: Sendable {
    /// Times it succeeded.
    public var successes = 0
    /// Times it failed.
    public var failures = 0
    /// Monotonic nanoseconds of the last success, 0 before the first.
    public var lastSuccess: UInt64 = 0
  }
}
