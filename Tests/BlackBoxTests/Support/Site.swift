import EventLoop
import Glibc
import Postgres
import Synchronization
import TestSupport
import Testing

/// One test's place: a directory, a loop for its clients, and the programs it has started, all gone when the test ends.
final class Site: Sendable {
  /// Under `/tmp`, where the user `postgres` may go too.
  let directory: String
  let loop: EventLoop
  private let programs = Mutex<[Program]>([])

  private static let counter = Atomic(0)
  /// Sites at once: each has several processes.
  private static let places = Places(3)

  private init(loop: EventLoop) throws {
    self.loop = loop
    directory = "/tmp/magpie-blackbox-\(getpid())-\(Site.counter.add(1, ordering: .relaxed).newValue)"
    if mkdir(directory, 0o755) != 0 { throw SystemError("mkdir") }
  }

  /// Lends a site.
  static func with<R: Sendable>(_ body: @Sendable (Site) async throws -> R) async throws -> R {
    await places.enter()
    do {
      let group = try EventLoopGroup(count: 1, name: "blackbox")
      defer { group.stop() }
      let site = try Site(loop: group.loops[0])
      let result: Result<R, any Error>
      do { result = .success(try await body(site)) } catch { result = .failure(error) }
      if case .failure = result { site.showLogs() }
      await site.clear()
      await places.leave()
      return try result.get()
    } catch {
      await places.leave()
      throw error
    }
  }

  /// Starts `magpie` with the given settings and no others.
  func magpie(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Program {
    var environment = environment
    environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    return try start("magpie", arguments, environment)
  }

  /// Starts a program that was built beside the test bundle.
  func start(_ name: String, _ arguments: [String], _ environment: [String: String] = [:]) throws -> Program {
    try run(Site.built(name), arguments, environment)
  }

  /// Starts any program.
  func run(_ path: String, _ arguments: [String], _ environment: [String: String]) throws -> Program {
    try programs.withLock { programs in
      let name = path.split(separator: "/").last.map(String.init) ?? "program"
      let program = try Program(
        path, arguments, environment: environment, files: "\(directory)/\(programs.count)-\(name)")
      programs.append(program)
      return program
    }
  }

  /// Everything the programs of this site have said.
  var everythingSaid: String { programs.withLock { $0 }.map { $0.output + $0.log }.joined() }

  /// The test bundle lies beside the programs.
  static func built(_ name: String) -> String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count - 1)
    let bundle = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return bundle.prefix(through: bundle.lastIndex(of: "/") ?? bundle.startIndex) + name
  }

  private func showLogs() {
    for program in programs.withLock({ $0 }) {
      let log = program.log.split(separator: "\n").suffix(20).joined(separator: "\n")
      print("--- \(program.process) \(program.end.map { "\($0)" } ?? "runs")\n\(program.output)\(log)")
    }
  }

  private func clear() async {
    let programs = programs.withLock { $0 }
    for program in programs {
      program.signal(SIGCONT)
      program.signal(SIGKILL)
    }
    for program in programs { _ = try? await program.waitForEnd() }
    // A private cluster ends by itself when its owner is gone; its files must not come back after they were removed.
    for name in Files.names(in: directory) {
      guard let server = Site.postmaster(of: "\(directory)/\(name)") else { continue }
      kill(server, SIGQUIT)
      try? await eventually { kill(server, 0) != 0 }
    }
    Files.remove(directory)
  }

  /// The PostgreSQL server of a private cluster.
  static func postmaster(of data: String) -> pid_t? {
    Program.text(of: "\(data)/data/postmaster.pid").split(separator: "\n").first.flatMap { pid_t($0) }
  }
}

/// Lets so many in at once.
private actor Places {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ count: Int) { free = count }

  func enter() async {
    if free > 0 {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
