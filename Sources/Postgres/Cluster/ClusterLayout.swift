import EventLoop
import Glibc

/// Where a private cluster keeps what, and whose it is.
struct ClusterLayout {
  /// Names the socket; nothing listens on a port.
  static let port = 5432

  /// Absolute, without symbolic links.
  let root: String

  var data: String { root + "/data" }
  var socket: String { root + "/socket" }
  var lock: String { root + "/lock" }
  var log: String { root + "/postgres.log" }
  /// PostgreSQL's own locks, each with the number of its process in the first line.
  var dataLock: String { data + "/postmaster.pid" }
  var socketLock: String { socketFile + ".lock" }
  private var socketFile: String { socket + "/.s.PGSQL.\(ClusterLayout.port)" }

  /// - Throws: `PrivateCluster.Failure` when the socket's path would be too long.
  init(root: String) throws {
    self.root = root
    let path = socketFile
    if path.utf8.count > PrivateCluster.longestSocketPath {
      throw PrivateCluster.Failure(
        "\(root) is too long for a Unix socket (\(path.utf8.count) bytes, at most \(PrivateCluster.longestSocketPath)): "
          + "set MAGPIE_DATA to a shorter path")
    }
  }

  /// The version of existing data; `nil` when there is none.
  var majorVersion: Int? { Files.read(data + "/PG_VERSION").flatMap { Int($0.trimmingNewlines) } }

  /// Who runs the server: the present user, or, for root, who owns the data, else `postgres`, else `nobody`.
  func user() throws -> ChildProcess.User? {
    guard geteuid() == 0 else { return nil }
    if let owner = Files.status(data)?.st_uid, owner != 0, let entry = getpwuid(owner) { return User(entry) }
    for name in ["postgres", "nobody"] {
      if let entry = getpwnam(name), entry.pointee.pw_uid != 0 { return User(entry) }
    }
    throw PrivateCluster.Failure("root cannot run PostgreSQL, and there is neither a user `postgres` nor `nobody`")
  }

  private typealias User = ChildProcess.User

  /// Makes the socket's directory and checks that the server's user can get there.
  func prepare(for user: ChildProcess.User?) throws {
    try requireTraversable(by: user)
    try makeOwned(socket, user)
  }

  private func makeOwned(_ directory: String, _ user: ChildProcess.User?) throws {
    if mkdir(directory, 0o700) < 0, errno != EEXIST { throw SystemError("mkdir \(directory)") }
    if let user, chown(directory, user.id, user.group) < 0 { throw SystemError("chown \(directory)") }
    if chmod(directory, 0o700) < 0 { throw SystemError("chmod \(directory)") }
  }

  private func requireTraversable(by user: ChildProcess.User?) throws {
    guard let user else { return }
    var path = root
    while true {
      if let status = Files.status(path.isEmpty ? "/" : path) {
        let bit: mode_t = status.st_uid == user.id ? 0o100 : status.st_gid == user.group ? 0o010 : 0o001
        if status.st_mode & bit == 0 {
          throw PrivateCluster.Failure(
            "PostgreSQL runs as user `\(user.name)`, who may not enter \(path.isEmpty ? "/" : path): "
              + "set MAGPIE_DATA to a directory outside of it, or allow it with `chmod o+x \(path)`")
        }
      }
      guard let slash = path.lastIndex(of: "/") else { return }
      path = String(path[..<slash])
    }
  }

  /// Makes the data when there is none. It appears under its name only when it is complete.
  func initialize(_ binaries: PostgresBinaries, user: ChildProcess.User?, isDurable: Bool) throws {
    if majorVersion != nil { return }
    if !Files.names(in: data).isEmpty {
      throw PrivateCluster.Failure("\(data) is neither empty nor a PostgreSQL data directory")
    }
    // Left by those that ended while they made theirs. The initdb of one may still be about to remove it, so names differ.
    for name in Files.names(in: root) where name.hasPrefix("data.new-") { Files.remove("\(root)/\(name)") }
    let unfinished = "\(data).new-\(String(UInt32.random(in: 0...UInt32.max), radix: 36))"
    try makeOwned(unfinished, user)
    var arguments = [
      "--pgdata=\(unfinished)", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--lc-collate=C",
      "--lc-ctype=C.UTF-8", "--lc-messages=C",
    ]
    if !isDurable { arguments.append("--no-sync") }
    let answer = try ChildProcess.run(binaries.initdb, arguments, user: user)
    guard answer.status == 0 else {
      let reason = answer.output.split(separator: "\n").last { $0.contains("error") } ?? "status \(answer.status)"
      throw PrivateCluster.Failure("initdb failed: \(reason)")
    }
    rmdir(data)
    if rename(unfinished, data) < 0 { throw SystemError("rename \(unfinished)") }
  }

