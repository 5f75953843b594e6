/// Decides when a notice is sent: the first at once, those that follow in a bunch, 50 ms after it.
///
/// Each NOTIFY holds, from before its commit until after, a lock that all notifying transactions share, so they must be few.
/// Pure: the caller has the clock and does the sending.
struct NoticeLimiter: Sendable {
  /// What to do about a notice that was just added.
  enum Decision: Equatable, Sendable {
    /// Take the payloads now.
    case now
    /// Take them at this time, in the clock's nanoseconds.
    case at(UInt64)
    /// Somebody has been told to take them already.
    case planned
  }

  static let interval: UInt64 = 50_000_000
  /// PostgreSQL refuses payloads of 8,000 bytes.
  static let maximumPayload = 7_900
  /// Notices kept while the database is away. More are dropped: those who wait look by themselves.
  static let maximumWaiting = 10_000

  private var waiting: Set<String> = []
  private var isPlanned = false
  private var lastSent: UInt64?

  mutating func add(_ payload: String, at now: UInt64) -> Decision {
    if waiting.count < NoticeLimiter.maximumWaiting { waiting.insert(payload) }
    if isPlanned { return .planned }
    isPlanned = true
    guard let lastSent, now < lastSent &+ NoticeLimiter.interval else { return .now }
    return .at(lastSent &+ NoticeLimiter.interval)
  }

  /// The notices to be sent, several payloads to one, with commas in between.
  mutating func take(at now: UInt64) -> [String] {
    isPlanned = false
    lastSent = now
    var notices: [String] = []
    for payload in waiting.sorted() {
      if let last = notices.last, last.utf8.count + 1 + payload.utf8.count <= NoticeLimiter.maximumPayload {
        notices[notices.count - 1] = last + "," + payload
      } else {
        notices.append(payload)
      }
    }
    waiting = []
    return notices
  }
}
