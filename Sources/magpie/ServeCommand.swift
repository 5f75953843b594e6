import CLinux
import EventLoop
import HTTP
import HTTPServer
import Magpie
import MagpieAPI
import Postgres

/// `magpie serve [--no-worker]`.
struct ServeCommand {
  let settings: Settings
  let hasWorker: Bool

  func run() async throws {
    let signals = try Signals()
    // Both ports are taken before anything else is begun, so that a second start fails at once.
    let listener = try Listener(settings.listen, of: "MAGPIE_LISTEN")
    let process = try await ServerProcess(settings)
    do {
      let group = try EventLoopGroup(count: settings.loops)
      let database = try await process.database("magpie_app", on: group)
      let notices = Notices(database: database)
      let waiter = JobWaiter(database: database, notices: notices)
      let hub = StreamHub(database: database, notices: notices, jobDocument: JobDocument.bytes)
      notices.start()
      hub.start(on: group.loops[0])
      waiter.start(on: group.loops[0])
      let publicSettings = publicSettings(listener.address)
      let accounts = Accounts(database: database, passwords: PasswordWorkers())
      let services = Services(
        settings: publicSettings, accounts: accounts,
        favorites: Favorites(database: database),
        mirror: Mirror(database: database, timeToLive: settings.timeToLive, form: publicSettings.listItemForm),
        images: Images(database: database, timeToLive: settings.timeToLive),
        refreshes: Refreshes(
          queue: JobQueue(database: database), waiter: waiter, budgets: Budgets(database: database)),
        sync: Sync(database: database), hub: hub,
        cursorKey: try await cursorKey(database))
      let counters = RequestCounters(log: process.log)
      let table = try Routes.api(services) { error, request in
        process.log.write(
          .error, "request failed", [("id", .text(request.id)), ("error", .text("\(error)"))])
      }
      let api = API(table, settings: publicSettings, accounts: accounts, hub: hub)
      let server = Server(
        group: group, listener: listener, configuration: configuration(counters, publicSettings),
        answerAtOnce: api.answerAtOnce, respond: api.respond)
      signals.hasStarted()
      try await server.start()
      let worker = hasWorker ? try await WorkerPart(process) : nil
      let admin = try await process.startAdminServer(
        on: group, isReady: { await ServerProcess.answers(database) ? await worker?.isReady ?? true : false },
        metrics: { counters.metrics(server) + StreamMetrics.of(hub) + (worker?.metrics ?? []) })
      announce(server, admin, process.log)
      await process.runUntilTold(signals, reload: { try worker?.reload() }) {
        hub.drain()
        await withTaskGroup { drains in
          drains.addTask { await server.drain(timeout: ServerProcess.drainTime) }
          drains.addTask { await worker?.drain(ServerProcess.drainTime) }
        }
        await admin.drain(timeout: .seconds(1))
        waiter.stop()
        hub.stop()
        await database.stop()
        group.stop()
      }
    } catch {
      await process.abandon()
      throw error
    }
  }

  private func publicSettings(_ address: SocketAddress) -> Services.Settings {
    var result = Services.Settings(
      publicURL: settings.publicURL(at: address), githubBases: [settings.github.base, "https://api.github.com"],
      version: Version.current)
    result.allowsSignUp = settings.allowsSignUp
    result.echoes = settings.echoes
    result.listenAddress = address
    result.trustedProxies = settings.trustedProxies
    return result
  }

  private func configuration(_ counters: RequestCounters, _ settings: Services.Settings) -> Server.Configuration {
    var configuration = Server.Configuration()
    configuration.allowsHost = ServedHosts(publicURL: settings.publicURL).contains
    let proxies = Set(settings.trustedProxies.map(\.bytes))
    configuration.countsPeer = { !$0.isLoopback && !proxies.contains($0.bytes) }
    configuration.serverName = "magpie"
    configuration.observer = counters.observer
    configuration.errorResponse = ErrorResponses.response
    return configuration
  }

  private func cursorKey(_ database: Database) async throws -> [UInt8] {
    let rows = try await database.query("SELECT s.value FROM magpie.secret s WHERE s.name = 'cursor'")
    guard let row = rows.first else { throw StartFailure("the database has no key for cursors; run magpie migrate") }
    return try row.decode([UInt8].self)
  }

  private func announce(_ server: Server, _ admin: Server, _ log: Log) {
    CommandLineInterface.write(
      """
      Magpie \(Version.current) answers at \(settings.publicURL(at: server.address))
      Health and metrics are at http://\(admin.address)
      Add an account in SQL: select admin.create_account('name');

      """, to: clinux_stdout())
    log.write(.info, "serving", [("address", .text(server.address.description))])
    if settings.echoes { log.write(.warning, "/_echo is on: anybody may have bodies sent back") }
  }
}
