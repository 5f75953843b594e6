import EventLoop
import Magpie
import Postgres
import Synchronization
import TestSupport
import Testing
import WorldSupport

@testable import Magpie

/// A database of its own with Magpie's schema, and the queue in it.
struct QueueFixture: Sendable {
  /// As the owner, `magpie`.
  let url: String
  /// As `magpie_worker`.
  let database: Database
  let group: EventLoopGroup
  let queue: JobQueue

  static func make(
    loops: Int = 1, role: String = "magpie_worker", _ body: (QueueFixture) async throws -> Void
  ) async throws {
    let url = try await Schema.database()
    try await with(url, loops: loops, role: role, body)
  }

  static func with(
    _ url: String, loops: Int = 1, role: String = "magpie_worker", _ body: (QueueFixture) async throws -> Void
  ) async throws {
    try await withDatabase(
      url, loops: loops,
      configure: {
        $0.role = role
        $0.poolSize = 8
        $0.lockTimeout = .milliseconds(500)
      }
    ) { database, group in
      try await body(QueueFixture(url: url, database: database, group: group, queue: JobQueue(database: database)))
    }
  }

  /// A registered process with a lease that does not end by itself.
  func registerWorker() async throws -> UUID {
    let id = UUID()
    var configuration = Worker.Configuration()
    configuration.lease = .seconds(3_600)
    try await database.query(WorkerLease.register(id, configuration, process: 0))
    return id
  }

  func claim(_ limit: Int = 1, for worker: UUID, queue: String = "default") async throws -> [ClaimedJob] {
    try await ClaimedJob.claim(
      ClaimedJob.Order(worker: worker, limit: limit, queue: queue, timeLimit: .seconds(300)), in: database
    ).jobs
  }

  func claimOne(for worker: UUID) async throws -> ClaimedJob { try #require(try await claim(for: worker).first) }

  func complete(_ jobs: [ClaimedJob]) async throws -> [Int64: String] {
    let runs = jobs.map { CompletedRun(id: $0.id, token: $0.token) }
    let rows = try await database.query(CompletedRun.query(runs)).decode((Int64, String).self)
    return Dictionary(rows.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
  }

  func end(_ job: ClaimedJob, _ how: String, _ error: String? = nil, after seconds: Double? = nil) async throws
    -> String
  {
    let rows = try await database.query(
      "SELECT magpie.end_run(\(job.id), \(job.token), \(how), \(error), make_interval(secs => \(seconds)))")
    return try #require(rows.first).decode(String.self)
  }

  /// One value, as the worker's role.
  func value<Value: ColumnDecodable>(_ query: Query) async throws -> Value {
    try #require(try await database.query(query).first).decode(Value.self)
  }

  /// The status of a job that must be there.
  func status(_ id: Int64) async throws -> Job.Status { try #require(try await queue.status(id)) }

  /// Scheduled jobs are due now.
  func makeDue() async throws {
    try await database.query("UPDATE magpie.job SET available_at = now() WHERE state = 'scheduled'")
  }

  func worker(
    _ handlers: [any JobHandler], notices: Notices? = nil, lease: Duration = .seconds(30), concurrency: Int = 4
  ) -> Worker {
    var configuration = Worker.Configuration()
    configuration.lease = lease
    configuration.concurrency = concurrency
    configuration.pollInterval = .milliseconds(20)
    configuration.promoteInterval = .milliseconds(20)
    return Worker(
      database: database, notices: notices, loops: group, handlers: handlers, configuration: configuration)
  }
}

/// A kind of job whose work is a closure.
struct ClosureHandler: JobHandler {
  let kind: String
  let body: @Sendable (RunningJob) async throws -> JobResult

  init(_ kind: String = "test", _ body: @escaping @Sendable (RunningJob) async throws -> JobResult) {
    self.kind = kind
    self.body = body
  }

  func run(_ job: RunningJob) async throws -> JobResult { try await body(job) }
}
/// A gate that handlers wait at until a test opens it.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
    var arrivals = 0
  }
  private let state = Mutex(State())

  /// Callers so far, those who went through included.
  var arrivals: Int { state.withLock { $0.arrivals } }

  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        state.arrivals += 1
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
