import Glibc
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// Two hundred stories of follow, unfollow, rename, suspension and return under drift, cut walks and refusals.
/// `MAGPIE_SCHEDULE_SQL` is run first, to see whether the stories find a rule that was broken on purpose.
@Suite struct ScheduleTests {
  private static let lanes = 4
  private static let schedules: UInt64 = 200

  /// A failure names its seed: `Schedule(seed:)` alone tells the same story again.
  @Test(.timeLimit(.minutes(15)), arguments: 0..<lanes)
  func nobodyIsSaidToHaveLeftWhoDidNotAndNobodyIsMissed(lane: Int) async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    options.servers = 0
    options.simulator.limits.core = 1_000_000
    try await TestWorld.run(options) { world in
      if let change = getenv("MAGPIE_SCHEDULE_SQL") { try await world.sql(Query(unsafe: String(cString: change))) }
      let driver = try await JobDriver(world, perPage: Schedule.perPage)
      for seed in 0..<ScheduleTests.schedules where Int(seed) % ScheduleTests.lanes == lane {
        try await Schedule(seed: seed, world, driver).run()
      }
      await driver.stop()
    }
  }
}
