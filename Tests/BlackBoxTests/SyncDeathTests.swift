import EventLoop
import Glibc
import HTTP
import JSONText
import TestSupport
import Testing

/// A server that is killed again and again while devices push: what was acknowledged is there, once, and all have the same.
@Suite(.timeLimit(.minutes(5)))
struct SyncDeathTests {
  /// Whichever server is up now.
  private final class Current: Sendable {
    private let service: Lock<Service>
    init(_ service: Service) { self.service = Lock(service) }
    var peer: Peer { service.withLock { $0.api } }
    func replace(_ other: Service) { service.withLock { $0 = other } }
  }

  private final class Flag: Sendable {
    private let value = Lock(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
  }

  /// How many pushes were answered, by all devices together.
  private final class Tally: Sendable {
    private let value = Lock(0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
  }

  /// A device that sends a request until it is answered.
  private struct Device {
    let number: Int
    let token: String
    var cursor: Int64 = 0
    var items: [String: String] = [:]
    var repeats = 0

    mutating func push(_ operations: [String], to current: Current) async throws -> [String] {
      let body = #"{"since": \#(cursor), "limit": 3, "changes": [\#(operations.joined(separator: ","))]}"#
      let deadline = System.monotonicNanoseconds() + 60_000_000_000
      while true {
        let visitor = current.peer.account(token)
        if let answer = try? await visitor.send(.post, "/v1/sync", body: body, timeout: .seconds(10)),
          answer.status == 200
        {
          let json = try answer.json
          try await take(json, current)
          return try #require(json["results"]).elements.compactMap { $0["status"]?.string }
        }
        try #require(System.monotonicNanoseconds() < deadline)
        repeats += 1
        // While no server is there, connections are refused at once: others get their turn in between.
        await Task.yield()
      }
    }

    private mutating func take(_ first: JSONView, _ current: Current) async throws {
      var page = first
      while true {
        for entry in try #require(page["changes"]).elements {
          let id = try #require(entry["id"]?.string)
          items[id] = entry["deleted"] == nil ? String(decoding: entry.bytes, as: UTF8.self) : nil
        }
        cursor = try #require(page["version"]?.int)
        if page["has_more"]?.bool == false { return }
        let visitor = current.peer.account(token)
        // The server may die here, too; the next push goes on from this cursor.
        guard let answer = try? await visitor.get("/v1/sync?since=\(cursor)&limit=100"), answer.status == 200 else {
          return
        }
        page = try answer.json
      }
    }
  }

  @Test func acknowledgedPushesOutliveTheServer() async throws {
    try await Site.with { site in
      let database = try await site.database()
      let settings = ["DATABASE_URL": database]
      var tokens = [try await site.token("alice", database)]
      tokens += try await column(
        String.self, "SELECT admin.issue_token('alice', 'device ' || i) FROM generate_series(2, 3) i", of: database)
      let first = try await site.serve(["--no-worker"], settings)
      let current = Current(first)
      let isOver = Flag()
      let answered = Tally()
      let devices = try await withThrowingTaskGroup(of: Device.self) { group in
        for (number, token) in tokens.enumerated() {
          group.addTask {
            var device = Device(number: number, token: token)
            var round = 0
            while !isOver.isSet || round < 5 {
              round += 1
              let statuses = try await device.push(
                [
                  #"{"op": "put", "kind": "gif", "id": "d\#(number)-\#(round)", "note": "n\#(round)", "base_version": \#(device.cursor)}"#,
                  #"{"op": "put", "kind": "gif", "id": "shared"}"#,
                  #"{"op": "tags", "kind": "gif", "id": "shared", "add": ["d\#(number)-\#(round % 30)"], "remove": []}"#,
                ], to: current)
              #expect(statuses == ["ok", "ok", "ok"])
              answered.add()
            }
            _ = try await device.push([#"{"op": "delete", "kind": "gif", "id": "d\#(number)-1"}"#], to: current)
            return device
          }
        }
        var service = first
        for _ in 0..<8 {
          // In the middle of the work, wherever that is.
          let enough = answered.count + Int.random(in: 3...40)
          try await eventually { answered.count >= enough }
          service.program.signal(SIGKILL)
          service = try await site.serve(["--no-worker"], settings)
          current.replace(service)
        }
        isOver.set()
        var devices: [Device] = []
        for try await device in group { devices.append(device) }
        return devices
      }
      var ended: [Device] = []
      for var device in devices {
        _ = try await device.push([], to: current)
        ended.append(device)
      }
      #expect(ended.map(\.repeats).reduce(0, +) > 0, "no request was lost")
      for device in ended { #expect(device.items == ended[0].items) }
      let full = try await current.peer.account(tokens[0]).get("/v1/sync?since=0&limit=500").json
      var all: [String: String] = [:]
      var (page, rounds) = (full, 0)
      while rounds < 100 {
        rounds += 1
        for entry in try #require(page["changes"]).elements where entry["deleted"] == nil {
          all[try #require(entry["id"]?.string)] = String(decoding: entry.bytes, as: UTF8.self)
        }
        if page["has_more"]?.bool == false { break }
        let since = try #require(page["version"]?.int)
        page = try await current.peer.account(tokens[0]).get("/v1/sync?since=\(since)&limit=500").json
      }
      #expect(all == ended[0].items)
      for number in tokens.indices {
        let rounds = all.keys.filter { $0.hasPrefix("d\(number)-") }.compactMap { Int($0.dropFirst(3)) }.sorted()
        // All that was pushed, since every push was answered in the end; the first was deleted.
        #expect(rounds == Array(2...(rounds.last ?? 2)))
      }
      let checksum = try await current.peer.account(tokens[0]).get("/v1/sync/checksum").json
      #expect(checksum["kinds"]?["gif"]?["count"]?.int == Int64(all.count))
    }
  }
}
