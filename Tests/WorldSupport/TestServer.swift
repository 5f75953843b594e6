import EventLoop
import HTTP
import HTTPClient
import HTTPServer
import Magpie
import MagpieAPI
import Postgres
import Synchronization
import TestSupport
import Testing
import Upstream

/// One API process: loops, connections and listener of its own.
package final class TestServer: Sendable {
  package let baseURL: String
  package let database: Database
  /// Errors that were the server's own fault.
  package let failures = Record<String>()
  package let passwords = PasswordWorkers()
  private let group: EventLoopGroup
  private let server: Server
  private let waiter: JobWaiter
  package let hub: StreamHub
  package let table: RouteTable
  private let api: API
  /// Requests that wait for jobs now.
  package var waiting: Int { waiter.count }

  package init(_ url: String, _ upstream: String, _ options: TestWorld.Options) async throws {
    group = try EventLoopGroup(count: 1, name: "api")
    let listener = try Listener(try #require(SocketAddress("127.0.0.1:0")))
    baseURL = "http://\(listener.address)"
    database = try await TestWorld.database(url, role: "magpie_app", group)
    let notices = Notices(database: database)
    waiter = JobWaiter(database: database, notices: notices)
    var streams = StreamHub.Configuration()
    streams.pingInterval = options.pingInterval
    streams.pollInterval = options.pollInterval
    hub = StreamHub(database: database, notices: notices, configuration: streams, jobDocument: JobDocument.bytes)
    notices.start()
    hub.start(on: group.loops[0])
    waiter.start(on: group.loops[0])
    var settings = Services.Settings(
      publicURL: options.publicURL ?? baseURL, githubBases: [upstream, "https://api.github.com"], version: "test")
    settings.allowsSignUp = options.allowsSignUp
    settings.listenAddress = listener.address
    settings.trustedProxies = options.trustedProxies.compactMap { SocketAddress(host: $0, port: 0) }
    let key = try #require(
      try await database.query("SELECT s.value FROM magpie.secret s WHERE s.name = 'cursor'").first
    ).decode([UInt8].self)
    let accounts = Accounts(database: database, passwords: passwords, hashing: .least)
    let services = Services(
      settings: settings, accounts: accounts,
      favorites: Favorites(database: database),
      mirror: Mirror(database: database, timeToLive: options.timeToLive, form: settings.listItemForm),
      images: Images(database: database, timeToLive: options.timeToLive),
      refreshes: Refreshes(
        queue: JobQueue(database: database), waiter: waiter, budgets: Budgets(database: database)),
      sync: Sync(database: database), hub: hub,
      cursorKey: key)
    let failures = failures
    table = try Routes.api(services) { error, _ in failures.add("\(error)") }
    var configuration = Server.Configuration()
    configuration.errorResponse = ErrorResponses.response
    api = API(table, settings: settings, accounts: accounts, hub: hub)
    server = Server(
      group: group, listener: listener, configuration: configuration, respond: api.respond)
    try await server.start()
  }

  /// Asks the API without a socket.
  package func call(_ method: Method, _ target: String, as token: String, body: String? = nil) async throws -> Answer {
    let loop = group.loops[0]
    return try await loop.run { [api] in
      let request = try Request(
        method, target, [.authorization: "Bearer \(token)"], body: Array((body ?? "").utf8), loop: loop)
      let response = await api.respond(to: request)
      var bytes: [UInt8] = []
      if case .bytes(let body) = response.body { bytes = body }
      return Answer(status: response.status.code, fields: response.fields, body: bytes)
    }
  }

  package func stop() async {
    hub.drain()
    await server.drain(timeout: .seconds(1))
    waiter.stop()
    hub.stop()
    await database.stop()
    group.stop()
  }
}

/// One worker process, on the loops of a group.
package final class TestWorker: Sendable {
  package let gate: GitHubGate
  package let worker: Worker
  private let database: Database
  private let client: HTTPClient
  private let pictureClient: HTTPClient
  private let mediaClient: HTTPClient

  package init(
    _ url: String, _ upstream: String, tokens: [String], avatarHosts: [String] = [], giphyKey: String? = nil,
    giphyLimit: Int = 100, on group: EventLoopGroup
  ) async throws {
    database = try await TestWorld.database(url, role: "magpie_worker", group)
    let origin = try #require(HTTPClient.Origin(upstream))
    client = HTTPClient(
      loop: group.loops[0],
      configuration: HTTPClient.Configuration(userAgent: "magpie-test", origins: [origin], trustedOrigins: [origin]))
    let budgets = Budgets(database: database)
    let service = try #require(UpstreamService(base: upstream, userAgent: "magpie-test"))
    gate = GitHubGate(
      service: service,
      tokens: tokens.compactMap { Upstream.Credential(token: $0) }, client: client, budgets: budgets)
    try await gate.register()
    // The simulator's pictures, and those of whoever a test sets beside it.
    let hosts = try #require(PictureHosts([upstream] + avatarHosts))
    pictureClient = HTTPClient(
      loop: group.loops[0], configuration: PictureGate.configuration(hosts, userAgent: "magpie-test"))
    let pictures = PictureGate(hosts: hosts, userAgent: "magpie-test", client: pictureClient)
    mediaClient = HTTPClient(
      loop: group.loops[0],
      configuration: HTTPClient.Configuration(userAgent: "magpie-test", origins: [origin], trustedOrigins: [origin]))
    let media = MediaRefreshes(
      photos: service, giphy: service, giphyKey: giphyKey.flatMap { Upstream.Credential(token: $0) },
      giphyLimit: giphyLimit, client: mediaClient, budgets: budgets, database: database)
    try await media.register()
    var configuration = Worker.Configuration()
    configuration.pollInterval = .milliseconds(100)
    configuration.promoteInterval = .milliseconds(20)
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
      ] + ItemListRefreshes.all(gate: gate, database: database) + media.handlers, configuration: configuration)
    notices.start()
    worker.start()
  }

  package func stop() async {
    await worker.drain(deadline: .seconds(2))
    client.stop()
    pictureClient.stop()
    mediaClient.stop()
    await database.stop()
  }
}
