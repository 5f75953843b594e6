import EventLoop
import HTTP
import HTTPClient
import Magpie
import MagpieAPI
import Postgres
import Testing
import Upstream
import UpstreamSimulator

/// Everything there is: a simulated GitHub, a database of its own, a worker, and API servers on loopback ports.
package final class TestWorld: Sendable {
  /// What a world is like.
  package struct Options: Sendable {
    package var simulator = Simulator.Configuration()
    package var timeToLive = TimeToLive()
    /// Whether anybody may make an account.
    package var allowsSignUp = false
    /// Addresses whose `X-Forwarded-For` is believed.
    package var trustedProxies: [String] = []
    /// Where the servers say they are; `nil` for where they are.
    package var publicURL: String?
    /// What the worker shows GitHub.
    package var tokens = ["token-1"]
    /// How many API servers share the database.
    package var servers = 1
    package var hasWorker = true
    /// How many worker processes share the database.
    package var workers = 1
    /// Of the event streams.
    package var pingInterval = Duration.seconds(25)
    package var pollInterval = Duration.seconds(1)
    /// Hosts of pictures beside the simulator, as the setting names them.
    package var avatarHosts: [String] = []
    /// `nil`: the worker has none, and the relay is off.
    package var giphyKey: String?
    /// Calls an hour that the key allows.
    package var giphyLimit = 100

    /// Somebody with lists, and nothing else out of the ordinary.
    package init(_ users: Simulator.Configuration.User...) { simulator.users = users }
  }

  package let options: Options
  package let simulator: Simulator
  /// As the owner of everything, outside row-level security.
  package let owner: Database
  package let servers: [TestServer]
  package let client: HTTPClient
  package let group: EventLoopGroup
  /// The connection string, as the owner.
  package let url: String

  private init(
    _ options: Options, _ simulator: Simulator, _ owner: Database, _ servers: [TestServer], _ client: HTTPClient,
    _ group: EventLoopGroup, _ url: String
  ) {
    self.options = options
    self.simulator = simulator
    self.owner = owner
    self.servers = servers
    self.client = client
    self.group = group
    self.url = url
  }

  /// A few worlds at once: each has threads and connections of its own.
  private static let places = Places(4)

  /// Makes a world, runs `body` in it, and takes it down.
  package static func run(
    _ options: Options, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @Sendable (TestWorld) async throws -> Void
  ) async throws {
    try await places.take()
    do {
      try await build(options, body)
    } catch {
      await places.giveBack()
      throw error
    }
    await places.giveBack()
  }

  private static func build(_ options: Options, _ body: @Sendable (TestWorld) async throws -> Void) async throws {
    let url = try await Schema.database()
    let group = try EventLoopGroup(count: 1, name: "world")
    defer { group.stop() }
    let simulator = try await Simulator.start(options.simulator, on: group)
    let owner = try await database(url, role: nil, group)
    var servers: [TestServer] = []
    for _ in 0..<options.servers { servers.append(try await TestServer(url, simulator.baseURL, options)) }
    var workers: [TestWorker] = []
    for _ in 0..<(options.hasWorker ? options.workers : 0) {
      workers.append(
        try await TestWorker(
          url, simulator.baseURL, tokens: options.tokens, avatarHosts: options.avatarHosts,
          giphyKey: options.giphyKey, giphyLimit: options.giphyLimit, on: group))
    }
    let origins = servers.compactMap { HTTPClient.Origin($0.baseURL) }
    var configuration = HTTPClient.Configuration(userAgent: "test", trustedOrigins: Set(origins))
    configuration.maxTransfers = 64
    let client = HTTPClient(loop: group.loops[0], configuration: configuration)
    let world = TestWorld(options, simulator, owner, servers, client, group, url)
    var failure: (any Error)?
    do { try await body(world) } catch { failure = error }
    client.stop()
    // Held requests would keep the worker from ending.
    simulator.release()
    for worker in workers { await worker.stop() }
    for server in servers { await server.stop() }
    await owner.stop()
    await simulator.stop()
    if let failure { throw failure }
  }

  package static func database(_ url: String, role: String?, _ group: EventLoopGroup) async throws -> Database {
    var configuration = Database.Configuration(connectionString: url, role: role)
    configuration.pipelinesPerLoop = 1
    configuration.poolSize = 4
    configuration.lockTimeout = .milliseconds(500)
    configuration.statementTimeout = .seconds(10)
    let database = try Database(configuration, group: group)
    try await database.start()
    return database
  }
}

/// Lets so many in at once.
private actor Places {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  package init(_ count: Int) { free = count }

  package func take() async throws {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  package func giveBack() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
