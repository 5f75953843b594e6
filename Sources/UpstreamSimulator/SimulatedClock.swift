import Glibc

/// The upstream's idea of the time, which tests move. Whole seconds, like GitHub's headers.
struct SimulatedClock: Sendable {
  /// Seconds added to the machine's clock, or the time itself while frozen.
  private var offset: Int64 = 0
  private var frozen: Int64?

  /// Starts at the machine's time, or stands still at the given one.
  init(frozenAt seconds: Int64? = nil) { frozen = seconds }

  /// Seconds since 1970.
  var now: Int64 { frozen ?? (SimulatedClock.machineSeconds() + offset) }

  /// Moves it forward, or back with a negative number.
  mutating func advance(_ seconds: Int64) {
    if let frozen { self.frozen = frozen + seconds } else { offset += seconds }
  }

  /// Shows that time from now on; it goes on running unless it stands still.
  mutating func set(_ seconds: Int64) {
    if frozen != nil { frozen = seconds } else { offset = seconds - SimulatedClock.machineSeconds() }
  }

  /// Lets it stand still, or run on from where it stands.
  mutating func freeze(_ still: Bool) {
    let now = now
    frozen = still ? now : nil
    if !still { offset = now - SimulatedClock.machineSeconds() }
  }

  private static func machineSeconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec)
  }
}
