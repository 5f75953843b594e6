import EventLoop
import HTTPClient
import Magpie
import MagpieAPI
import Postgres
import Upstream

/// The worker of a process: on a loop of its own, with its own connections, as the role that sees no account.
final class WorkerPart: Sendable {
  private let group: EventLoopGroup
  private let database: Database
  private let client: HTTPClient
  private let pictureClient: HTTPClient
  private let mediaClient: HTTPClient
  private let gate: GitHubGate
  private let worker: Worker
  private let budgetWatch: BudgetWatch
  private let settings: Settings

  init(_ process: ServerProcess) async throws {
    settings = process.settings
    group = try EventLoopGroup(count: 1, name: "worker")
    let concurrency = process.settings.workers
    database = try await process.database("magpie_worker", on: group) { configuration in
      configuration.poolSize = concurrency + 2
      configuration.lockTimeout = .milliseconds(500)
      configuration.statementTimeout = .seconds(10)
    }
    let origin = process.settings.githubOrigin
    client = HTTPClient(
      loop: group.loops[0],
      configuration: HTTPClient.Configuration(
        userAgent: process.settings.github.userAgent, origins: [origin],
        // The operator's own setting may point into the own network; nothing else may.
        trustedOrigins: [origin]))
    let budgets = Budgets(database: database)
    let budgetWatch = BudgetWatch(budgets, pool: GitHubGate.pool)
    self.budgetWatch = budgetWatch
    let gate = GitHubGate(
      service: process.settings.github, tokens: try Settings.credentials(process.settings.githubTokens), client: client,
      budgets: budgets)
    self.gate = gate
    try await gate.register()
    let hosts = process.settings.avatarHosts
    let agent = process.settings.github.userAgent
    pictureClient = HTTPClient(
      loop: group.loops[0], configuration: PictureGate.configuration(hosts, userAgent: agent))
    let pictures = PictureGate(hosts: hosts, userAgent: agent, client: pictureClient)
    mediaClient = HTTPClient(
      loop: group.loops[0],
      configuration: HTTPClient.Configuration(
        userAgent: agent, origins: process.settings.mediaOrigins, trustedOrigins: process.settings.mediaOrigins))
    let media = MediaRefreshes(
      photos: process.settings.photos, giphy: process.settings.giphy, giphyKey: process.settings.giphyKey,
      giphyLimit: process.settings.giphyLimit, client: mediaClient, budgets: budgets, database: database)
    try await media.register()
    var configuration = Worker.Configuration()
    configuration.concurrency = concurrency
    configuration.lease = .seconds(process.settings.leaseSeconds)
    configuration.version = Version.current
    let notices = Notices(database: database)
    worker = Worker(
      database: database, notices: notices, loops: group,
      handlers: [
        ProfileRefresh(gate: gate, database: database),
        ListRefresh(.followers, gate: gate, database: database),
        ListRefresh(.following, gate: gate, database: database),
        ChangeCheck(.followers, gate: gate, database: database),
        ChangeCheck(.following, gate: gate, database: database),
        SearchRefresh(gate: gate, database: database),
        AvatarRefresh(pictures: pictures, gate: gate, database: database),
        RepositoryRefresh(gate: gate, database: database), LanguagesRefresh(gate: gate, database: database),
        CommitsRefresh(gate: gate, database: database),
      ] + ItemListRefreshes.all(gate: gate, database: database) + media.handlers,
      duties: [
        Duty("credentials", every: .seconds(600), isForLeader: false) {
          try await gate.register()
          try await media.register()
        },
        Duty("new-credentials", every: .seconds(5), isForLeader: false) { try await gate.takeOver() },
        Duty("budgets", every: .seconds(5), isForLeader: false) { try await budgetWatch.look() },
        Duty("favorites", every: .seconds(60)) { [database] in
          _ = try await database.query("SELECT magpie.await_favorites(100)")
        },
        Duty("searches", every: .seconds(600)) { [database] in
          _ = try await database.query("SELECT magpie.sweep_searches()")
        },
        Duty("facts", every: .seconds(600)) { [database] in
          while try await database.query("SELECT magpie.sweep_facts()")[0].decode(Int.self) == 5_000 {}
        },
        Duty("gifs", every: .seconds(300)) { [database] in _ = try await database.query("SELECT magpie.sweep_gifs()") },
        Duty("pictures", every: .seconds(3_600)) { [database] in
          _ = try await database.query("SELECT magpie.sweep_images()")
        },
        Duty("deletions", every: .seconds(3_600)) { [database] in try await Sync.forgetDeletions(in: database) },
      ] + AccountDuties.all(database),
      configuration: configuration)
    notices.start()
    worker.start()
  }

  var isReady: Bool {
    get async { await ServerProcess.answers(database) }
  }

  /// Takes the tokens anew. Those of before are used until the new ones are announced: at once or, should that fail, by the duty
  /// that looks for them.
  ///
  /// - Throws: `UsageError` when the setting is wrong now, which changes nothing.
  func reload() throws {
    gate.use(try Settings.credentials(settings.githubTokens))
    let gate = gate
    let loop = group.loops[0]
    Task(executorPreference: loop) { try? await gate.takeOver() }
  }

  func drain(_ time: Duration) async {
    await worker.drain(deadline: time)
    client.stop()
    pictureClient.stop()
    mediaClient.stop()
    await database.stop()
    group.stop()
  }

  var metrics: [Health.Metric] {
    let metrics = worker.metrics
    typealias Metric = Health.Metric
    let jobs = [
      Metric("magpie_jobs_started_total", .counter, "Runs of jobs started.", value: Double(metrics.started)),
      Metric("magpie_jobs_completed_total", .counter, "Runs that ended well.", value: Double(metrics.completed)),
      Metric(
        "magpie_jobs_retried_total", .counter, "Runs that failed and are tried again.", value: Double(metrics.retried)),
      Metric("magpie_jobs_discarded_total", .counter, "Jobs given up.", value: Double(metrics.discarded)),
      Metric("magpie_jobs_snoozed_total", .counter, "Runs put off or handed on.", value: Double(metrics.snoozed)),
      Metric("magpie_jobs_lost_total", .counter, "Runs that others took over.", value: Double(metrics.lost)),
      Metric(
        "magpie_jobs_rescued_total", .counter, "Jobs taken back from dead processes.", value: Double(metrics.rescued)),
      Metric("magpie_jobs_running", .gauge, "Jobs at work now.", value: Double(metrics.running)),
      Metric(
        "magpie_worker_leader", .gauge, "Whether this process does the housekeeping.", value: metrics.isLeader ? 1 : 0),
    ]
    return jobs + budgetWatch.metrics
  }
}
