import HTTPClient
import Postgres
import Testing
import Upstream
import UpstreamSimulator
import WorldSupport

@testable import Magpie

/// Runs the jobs of a world one after the other, at once, whatever they would wait for: what a worker does, without its time.
final class JobDriver: Sendable {
  private let database: Database
  private let client: HTTPClient
  private let handlers: [String: any JobHandler]
  private let worker = UUID()
  private let world: TestWorld

  /// - Parameter perPage: members a page of a walk.
  init(_ world: TestWorld, perPage: Int) async throws {
    self.world = world
    database = try await TestWorld.database(world.url, role: "magpie_worker", world.group)
    let origin = try #require(HTTPClient.Origin(world.simulator.baseURL))
    client = HTTPClient(
      loop: world.group.loops[0],
      configuration: HTTPClient.Configuration(userAgent: "magpie-test", origins: [origin], trustedOrigins: [origin]))
    let gate = GitHubGate(
      service: try #require(UpstreamService(base: world.simulator.baseURL, userAgent: "magpie-test")),
      tokens: world.options.tokens.compactMap { Upstream.Credential(token: $0) }, client: client,
      budgets: Budgets(database: database))
    try await gate.register()
    var handlers: [String: any JobHandler] = [:]
    for kind in FollowKind.allCases {
      let walk = ListRefresh(kind, gate: gate, database: database, perPage: perPage)
      let check = ChangeCheck(kind, gate: gate, database: database)
      handlers[walk.kind] = walk
      handlers[check.kind] = check
    }
    self.handlers = handlers
    var configuration = Worker.Configuration()
    configuration.lease = .seconds(3_600)
    try await database.query(WorkerLease.register(worker, configuration, process: 0))
  }

  func stop() async {
    client.stop()
    await database.stop()
  }

  /// Orders a walk, or joins the one that is not done yet.
  func order(_ kind: FollowKind, of owner: Int64) async throws {
    let queue = JobQueue(database: database)
    _ = try await queue.request(
      kind: Subject.list(kind, .id(owner)).jobKind, subject: "id:\(owner)", priority: .interactive)
  }

  /// Runs one job that waits. `nil` when there is none, else what came of it.
  @discardableResult
  func runOne() async throws -> JobResult? {
    // Neither back-off nor refusals cost time here.
    try await world.sql("UPDATE magpie.job SET state = 'available', wait_reason = NULL WHERE state = 'scheduled'")
    try await world.sql(
      """
      UPDATE magpie.credential
         SET blocked_until = '-infinity', strikes = 0, outstanding = 0, bucket = burst, bucket_at = now() - interval '1 hour'
      """)
    try await world.sql("UPDATE magpie.budget SET remaining = window_limit, reset_at = '-infinity', confirmed = false")
    let order = ClaimedJob.Order(worker: worker, limit: 1, timeLimit: .seconds(300))
    guard let claim = try await ClaimedJob.claim(order, in: database).jobs.first else { return nil }
    let job = RunningJob(claim: claim, timeLimit: .seconds(300), announce: { _ in })
    let handler = try #require(handlers[claim.kind])
    let result: JobResult
    do { result = try await handler.run(job) } catch { result = .retry(error: "\(error)") }
    switch result {
    case .done:
      if !job.isCompleted {
        try await database.query(CompletedRun.query([CompletedRun(id: job.id, token: job.runToken)]))
      }
    case .discard(let error):
      try await database.query("SELECT magpie.end_run(\(job.id), \(job.runToken), 'discard', \(error), NULL)")
    case .retry, .snooze, .yield:
      try await database.query("SELECT magpie.end_run(\(job.id), \(job.runToken), 'snooze', NULL, NULL)")
    }
    return result
  }

  /// Runs jobs until none is left.
  func runAll() async throws {
    var rounds = 0
    while try await runOne() != nil {
      rounds += 1
      try #require(rounds < 200, "jobs go on and on")
    }
  }
}

extension JobDriver {
  /// Runs one job, and lets something happen while the upstream holds a request that the job will surely make.
  func meanwhile(_ pattern: PathPattern, in world: TestWorld, _ body: () throws -> Void) async throws {
    let gate = world.simulator.hold(pattern, times: 1)
    async let result = runOne()
    await world.simulator.waitUntilHeld()
    do {
      try body()
    } catch {
      world.simulator.release(gate)
      throw error
    }
    world.simulator.release(gate)
    _ = try await result
  }
}
