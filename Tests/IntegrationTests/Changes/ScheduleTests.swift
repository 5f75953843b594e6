import Testing
import UpstreamSimulator

/// Two hundred stories of follow, unfollow, rename, suspension and return under drift, cut walks and refusals.
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
      let driver = try await JobDriver(world, perPage: Schedule.perPage)
      for seed in 0..<ScheduleTests.schedules where Int(seed) % ScheduleTests.lanes == lane {
        try await Schedule(seed: seed, world, driver).run()
      }
      await driver.stop()
    }
  }
}
