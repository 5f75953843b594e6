import EventLoop
import HTTP
import HTTPClient
import JSONText
import Testing

@testable import UpstreamSimulator

/// A running simulator and a client to ask it with.
struct Bench: Sendable {
  let loop: EventLoop
  let simulator: Simulator
  let client: HTTPClient

  /// Runs the body and takes everything down, also when it throws.
  static func run(
    configure: (inout Simulator.Configuration) throws -> Void = { _ in }, _ body: (Bench) async throws -> Void
  ) async throws {
    var configuration = Simulator.Configuration()
    configuration.seed = 7
    configuration.users = [.init("octocat", followers: 1240, following: 50)]
    configuration.tokens = ["tok": "ann", "tok-2": "ann", "other": "ben"]
    configuration.frozenClock = 1_767_225_600  // 2026-01-01T00:00:00Z
    try configure(&configuration)
    let group = try EventLoopGroup(count: 1)
    let simulator = try await Simulator.start(configuration, on: group)
    var settings = HTTPClient.Configuration(userAgent: "Bench/1.0")
    settings.trustedOrigins = [try #require(HTTPClient.Origin(simulator.baseURL))]
    let client = HTTPClient(loop: group.loops[0], configuration: settings)
    var failure: (any Error)?
    do { try await body(Bench(loop: group.loops[0], simulator: simulator, client: client)) } catch { failure = error }
    await simulator.stop()
    try await group.loops[0].run { client.stop() }
    group.stop()
    if let failure { throw failure }
  }

  /// Asks with a token, unless told otherwise. An absolute address is taken as it is.
  func get(
    _ path: String, token: String? = "tok", _ fields: Fields = [:], maxBytes: Int = 64 * 1024 * 1024
  ) async throws -> Answer {
    var fields = fields
    if let token { fields.append(.authorization, "Bearer \(token)") }
    let url = path.hasPrefix("/") ? simulator.baseURL + path : path
    return Answer(try await client.send(.init(.get, url, fields: fields, maxBytes: maxBytes)))
  }

  /// Steers over HTTP.
  @discardableResult
  func steer(_ command: String, _ body: String) async throws -> Answer {
    Answer(
      try await client.send(.init(.post, "\(simulator.baseURL)/_sim/\(command)", body: Array(body.utf8))))
  }

  /// Follows `next` from a first page on; all ids in order.
  func walk(_ path: String, token: String? = "tok") async throws -> [Int64] {
    var ids: [Int64] = []
    var next: String? = path
    while let address = next {
      let answer = try await get(address, token: token)
      try #require(answer.status == 200)
      ids += try answer.ids()
      next = answer.links["next"]
    }
    return ids
  }
}

/// An answer in the words of the tests.
struct Answer: Sendable {
  let status: Int
  let fields: Fields
  let body: [UInt8]

  init(_ response: HTTPClient.Response) {
    status = response.status.code
    fields = response.fields
    body = response.body
  }

  var text: String { String(decoding: body, as: UTF8.self) }
  func json() throws -> JSONView { try JSONView(body, limits: .init(maxBytes: 1 << 30, maxDepth: 64)) }
  func ids() throws -> [Int64] { try json().elements.compactMap { $0["id"]?.int } }
  func logins() throws -> [String] { try json().elements.compactMap { $0["login"]?.string } }

  /// Rel to address.
  var links: [String: String] {
    var links: [String: String] = [:]
    for link in Link.parse(fields[joined: .link] ?? "") {
      for relation in link.relations { links[relation] = link.target }
    }
    return links
  }

  /// Limit, remaining, used and resource of the rate fields; `nil` when there are none.
  var rate: String? {
    guard let limit = fields["X-RateLimit-Limit"] else { return nil }
    let rest = ["Remaining", "Used", "Resource"].map { part in
      Fields.Name("X-RateLimit-\(part)").flatMap { fields[$0] } ?? "none"
    }
    return "\(limit) \(rest.joined(separator: " "))"
  }
}
