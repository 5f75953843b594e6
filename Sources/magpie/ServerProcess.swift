import EventLoop
import HTTP
import HTTPClient
import HTTPServer
import Magpie
import MagpieAPI
import MagpieSchema
import Postgres
import Synchronization
import Upstream

/// What `serve` and `work` have in common: log, database, migrations, the admin listener, and the end in good order.
final class ServerProcess: Sendable {
  /// How long requests and jobs under way may take when the process is told to end.
  static let drainTime = Duration.seconds(25)

  let settings: Settings
  let log: Log
  let connectionString: String
  private let adminListener: Listener
  private let cluster: PrivateCluster?
  private let isDraining = Atomic(false)

  /// Takes the admin port, starts the private cluster if there is to be one, and migrates if that is wanted.
  init(_ settings: Settings) async throws {
    self.settings = settings
    adminListener = try Listener(settings.adminListen, of: "MAGPIE_ADMIN_LISTEN")
    log = try Log(settings.log, settings.logLevel)
    try log.start()
    System.raiseDescriptorLimit()
    if let url = settings.databaseURL {
      cluster = nil
      connectionString = url
    } else {
      let cluster = PrivateCluster(directory: settings.data)
      self.cluster = cluster
      connectionString = try await cluster.start()
    }
    do {
      if settings.migrates {
        try await Migrator.migrate(
          connectionString: settings.migrateURL ?? connectionString, migrations: Migrations.all,
          repeatable: Migrations.repeatable)
      } else {
        let state = try await Migrator.check(
          connectionString: connectionString, migrations: Migrations.all, repeatable: Migrations.repeatable)
        if state != .current { throw StartFailure("the schema is older than this program; run magpie migrate") }
      }
    } catch {
      await cluster?.stop()
      throw error
    }
  }

  /// A connection to the database on the loops of a group, as one of the schema's roles.
  func database(_ role: String, on group: EventLoopGroup, _ adjust: (inout Database.Configuration) -> Void = { _ in })
    async throws -> Database
  {
    var configuration = Database.Configuration(connectionString: connectionString, role: role)
    configuration.applicationName = role.replacingUnderscores
    adjust(&configuration)
    let database = try Database(configuration, group: group)
    try await database.start()
    return database
  }

  /// Whether a database does what it is asked, soon, and has the schema that this program was made for, or a later one.
  /// Connections that are up say little: those of a server that is frozen, or behind a broken network, stay up for long.
  static func answers(_ database: Database) async -> Bool {
    let newest = Migrations.all.last?.name ?? ""
    let found = try? await database.query(
      "SELECT FROM magpie.migration m WHERE m.name = \(newest)", timeout: .seconds(1))
    return found?.isEmpty == false
  }

  /// The admin listener.
  func startAdminServer(
    on group: EventLoopGroup, isReady: @escaping @Sendable () async -> Bool,
    metrics: @escaping @Sendable () -> [Health.Metric]
  ) async throws -> Server {
    let health = Health(
      isReady: { [self] in isDraining.load(ordering: .relaxed) ? false : await isReady() }, numbers: metrics)
    let table = try Routes.admin(health)
    var configuration = Server.Configuration()
    // Elsewhere it is for a network that has its own names, and its own guards.
    if adminListener.address.isLoopback { configuration.allowsHost = ServedHosts(publicURL: nil).contains }
    let server = Server(group: group, listener: adminListener, configuration: configuration, respond: table.respond)
    try await server.start()
    return server
  }

  /// Waits for SIGTERM or SIGINT, then calls `drain` and ends what `init` has begun.
  func runUntilTold(_ signals: Signals, reload: @Sendable () throws -> Void, drain: () async -> Void) async {
    for await event in signals.events {
      if event == .terminate { break }
      do {
        try reload()
        log.write(.info, "tokens read again")
      } catch {
        log.write(.error, "tokens not read again", [("error", .text("\(error)"))])
      }
    }
    log.write(.info, "ending")
    isDraining.store(true, ordering: .relaxed)
    await drain()
    await cluster?.stop()
    log.write(.info, "ended")
    log.finish()
  }

  /// Takes back what was started before a failure.
  func abandon() async {
    await cluster?.stop()
    log.finish()
  }
}

extension String {
  fileprivate var replacingUnderscores: String { String(map { $0 == "_" ? "-" : $0 }) }
}
