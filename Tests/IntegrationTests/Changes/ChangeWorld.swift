import HTTP
import Magpie
import Testing
import UpstreamSimulator
import WorldSupport

/// A world in which somebody's followers have been walked once, pages of five, and nothing happens by itself.
struct ChangeWorld: Sendable {
  let world: TestWorld
  let driver: JobDriver
  let token: String
  let owner: Int64

  var simulator: Simulator { world.simulator }

  /// - Parameter isPrivate: the profile is, when it is looked at for the first time.
  static func run(
    _ user: Simulator.Configuration.User, perPage: Int = 5, isPrivate: Bool = false,
    _ body: @escaping @Sendable (ChangeWorld) async throws -> Void
  ) async throws {
    var options = TestWorld.Options(user)
    options.hasWorker = false
    options.simulator.limits.core = 1_000_000
    try await TestWorld.run(options) { world in
      if isPrivate { try world.simulator.setPrivate(true, user.login) }
      let driver = try await JobDriver(world, perPage: perPage)
      let change = ChangeWorld(
        world: world, driver: driver, token: try await world.token(), owner: try world.simulator.id(of: user.login))
      do {
        try await change.walk()
        try await body(change)
      } catch {
        await driver.stop()
        throw error
      }
      await driver.stop()
    }
  }

  func order(_ kind: FollowKind = .followers) async throws { try await driver.order(kind, of: owner) }

  /// A walk and its checks, from beginning to end.
  func walk(_ kind: FollowKind = .followers) async throws {
    try await order(kind)
    try await driver.runAll()
  }

  /// What is stored, without asking for more.
  func get(_ path: String) async throws -> Answer {
    try await world.get(path, as: token, [.cacheControl: "only-if-cached"])
  }

  func unfollow(_ person: Int64) throws {
    let owner = try #require(simulator.login(of: owner))
    try simulator.unfollow(owner, by: try #require(simulator.login(of: person)))
  }

  /// All events in their order: who, what, why, and the login.
  func told(since id: Int64 = 0) async throws -> [String] {
    try await world.owner.query(
      """
      SELECT concat_ws(' ', e.member_id, e.event, coalesce(e.reason, '-'), e.login) FROM magpie.follow_event e
       WHERE e.id > \(id) ORDER BY e.id
      """
    ).decode(String.self)
  }

  /// From which walk until which somebody has been in a list.
  func edges(of person: Int64) async throws -> [String] {
    try await world.owner.query(
      """
      SELECT concat_ws(' ', e.first_generation, coalesce(e.gone_generation::text, '-')) FROM magpie.follow_edge e
       WHERE e.member_id = \(person) ORDER BY e.first_generation
      """
    ).decode(String.self)
  }
}
