import Glibc
import Magpie
import Postgres
import Testing
import WorldSupport

/// Random histories. A failing one prints its seed; `MAGPIE_HISTORY_SEED` runs that one alone and prints what happened.
/// Everybody runs the same ones; `MAGPIE_HISTORY_COUNT` runs as many others, beginning anywhere.
/// `MAGPIE_HISTORY_SQL` is run first, to see whether the histories find a rule that was broken on purpose.
@Suite struct HistoryTests {
  static let count = 500

  @Test func devicesEndUpWithTheSame() async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    // Streams are told; nothing is seen by looking.
    options.pollInterval = .seconds(600)
    try await TestWorld.run(options) { world in
      let wanted = getenv("MAGPIE_HISTORY_SEED").flatMap { UInt64(String(cString: $0)) }
      let others = getenv("MAGPIE_HISTORY_COUNT").flatMap { Int(String(cString: $0)) }
      let first = wanted ?? (others == nil ? 1 : UInt64.random(in: 1...UInt64(UInt32.max)))
      let seeds = (0..<(wanted == nil ? others ?? Self.count : 1)).map { first + UInt64($0) }
      print("histories of seeds \(first) to \(seeds.last!)")
      if let change = getenv("MAGPIE_HISTORY_SQL") { try await world.sql(Query(unsafe: String(cString: change))) }
      let accounts = try await Self.accounts(seeds, world)
      let delays = try await withThrowingTaskGroup(of: [Duration].self) { group in
        let lanes = 8
        for lane in 0..<lanes {
          group.addTask {
            var delays: [Duration] = []
            for index in stride(from: lane, to: seeds.count, by: lanes) {
              var history = try await History(
                seed: seeds[index], account: accounts[index].id, tokens: accounts[index].tokens, world: world)
              do {
                let faults = try await history.run(steps: 16)
                if !faults.isEmpty { Issue.record("seed \(seeds[index]): \(faults.joined(separator: "; "))") }
                if wanted != nil || !faults.isEmpty { print(history.log.joined(separator: "\n")) }
                delays += history.streams.delays
              } catch {
                print(history.log.joined(separator: "\n"))
                Issue.record("seed \(seeds[index]): \(error)")
              }
            }
            return delays
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }.sorted()
      }
      if let longest = delays.last {
        let median = delays[delays.count / 2]
        print("\(delays.count) edits by hand: all devices told after \(median), after \(longest) at most")
      }
      #expect(world.servers[0].failures.entries.isEmpty)
    }
  }

  /// An account for each history, with three to five devices.
  private static func accounts(_ seeds: [UInt64], _ world: TestWorld) async throws -> [(id: Int64, tokens: [String])] {
    let ids = try await world.owner.query(
      "INSERT INTO magpie.account (username) SELECT 'history' || i FROM generate_series(1, \(seeds.count)) i RETURNING id"
    ).decode(Int64.self)
    var tokens: [[String]] = []
    var owners: [Int64] = []
    var hashes: [[UInt8]] = []
    for (id, seed) in zip(ids, seeds) {
      let secrets = (0..<Int(3 + seed % 3)).map { _ in Secret(random: .token) }
      tokens.append(secrets.map(\.text))
      owners += secrets.map { _ in id }
      hashes += secrets.map(\.hash)
    }
    try await world.sql(
      """
      INSERT INTO magpie.session (account_id, token_hash, token_hint)
      SELECT a, h, 'test' FROM unnest(\(owners), \(hashes)) AS t (a, h)
      """)
    return zip(ids, tokens).map { ($0, $1) }
  }
}
