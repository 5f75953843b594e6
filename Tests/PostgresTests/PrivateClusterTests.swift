import EventLoop
import Glibc
import TestSupport
import Testing

@testable import Postgres

@Suite struct PrivateClusterTests {
  /// A directory of its own under `/tmp`, named after this process, so that a later run removes what a killed one left.
  private func withDirectory(_ name: String, _ body: (String) async throws -> Void) async throws {
    let directory = "/tmp/magpie-test-\(name)-\(getpid())"
    defer { Files.remove(directory) }
    try await body(directory)
  }

  private func cluster(_ directory: String, isDurable: Bool = false) -> PrivateCluster {
    var options = PrivateCluster.Options()
    options.isDurable = isDurable
    options.settings = ["shared_buffers=16MB", "max_connections=20"]
    return PrivateCluster(directory: directory, options: options)
  }

  /// Makes a cluster whose server has ended, and says what it takes to start a server for it by hand.
  private func ended(
    _ directory: String
  ) async throws -> (layout: ClusterLayout, user: ChildProcess.User?, program: String) {
    let cluster = cluster(directory)
    _ = try await cluster.start()
    await cluster.stop()
    let layout = try ClusterLayout(root: directory)
    return (layout, try layout.user(), try PostgresBinaries.find(majorVersion: layout.majorVersion).postgres)
  }

