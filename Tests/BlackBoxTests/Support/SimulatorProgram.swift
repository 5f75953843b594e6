import HTTP
import JSONText
import TestSupport
import Testing

/// A running `upstream-simulator`.
struct SimulatorProgram: Sendable {
  let program: Program
  let peer: Peer

  /// Gives a command, such as `hold` with `{"match": "/user/*/followers?page=3"}`.
  @discardableResult
  func command(_ name: String, _ body: String = "{}") async throws -> JSONView? {
    let answer = try await peer.send(.post, "/_sim/\(name)", body: body)
    guard answer.status < 300 else { throw Answer.Unexpected(answer: answer) }
    return answer.body.isEmpty ? nil : try answer.json
  }

  /// Targets of the requests so far that match, oldest first.
  func requests(_ match: String) async throws -> [String] {
    let answer = try await peer.get("/_sim/log?limit=10000&match=\(match)")
    return try #require(try answer.json["entries"]).elements.compactMap { $0["target"]?.string }
  }

  /// How many requests are held.
  func held() async throws -> Int {
    let answer = try await peer.get("/_sim/waiting?count=0&timeout=0")
    return try #require(try answer.json["held"]).elements.reduce(0) { count, _ in count + 1 }
  }

  /// The first 1,000 members of a list, in order.
  func followers(of user: String) async throws -> [Int64] {
    let answer = try await peer.get("/_sim/list?user=\(user)")
    return try #require(try answer.json["ids"]).elements.compactMap { $0.int }
  }
}

extension Site {
  /// Starts a simulator on a port of its own.
  func simulator(_ arguments: [String], listen: String = "127.0.0.1:0") async throws -> SimulatorProgram {
    let program = try start("upstream-simulator", ["--listen", listen] + arguments)
    try await eventually {
      try #require(program.end == nil, "it ended: \(program.log)")
      return program.announced("listening on ") != nil
    }
    return SimulatorProgram(program: program, peer: Peer(try #require(program.announced("listening on ")), on: loop))
  }
}
