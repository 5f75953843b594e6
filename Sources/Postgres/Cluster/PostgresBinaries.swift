import EventLoop
import Glibc

/// The server's programs of one PostgreSQL version on this machine.
struct PostgresBinaries: Equatable {
  /// Where `postgres` and `initdb` are.
  let directory: String
  /// Such as 15.
  let majorVersion: Int

  /// The first that knows views with the rights of whoever asks.
  static let oldestVersion = 15

  var postgres: String { directory + "/postgres" }
  var initdb: String { directory + "/initdb" }

  /// Looks where `pg_config` says, in Debian's `/usr/lib/postgresql`, and in PATH; the newest version is preferred, or the
  /// one that existing data needs.
  ///
  /// - Throws: `PrivateCluster.Failure` that says what to install.
  static func find(majorVersion wanted: Int?) throws -> PostgresBinaries {
    let found = candidates().compactMap(PostgresBinaries.init(directory:)).sorted { $0.majorVersion > $1.majorVersion }
    if let wanted {
      if let match = found.first(where: { $0.majorVersion == wanted }) { return match }
      throw PrivateCluster.Failure("the data is of PostgreSQL \(wanted), whose server is not installed here")
    }
    guard let newest = found.first else {
      throw PrivateCluster.Failure("no PostgreSQL server found: install the package `postgresql`, or set DATABASE_URL")
    }
    guard newest.majorVersion >= oldestVersion else {
      throw PrivateCluster.Failure("PostgreSQL \(newest.majorVersion) is too old: \(oldestVersion) or newer is needed")
    }
    return newest
  }

  private init?(directory: String) {
    self.directory = directory
    guard access(directory + "/postgres", X_OK) == 0, access(directory + "/initdb", X_OK) == 0,
      let answer = try? ChildProcess.run(directory + "/postgres", ["--version"]), answer.status == 0,
      // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
      let number = answer.output.split(separator: " ").dropFirst(2).first?.prefix(while: \.isNumber),
      let version = Int(number)
    else { return nil }
    majorVersion = version
  }

  private static func candidates() -> [String] {
    var directories: [String] = []
    for directory in Files.names(in: "/usr/lib/postgresql") {
      directories.append("/usr/lib/postgresql/\(directory)/bin")
    }
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
    for directory in path.split(separator: ":").map(String.init) where directory.hasPrefix("/") {
      directories.append(directory)
      let configure = directory + "/pg_config"
      if access(configure, X_OK) == 0, let answer = try? ChildProcess.run(configure, ["--bindir"]), answer.status == 0 {
        directories.append(answer.output.trimmingNewlines)
      }
    }
    var seen: Set<String> = []
    return directories.filter { seen.insert($0).inserted }
  }
}