  @Test func survivesTheEndOfItsServerAndKeepsItsData() async throws {
    try await withDirectory("killed") { directory in
      let cluster = cluster(directory, isDurable: true)
      let url = try await cluster.start()
      #expect(
        url == PrivateCluster.connectionString(socket: "\(directory)/socket", user: "magpie", database: "magpie"))
      try await withDatabase(url) { database in
        let facts = try await database.query(
          """
          SELECT current_user, pg_get_userbyid(datdba), rolsuper, rolcreaterole, current_setting('listen_addresses'),
                 lower('ÄÉ'), current_setting('jit')
          FROM pg_database JOIN pg_roles ON rolname = current_user WHERE datname = current_database()
          """)
        #expect((0..<7).map { facts[0][$0] } == ["magpie", "magpie", "f", "t", "", "äé", "off"])
        try await database.query("CREATE TABLE kept AS SELECT 1 AS id")
        let server = try #require(cluster.serverProcess)
        kill(server, SIGKILL)
        // Sessions of the old server may answer for a moment after its end.
        try await eventually { cluster.serverProcess.map { $0 != server } ?? false }
        try await eventually { (try? await database.column(Int.self, "SELECT id FROM kept")) == [1] }
      }
      await cluster.stop()
      #expect(cluster.serverProcess == nil)
      #expect(!Files.exists(directory + "/data/postmaster.pid"))
      // The same data, next time.
      let again = self.cluster(directory, isDurable: true)
      #expect(try await column(Int.self, "SELECT id FROM kept", of: again.start()) == [1])
      await again.stop()
    }
  }

  @Test func secondUserOfADirectorySharesTheServer() async throws {
    try await withDirectory("shared") { directory in
      let first = cluster(directory)
      let second = cluster(directory)
      let url = try await first.start()
      #expect(try await second.start() == url)
      #expect(second.serverProcess == nil)
      await second.stop()
      #expect(try await column(Int.self, "SELECT 1", of: url) == [1])
      await first.stop()
    }
  }

  @Test func secondUserTakesTheServerOverWhenTheFirstEnds() async throws {
    try await withDirectory("heir") { directory in
      let first = cluster(directory, isDurable: true)
      let second = cluster(directory, isDurable: true)
      let url = try await first.start()
      _ = try await second.start()
      try await withDatabase(url) { database in
        try await database.query("CREATE TABLE kept AS SELECT 1 AS id")
        await first.stop()
        #expect(first.serverProcess == nil)
        try await eventually { second.serverProcess != nil }
        try await eventually { (try? await database.column(Int.self, "SELECT id FROM kept")) == [1] }
      }
      await second.stop()
      #expect(second.serverProcess == nil)
      #expect(!Files.exists(directory + "/data/postmaster.pid"))
    }
  }

  @Test func usersWhoStartAtOnceShareOneServer() async throws {
    try await withDirectory("rush") { directory in
      let clusters = (0..<4).map { _ in cluster(directory) }
      let urls = try await withThrowingTaskGroup(of: String.self) { tasks in
        for cluster in clusters { tasks.addTask { try await cluster.start() } }
        return try await tasks.reduce(into: Set()) { $0.insert($1) }
      }
      let url = try #require(urls.first)
      #expect(urls.count == 1)
      #expect(clusters.filter { $0.serverProcess != nil }.count == 1)
      #expect(try await column(Int.self, "SELECT 1", of: url) == [1])
      for cluster in clusters { await cluster.stop() }
      #expect(!Files.exists(directory + "/data/postmaster.pid"))
    }
  }

  @Test func serverLeftBehindIsEndedAndReplaced() async throws {
    try await withDirectory("stale") { directory in
      let (layout, user, program) = try await ended(directory)
      // As an earlier owner would have left it: running, with nobody holding the lock.
      let left = try ChildProcess.start(
        program, layout.arguments(isDurable: false, []), user: user, output: STDERR_FILENO)
      // Reaped when it ends, as init would do for an orphan.
      let reaper = Task.detached { try? await OwnThread.run { ChildProcess.wait(left) } }
      try await eventually { Files.exists(layout.socket + "/.s.PGSQL.5432.lock") }
      let second = cluster(directory)
      let url = try await second.start()
      #expect(await reaper.value == 0)
      #expect(try await column(Int.self, "SELECT 1", of: url) == [1])
      await second.stop()
    }
  }

  /// Starts a program that only waits, and ends it after `body`.
  private func withProcess(
    _ path: String, _ arguments: [String], user: ChildProcess.User?, _ body: (pid_t) async throws -> Void
  ) async throws {
    let process = try ChildProcess.start(path, arguments, user: user, output: STDERR_FILENO)
    defer {
      kill(process, SIGKILL)
      _ = ChildProcess.wait(process)
    }
    try await body(process)
  }

  private func write(_ process: pid_t, to path: String) throws {
    let file = try #require(fopen(path, "we"))
    fputs("\(process)\n", file)
    fclose(file)
  }

  @Test func locksWhoseNumberAStrangerHasDoNotKeepItDown() async throws {
    try await withDirectory("reused") { directory in
      let (layout, user, _) = try await ended(directory)
      // Of the server's user: a process that it may not send signals to would be no obstacle.
      try await withProcess("/bin/sleep", ["600"], user: user) { stranger in
        for lock in [layout.dataLock, layout.socketLock] { try write(stranger, to: lock) }
        let again = cluster(directory)
        #expect(try await column(Int.self, "SELECT 1", of: again.start()) == [1])
        // It lives: there is nothing to be waited for.
        #expect(waitpid(stranger, nil, WNOHANG) == 0)
        await again.stop()
      }
      #expect(!Files.exists(layout.dataLock))
    }
  }

  @Test func locksAreLeftWhileSomebodyIsAtWorkInTheDataAndWhenTheirHoldersAreDead() async throws {
    try await withDirectory("held") { directory in
      let layout = try ClusterLayout(root: directory)
      for path in [layout.data, layout.socket] { try Files.makeDirectory(path) }
      for lock in [layout.dataLock, layout.socketLock] { try write(getpid(), to: lock) }
      try await withProcess("/bin/sh", ["-c", "cd '\(layout.data)' && exec sleep 600"], user: nil) { session in
        try await eventually { Files.link("/proc/\(session)/cwd") == layout.data }
        layout.removeLocksOfStrangers()
        #expect(Files.exists(layout.dataLock) && Files.exists(layout.socketLock))
      }
      // No process has so high a number.
      try write(pid_t.max, to: layout.dataLock)
      layout.removeLocksOfStrangers()
      #expect(Files.exists(layout.dataLock))
      #expect(!Files.exists(layout.socketLock))
    }
  }

  @Test func serverEndsWhenTheThreadThatStartedItEnds() async throws {
    try await withDirectory("orphan") { directory in
      let (layout, user, program) = try await ended(directory)
      let server = try await OwnThread.run {
        let server = try ChildProcess.start(
          program, layout.arguments(isDurable: false, []), user: user, output: STDERR_FILENO, deathSignal: SIGINT)
        // Signals sent before the server has its handlers would end it as well, but not in order.
        while !Files.exists(layout.socket + "/.s.PGSQL.5432.lock") { usleep(5_000) }
        return server
      }
      #expect(try await OwnThread.run { ChildProcess.wait(server) } == 0)
      #expect(!Files.exists(layout.data + "/postmaster.pid"))
    }
  }

  @Test func serverThatCannotStartSaysWhy() async throws {
    try await withDirectory("broken") { directory in
      var options = PrivateCluster.Options()
      options.isDurable = false
      options.settings = ["shared_buffers=never"]
      let failure = await #expect(throws: PrivateCluster.Failure.self) {
        try await PrivateCluster(directory: directory, options: options).start()
      }
      let reason = "FATAL:  invalid value for parameter \"shared_buffers\": \"never\""
      #expect(failure?.description.hasSuffix(reason) == true, "\(String(describing: failure))")
      // The lock is free again.
      let url = try await cluster(directory).start()
      #expect(url.contains("dbname=magpie"))
    }
  }

  @Test func nothingThatFindsTheServerIsLeftToTheEnvironment() throws {
    let string = PrivateCluster.connectionString(socket: "/d/it's/socket", user: "magpie", database: "magpie")
    #expect(
      string == "host='/d/it\\'s/socket' port=5432 sslmode=disable gssencmode=disable channel_binding=disable "
        + "options='-c client_encoding=UTF8' user=magpie dbname=magpie")
    let parameters = try ConnectionParameters(string, applicationName: nil)
    let passed = parameters.withArrays(attempt: 0) { keywords, values in
      var passed: [String: String] = [:]
      var index = 0
      while let keyword = keywords[index], let value = values[index] {
        passed[String(cString: keyword)] = String(cString: value)
        index += 1
      }
      return passed
    }
    #expect(passed["host"] == "/d/it's/socket")
    #expect(passed["port"] == "5432")
    #expect(try ClusterLayout(root: "/d").arguments(isDurable: true, []).contains("port=5432"))
    #expect(try ClusterLayout(root: "/d").socketLock == "/d/socket/.s.PGSQL.5432.lock")
  }

  @Test func whatNoConnectionStringCanOverruleIsClearedFromTheEnvironment() {
    let variables = Set(LibpqEnvironment.variables)
    #expect(
      variables.isSuperset(of: [
        "PGSERVICE", "PGHOSTADDR", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGOPTIONS", "PGSSLMODE",
        "PGREQUIREPEER", "PGCHANNELBINDING", "PGGSSENCMODE", "PGTARGETSESSIONATTRS", "PGTZ", "PGDATESTYLE", "PGGEQO",
      ]))
    #expect(variables.allSatisfy { $0.hasPrefix("PG") })
  }

  @Test func pathThatIsTooLongForASocketIsRefused() throws {
    let longest = "/" + String(repeating: "d", count: 107 - "//socket/.s.PGSQL.5432".utf8.count)
    #expect(try ClusterLayout(root: longest).socket.utf8.count == 93)
    #expect(throws: PrivateCluster.Failure.self) { try ClusterLayout(root: longest + "d") }
  }

  @Test func foreignDataIsNotTouched() async throws {
    try await withDirectory("foreign") { directory in
      try Files.makeDirectory(directory + "/data/precious")
      let failure = await #expect(throws: PrivateCluster.Failure.self) { try await self.cluster(directory).start() }
      #expect(
        failure?.description == "\(directory)/data is neither empty nor a PostgreSQL data directory")
      #expect(Files.exists(directory + "/data/precious"))
    }
  }

  @Test(.enabled(if: geteuid() == 0))
  func closedParentIsNamed() async throws {
    try await withDirectory("closed") { directory in
      try Files.makeDirectory(directory, mode: 0o700)
      let failure = await #expect(throws: PrivateCluster.Failure.self) {
        try await self.cluster(directory + "/inner").start()
      }
      #expect(failure?.description.contains("may not enter \(directory):") == true)
    }
  }
}
