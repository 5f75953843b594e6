import CLibpq
import EventLoop
import Glibc

/// A PostgreSQL cluster of the program's own: made when it is not there, started with the program, ended with it, and
/// started again when it dies. Reachable by the Unix socket `DIRECTORY/socket` alone, which only the owner may enter.
///
/// Root cannot run PostgreSQL; under root it runs as `postgres`, or as `nobody`. The process that has the lock
/// `DIRECTORY/lock` runs the server; others that are pointed at the same directory meanwhile use it, and one of them takes
/// over when that process ends. The server gets a signal from the kernel when its owner dies, whatever killed it, and shuts
/// down in order.
public final class PrivateCluster: Sendable {
  /// One clear line that says what to do.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// The line.
    public let description: String
    init(_ description: String) { self.description = description }
  }

  /// For tests.
  public struct Options: Sendable {
    /// Whether commits wait for the disk. Without, a crash of the machine may destroy the data.
    public var isDurable = true
    /// Further settings, `name=value`.
    public var settings: [String] = []
    /// How long `start` waits until connections are taken, recovery included.
    public var startTimeout = Duration.seconds(60)
    /// All defaults.
    public init() {}
  }

  /// Role and database that `start` makes. The role may make roles and databases and is not a superuser.
  public static let owner = "magpie"
  /// Names the lock for making them among the advisory locks of database `postgres`: "owner" in ASCII.
  private static let creationLock: Int64 = 0x6F77_6E65_72
  /// `sun_path` holds 108 bytes with the closing zero.
  static let longestSocketPath = 107

  /// How long a server that ends at once is started again before `start` gives up.
  private static let patience = Duration.seconds(3)

  private let givenDirectory: String
  private let options: Options
  private let state = Lock(State())

  private struct State {
    var supervisor: Supervisor?
    var lock: Int32 = -1
    var succession: Succession?
  }

  /// Starts nothing yet.
  public init(directory: String, options: Options = Options()) {
    givenDirectory = directory
    self.options = options
  }

  /// Makes the cluster if needed, starts it, and waits until it takes connections.
  ///
  /// Removes the variables of libpq (`PGHOSTADDR`, `PGSERVICE`, …) from the process's environment: they are about other
  /// servers, and some of them no connection string can overrule.
  ///
  /// - Returns: the connection string of database and role `magpie`.
  /// - Throws: `Failure`, one clear line.
  public func start() async throws -> String {
    try await OwnThread.run { [self] in
      do { return try startBlocking() } catch let error as Failure {
        throw error
      } catch let error as PostgresError {
        throw Failure("the private cluster failed: \(error.message)")
      } catch {
        throw Failure("the private cluster failed: \(error)")
      }
    }
  }

  /// Shuts the server down, breaking off what its sessions do, and waits for its end. Nothing happens when another process
  /// runs it.
  public func stop() async {
    // First, so that nothing is started behind this.
    if let succession = state.withLock({ $0.succession.take() }) { _ = try? await OwnThread.run { succession.stop() } }
    let (supervisor, lock) = state.withLock { state in
      defer { state = State() }
      return (state.supervisor, state.lock)
    }
    if let supervisor { _ = try? await OwnThread.run { supervisor.stop() } }
    if lock >= 0 { System.close(lock) }
  }

  /// Ends the server at once, for somebody who removes its files next. Blocks.
  package func abandon() {
    state.withLock { $0.supervisor.take() }?.stop(inOrder: false)
    releaseLock()
  }

  /// The process id of the server, while it runs and this process is its owner.
  public var serverProcess: Int32? { state.withLock { $0.supervisor?.process } }

  /// A connection string for the superuser `postgres`, for tests and repairs.
  public static func superuserConnectionString(directory: String) throws -> String {
    connectionString(socket: try Files.absolute(directory) + "/socket", user: "postgres", database: "postgres")
  }

  /// With all that libpq would take from the environment otherwise and that would keep it from getting in.
  static func connectionString(socket: String, user: String, database: String) -> String {
    var quoted = ""
    for character in socket {
      if character == "'" || character == "\\" { quoted.append("\\") }
      quoted.append(character)
    }
    // libpq passes options over that are empty: those that do nothing stand for none.
    return "host='\(quoted)' port=\(ClusterLayout.port) sslmode=disable gssencmode=disable channel_binding=disable "
      + "options='-c client_encoding=UTF8' user=\(user) dbname=\(database)"
  }

  private func startBlocking() throws -> String {
    LibpqEnvironment.clear()
    try Files.makeDirectory(givenDirectory)
    let layout = try ClusterLayout(root: try Files.absolute(givenDirectory))
    if try !takeOver(layout) { try awaitSuccession(layout) }
    let superuser = try ConnectionParameters(
      PrivateCluster.connectionString(socket: layout.socket, user: "postgres", database: "postgres"),
      applicationName: nil)
    do {
      try createOwner(try waitUntilReady(superuser, layout))
    } catch {
      state.withLock { $0.succession.take() }?.stop()
      state.withLock { $0.supervisor.take() }?.stop()
      releaseLock()
      throw error
    }
    return PrivateCluster.connectionString(
      socket: layout.socket, user: PrivateCluster.owner, database: PrivateCluster.owner)
  }

  /// Runs the server, unless another process does: `false`.
  private func takeOver(_ layout: ClusterLayout) throws -> Bool {
    guard try takeLock(layout) else { return false }
    do { try launch(layout) } catch {
      releaseLock()
      throw error
    }
    return true
  }

  private func awaitSuccession(_ layout: ClusterLayout) throws {
    let succession = Succession { [weak self] in
      guard let self else { return true }
      // What fails now, such as a server that does not end, may go well the next time.
      return (try? self.takeOver(layout)) ?? false
    }
    state.withLock { $0.succession = succession }
    guard succession.start() else { throw Failure("no thread can be started for the private cluster") }
  }

  /// The lock is the kernel's, so it goes with the process that holds it, however that ends.
  private func takeLock(_ layout: ClusterLayout) throws -> Bool {
    let file = open(layout.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    if file < 0 { throw SystemError("open \(layout.lock)") }
    if flock(file, LOCK_EX | LOCK_NB) < 0 {
      System.close(file)
      return false
    }
    state.withLock { $0.lock = file }
    return true
  }

  private func releaseLock() {
    let lock = state.withLock { state in
      defer { state.lock = -1 }
      return state.lock
    }
    if lock >= 0 { System.close(lock) }
  }

  private func launch(_ layout: ClusterLayout) throws {
    let user = try layout.user()
    try layout.prepare(for: user)
    let binaries = try PostgresBinaries.find(majorVersion: layout.majorVersion)
    try layout.initialize(binaries, user: user, isDurable: options.isDurable)
    try layout.endStaleServer()
    let supervisor = Supervisor(
      program: binaries.postgres, arguments: layout.arguments(isDurable: options.isDurable, options.settings),
      user: user, log: layout.log, prepare: { layout.removeLocksOfStrangers() })
    state.withLock { $0.supervisor = supervisor }
    guard supervisor.start() else { throw Failure("no thread can be started for the private cluster") }
  }

  private func waitUntilReady(
    _ parameters: ConnectionParameters, _ layout: ClusterLayout
  ) throws -> BlockingConnection {
    let start = System.monotonicNanoseconds()
    while true {
      do throws(PostgresError) { return try BlockingConnection(parameters) } catch {
        let waited = System.monotonicNanoseconds() - start
        let failures = state.withLock { $0.supervisor?.failures } ?? 0
        // Sessions that outlive a killed server hold its memory for a moment; anything else will not get better.
        if failures >= 3, waited > PrivateCluster.patience.wholeNanoseconds {
          let reason = Files.lastLine(containing: "FATAL", of: layout.log) ?? "its log is \(layout.log)"
          throw Failure("the private cluster does not start: \(reason)")
        }
        if waited > options.startTimeout.wholeNanoseconds {
          throw Failure("the private cluster does not answer (\(error.message)); see \(layout.log)")
        }
      }
      usleep(10_000)
    }
  }

  /// Under a lock that goes with the connection: all who share the server do this, since any of them may be the first.
  private func createOwner(_ connection: BlockingConnection) throws {
    let owner = PrivateCluster.owner
    _ = try connection.query("SELECT pg_advisory_lock(\(PrivateCluster.creationLock))")
    if try connection.query("SELECT FROM pg_roles WHERE rolname = \(owner)").isEmpty {
      try connection.script("CREATE ROLE \(owner) LOGIN CREATEROLE CREATEDB")
    }
    if try connection.query("SELECT FROM pg_database WHERE datname = \(owner)").isEmpty {
      try connection.script("CREATE DATABASE \(owner) OWNER \(owner)")
    }
  }
}
