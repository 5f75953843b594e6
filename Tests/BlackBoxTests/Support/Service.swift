import EventLoop
import Glibc
import Postgres
import TestSupport
import Testing

/// A running `magpie serve` or `magpie work`.
struct Service: Sendable {
  let program: Program
  /// The API; without it, for `work`, the admin listener too.
  let api: Peer
  let admin: Peer

  /// The value of a metric, all its labels added up; 0 when it is not there.
  func metric(_ name: String) async throws -> Double {
    let answer = try await admin.get("/metrics")
    return answer.text.split(separator: "\n").filter { $0.hasPrefix(name + " ") || $0.hasPrefix(name + "{") }
      .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
  }

  func isReady() async throws -> Bool { try await admin.get("/readyz").status == 200 }
}

extension Site {
  /// Starts `magpie serve` on ports of its own and waits until it is ready.
  func serve(
    _ arguments: [String] = [], _ environment: [String: String], within limit: Duration = .seconds(60)
  ) async throws -> Service {
    try await service(["serve"] + arguments, environment, within: limit)
  }

  /// Starts `magpie work` and waits until it is ready.
  func work(_ environment: [String: String]) async throws -> Service {
    try await service(["work"], environment, within: .seconds(60))
  }

  private func service(
    _ arguments: [String], _ environment: [String: String], within limit: Duration
  ) async throws -> Service {
    try await ready(try magpie(arguments, Site.settings.merging(environment) { $1 }), within: limit)
  }

  /// Waits until a started program has announced itself and is ready.
  func ready(_ program: Program, within limit: Duration = .seconds(60)) async throws -> Service {
    try await eventually(within: limit) {
      try #require(program.end == nil, "it ended: \(program.log)")
      return program.announced("Health and metrics are at ") != nil
    }
    let admin = try #require(program.announced("Health and metrics are at "))
    let api = program.announced("Magpie 0.1.0 answers at ") ?? admin
    let service = Service(program: program, api: Peer(api, on: loop), admin: Peer(admin, on: loop))
    try await eventually(within: limit) { try await service.isReady() }
    return service
  }

  /// Few connections and any port, so that many can run at once.
  static let settings = [
    "MAGPIE_LISTEN": "127.0.0.1:0", "MAGPIE_ADMIN_LISTEN": "127.0.0.1:0", "MAGPIE_LOOPS": "1", "MAGPIE_WORKERS": "2",
    "MAGPIE_LOG": "json",
  ]

  /// A database of its own that has been migrated.
  func database() async throws -> String { try await TestCluster.database(template: Site.template.value) }

  private static let template = Task {
    let url = try await TestCluster.database()
    let program = try Program(
      built("magpie"), ["migrate"], environment: ["DATABASE_URL": url],
      files: "/tmp/magpie-blackbox-\(getpid())-migrate")
    let end = try await program.waitForEnd(within: .seconds(60))
    try #require(end == .exit(0), "\(program.log)")
    for ending in [".out", ".err"] { unlink("/tmp/magpie-blackbox-\(getpid())-migrate\(ending)") }
    return TestCluster.name(of: url)
  }

  /// Makes an account and a token for it, as an administrator would.
  func token(_ name: String, _ database: String) async throws -> String {
    try await column(String.self, "SELECT admin.create_account(\(name))", of: database)
    return try #require(
      try await column(String.self, "SELECT admin.issue_token(\(name), 'test')", of: database).first)
  }
}
