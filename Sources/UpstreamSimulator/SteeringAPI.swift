import EventLoop
import HTTP
import HTTPServer
import JSONText

/// The simulator's own side, under `/_sim/`: JSON in, JSON out. `docs/simulator.md` lists it.
struct SteeringAPI {
  let engine: Engine
  private static let maxBody = 64 * 1024
  private static let maxWait: Int64 = 60_000

  init(_ engine: Engine) { self.engine = engine }

  func respond(_ request: Request, _ target: Target) async -> Response {
    do {
      let name = target.segments.dropFirst().joined(separator: "/")
      switch (request.method, name) {
      case (.get, ""): return .json(Array(#"{"simulator":"github"}"#.utf8))
      case (.get, "stats"): return statistics()
      case (.delete, "stats"): return done { $0.traffic.reset() }
      case (.get, "log"): return log(target)
      case (.get, "waiting"): return try await waiting(target, on: request.loop)
      case (.get, "clock"): return clock()
      case (.get, "list"): return try list(target)
      case (.delete, "faults"): return done { $0.faults.removeAll() }
      case (.post, _):
        guard let answer = try command(name, try await request.body(limit: Self.maxBody)) else { break }
        return answer
      default: break
      }
      return Response(Problem(.notFound, code: "not-found", detail: "no such steering request"))
    } catch let error as HTTPError {
      return error.response(requestID: request.id)
    } catch {
      return Response(Self.problem(error))
    }
  }

  private static func problem(_ error: any Error) -> Problem {
    var problem = Problem(.unprocessableContent, code: "invalid")
    switch error {
    case let refusal as Network.Refusal: problem.detail = refusal.description
    case JSONObjectReader.Refusal.invalid(let reason): problem.detail = "the body is not JSON: \(reason)"
    case JSONObjectReader.Refusal.issues(let issues):
      problem.errors = issues.map { Problem.Detail(pointer: $0.pointer, detail: $0.detail) }
    default: problem.detail = "the request could not be carried out"
    }
    return problem
  }

  /// `nil` when there is no such command.
  private func command(_ name: String, _ body: [UInt8]) throws -> Response? {
    let body = body.isEmpty ? Array("{}".utf8) : body
    if let answer = try people(name, body) ?? repositories(name, body) ?? media(name, body) ?? limits(name, body) {
      return answer
    }
    switch name {
    case "clock": return try setClock(body)
    case "latency":
      let milliseconds = try JSONObjectReader.read(body) { $0.required("milliseconds", as: Int64.self) }
      return done { $0.latencyMilliseconds = Int(max(0, milliseconds ?? 0)) }
    case "faults":
      let fault = try JSONObjectReader.read(body) { Fault(reading: &$0) }
      return done { world in if let fault { _ = world.faults.add(fault) } }
    case "hold":
      let (match, times) = try JSONObjectReader.read(body) { reader in
        (reader.required("match", as: String.self), reader.optional("times", as: Int64.self))
      }
      let gate = engine.gates.close(PathPattern(match ?? ""), times: times.map { Int(max(1, $0)) })
      return Self.object { $0.member("gate", gate) }
    case "release":
      let (gate, one) = try JSONObjectReader.read(body) { reader in
        (reader.optional("gate", as: Int64.self), reader.optional("one", as: Bool.self))
      }
      let count = one == true ? (engine.gates.releaseOne() ? 1 : 0) : engine.gates.release(gate.map { Int($0) })
      return Self.object { $0.member("released", count) }
    default: return nil
    }
  }

  // MARK: Reading

  private func statistics() -> Response {
    let (total, counts, budgets) = engine.world.withLock { ($0.traffic.total, $0.traffic.counts, $0.refusals) }
    return Self.object { json in
      json.member("requests", total)
      json.member("primary_refusals", budgets.primary)
      json.member("secondary_refusals", budgets.secondary)
      json.key("counts")
      json.beginObject()
      for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
        json.key(name)
        json.int(count)
      }
      json.endObject()
    }
  }

  private func log(_ target: Target) -> Response {
    let pattern = PathPattern(target.query["match"] ?? "/**")
    let entries = engine.world.withLock { $0.traffic.log(matching: pattern) }
    let limit = max(0, target.query["limit"].flatMap { Int($0) } ?? 100)
    return Self.object { json in
      json.member("count", entries.count)
      json.key("entries")
      json.beginArray()
      for entry in entries.suffix(limit) {
        json.beginObject()
        json.member("number", entry.number)
        json.member("method", entry.method)
        json.member("target", entry.target)
        json.member("status", entry.status)
        json.member("credential", entry.credential)
        json.key("conditional")
        json.bool(entry.conditional)
        json.member("time", Int(entry.time))
        json.endObject()
      }
      json.endArray()
    }
  }

  private func list(_ target: Target) throws -> Response {
    let kind = ListKey.Kind(rawValue: target.query["kind"] ?? "followers") ?? .followers
    let (owner, ids, count) = try engine.withPerson(target.query["user"] ?? "") { world, id in
      let list = world.network.list(ListKey(owner: id, kind: kind))
      return (id, (0..<min(list.count, 1000)).map { list[$0] }, list.count)
    }
    return Self.object { json in
      json.member("id", Int(owner))
      json.member("count", count)
      json.key("ids")
      json.beginArray()
      for id in ids { json.int(id) }
      json.endArray()
    }
  }

  /// Waits for held requests, at most a minute.
  private func waiting(_ target: Target, on loop: EventLoop) async throws -> Response {
    let count = target.query["count"].flatMap { Int($0) } ?? 1
    let milliseconds = min(Self.maxWait, target.query["timeout"].flatMap { Int64($0) } ?? 10_000)
    let gates = engine.gates
    let reached = await gates.waitUntilHeld(count) { id in
      loop.execute { loop.schedule(after: .milliseconds(milliseconds)) { gates.giveUp(id) } }
    }
    let held = gates.held
    return Self.object { json in
      json.key("reached")
      json.bool(reached)
      json.key("held")
      json.beginArray()
      for target in held { json.string(target) }
      json.endArray()
    }
  }

  // MARK: Clock

  func clock() -> Response {
    let now = engine.world.withLock { $0.clock.now }
    return Self.object { json in
      json.member("seconds", Int(now))
      json.member("time", Timestamp(seconds: now).description)
    }
  }

  private func setClock(_ body: [UInt8]) throws -> Response {
    let (advance, set, freeze) = try JSONObjectReader.read(body) { reader in
      let set = reader.optional("set", as: String.self)
      if let set, Timestamp(set) == nil { reader.refuse("set", "must be a time such as 2026-01-01T00:00:00Z") }
      return (reader.optional("advance", as: Int64.self), set, reader.optional("freeze", as: Bool.self))
    }
    engine.world.withLock { world in
      if let freeze { world.clock.freeze(freeze) }
      if let set = set.flatMap(Timestamp.init) { world.clock.set(set.microseconds / 1_000_000) }
      if let advance { world.clock.advance(advance) }
    }
    return clock()
  }

  // MARK: Answers

  func done(_ change: (inout World) -> Void) -> Response {
    engine.world.withLock { change(&$0) }
    return Response(.noContent)
  }

  static func object(_ body: (inout JSONWriter) -> Void) -> Response {
    var json = JSONWriter()
    json.beginObject()
    body(&json)
    json.endObject()
    return .json(json.bytes)
  }
}

extension JSONWriter {
  mutating func member(_ name: StaticString, _ value: Int) {
    key(name)
    int(value)
  }

  mutating func member(_ name: StaticString, _ value: String) {
    key(name)
    string(value)
  }
}
