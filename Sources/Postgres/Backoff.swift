/// Waits between attempts: doubling from 50 ms to 2 s, each shortened by up to half at random, so that many processes do
/// not come back at the same moment.
struct Backoff {
  static let first = Duration.milliseconds(50)
  static let longest = Duration.seconds(2)

  private(set) var failures = 0

  mutating func next() -> Duration {
    let full = min(Backoff.longest, Backoff.first * (1 << min(failures, 10)))
    failures += 1
    return full * Double.random(in: 0.5...1)
  }

  mutating func reset() { failures = 0 }
}