  /// Ends a server that an earlier owner left behind. It gets the same signal from the kernel when its owner dies, so
  /// usually it is on its way out already.
  func endStaleServer() throws {
    for (signal, seconds) in [(SIGINT, 30), (SIGQUIT, 10), (SIGKILL, 5)] {
      guard let process = runningServer else { return }
      kill(process, signal)
      let deadline = System.monotonicNanoseconds() + UInt64(seconds) * 1_000_000_000
      while runningServer == process, System.monotonicNanoseconds() < deadline { usleep(10_000) }
    }
    if runningServer != nil {
      throw PrivateCluster.Failure("a server left behind on \(data) does not end")
    }
  }

  /// The server that holds the data, if it lives and really is this cluster's: its working directory is the data. Other
  /// processes may have got its number since.
  private var runningServer: pid_t? {
    guard let process = holder(of: dataLock), process > 1, kill(process, 0) == 0 || errno == EPERM,
      Files.link("/proc/\(process)/cwd") == data
    else { return nil }
    return process
  }

  private func holder(of file: String) -> pid_t? {
    Files.read(file)?.split(separator: "\n").first.flatMap { pid_t($0) }
  }

  /// Removes PostgreSQL's locks whose number a stranger has got since, as after a restart of the machine: to PostgreSQL any
  /// live process of its user holds them, for ever. Locks of the dead are left to it, since it looks for sessions that
  /// still have the dead server's memory then.
  ///
  /// For the owner of the cluster's lock, while it runs no server.
  func removeLocksOfStrangers() {
    let held = [dataLock, socketLock].filter { file in
      guard let process = holder(of: file), process > 0 else { return false }
      return kill(process, 0) == 0
    }
    guard !held.isEmpty, !isDataInUse else { return }
    for file in held { unlink(file) }
  }

  /// Whether a process is at work in the data: a server, or a session that has outlived its server.
  private var isDataInUse: Bool {
    let owner = Files.status(data)?.st_uid
    return Files.names(in: "/proc").contains { name in
      guard pid_t(name) != nil else { return false }
      if let directory = Files.link("/proc/\(name)/cwd") { return directory == data }
      // Root of a container may not look there. Whose a process is and what it is called everybody may see; one that has ended
      // and is still listed has no such words.
      return Files.status("/proc/\(name)")?.st_uid == owner
        && Files.read("/proc/\(name)/cmdline")?.contains("postgres") == true
    }
  }

  /// What the server is started with.
  func arguments(isDurable: Bool, _ further: [String]) -> [String] {
    var settings = [
      "listen_addresses=", "port=\(ClusterLayout.port)", "unix_socket_directories=\(socket.quotedForList)",
      "unix_socket_permissions=0700",
      "max_connections=100", "shared_buffers=128MB", "jit=off", "autovacuum_naptime=5s",
      // Parameters can be secrets.
      "log_parameter_max_length=0", "log_parameter_max_length_on_error=0", "log_statement=none",
      "log_min_duration_statement=-1", "log_line_prefix=%m [%p] ",
    ]
    if !isDurable { settings += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"] }
    return ["-D", data] + (settings + further).flatMap { ["-c", $0] }
  }
}

extension ChildProcess.User {
  fileprivate init(_ entry: UnsafeMutablePointer<passwd>) {
    self.init(
      name: String(cString: entry.pointee.pw_name), id: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
  }
}

extension String {
  /// `unix_socket_directories` is a comma-separated list of names that may be quoted.
  fileprivate var quotedForList: String { SessionSetup.quoted(identifier: self) }
}
