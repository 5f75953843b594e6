import EventLoop
import Glibc
import Postgres
import Synchronization

/// One throw-away PostgreSQL cluster a test process, without fsync, in a directory that is removed when the process ends.
/// Directories of processes that died before that are removed by the next one.
public final class TestCluster: Sendable {
  /// The cluster's directory, in memory where there is room for a run's databases, and else under `/tmp`.
  public let directory: String
  private let cluster: PrivateCluster
  private let nextNumber = Atomic<Int>(0)

  private static let prefix = "magpie-test-"
  private static let starting = Task { try await TestCluster() }
  /// Told to `atexit`, whose function cannot capture anything.
  private static let running = Lock<TestCluster?>(nil)

  /// The cluster of this process, started on first use.
  public static func shared() async throws -> TestCluster { try await starting.value }

  /// Makes an empty database of the shared cluster, or a copy of another of its databases that nobody is connected to.
  ///
  /// - Returns: the connection string, as role `magpie`, who owns the database.
  public static func database(template: String? = nil) async throws -> String {
    try await shared().makeDatabase(template: template)
  }

  /// As `postgres`, who may do anything, in database `postgres` unless told otherwise.
  public func superuser(database: String = "postgres") -> String {
    "host=\(directory)/socket user=postgres dbname=\(database)"
  }

  /// The name of the database that a connection string of `database()` names.
  public static func name(of connectionString: String) -> String {
    connectionString.split(separator: "dbname=").last.map(String.init) ?? ""
  }

  private init() async throws {
    TestCluster.removeStale()
    let parent = TestCluster.hasMemory ? TestCluster.parents[0] : TestCluster.parents[1]
    directory = "\(parent)/\(TestCluster.prefix)\(getpid())"
    var options = PrivateCluster.Options()
    options.isDurable = false
    // With hundreds of databases a cleaner would come by ten times a second, and no test lives to see the next.
    options.settings = ["max_connections=400", "shared_buffers=64MB", "autovacuum_naptime=1h"]
    cluster = PrivateCluster(directory: directory, options: options)
    _ = try await cluster.start()
    let superuser = "host=\(directory)/socket user=postgres dbname=postgres"
    var configuration = Database.Configuration(connectionString: superuser)
    configuration.pipelinesPerLoop = 1
    configuration.poolSize = 1
    configuration.poolWaitTimeout = .seconds(120)
    creation = try Database(configuration, group: EventLoopGroup(count: 1, name: "cluster"))
    try await creation.start()
    TestCluster.running.withLock { $0 = self }
    atexit { TestCluster.removeAtExit() }
  }

  /// `create database` copies a template: one at a time, all on one connection.
  private let creation: Database

  private func makeDatabase(template: String?) async throws -> String {
    let name = "test_\(nextNumber.add(1, ordering: .relaxed).newValue)"
    let source = template ?? "template1"
    try await creation.pooledQuery(
      Query(unsafe: "CREATE DATABASE \"\(name)\" OWNER magpie TEMPLATE \"\(source)\""))
    return "host=\(directory)/socket user=magpie dbname=\(name)"
  }

  /// The cluster dies with the process by itself; its files do not.
  private static func removeAtExit() {
    guard let cluster = running.withLock({ $0.take() }) else { return }
    cluster.cluster.abandon()
    Files.remove(cluster.directory)
  }

  private static func removeStale() {
    for parent in parents {
      for name in Files.names(in: parent) where name.hasPrefix(prefix) {
        guard let process = name.split(separator: "-").last.flatMap({ pid_t($0) }) else { continue }
        if kill(process, 0) != 0, errno == ESRCH { Files.remove("\(parent)/\(name)") }
      }
    }
  }

  private static let parents = ["/dev/shm", "/tmp"]

  /// Whether a run's databases fit into `/dev/shm` without crowding out the tests. Each has hundreds of files, and there are
  /// hundreds of databases: on a disk, to make the files takes a tenth of the run, and to remove them half a minute more.
  private static var hasMemory: Bool {
    let needed = 12 << 30
    var files = statvfs()
    guard statvfs(parents[0], &files) == 0, Int(files.f_bavail) * Int(files.f_frsize) >= needed else { return false }
    let available = Files.read("/proc/meminfo")?.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
    let kilobytes = available?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (kilobytes ?? 0) << 10 >= needed
  }
}
