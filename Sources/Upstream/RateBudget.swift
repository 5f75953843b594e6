import HTTP

/// What an answer tells of a request budget, in the words of GitHub's `x-ratelimit-…` fields.
public struct RateBudget: Sendable, Equatable {
  /// Which budget was charged, such as `core` or `search`. An open set.
  public let resource: String
  /// The size of a window's budget.
  public let limit: Int?
  /// What is left in this window.
  public let remaining: Int?
  /// What was spent in this window.
  public let used: Int?
  /// The end of the window in seconds since 1970 by the upstream's clock. It tells windows apart.
  public let reset: Int64?
  /// The end of the window in seconds from the answer, 0 if it is over: the upstream's clock is taken from its `Date`.
  public let secondsToReset: Int64?

  /// A budget with everything said.
  public init(resource: String, limit: Int?, remaining: Int?, used: Int?, reset: Int64?, secondsToReset: Int64?) {
    self.resource = resource
    self.limit = limit
    self.remaining = remaining
    self.used = used
    self.reset = reset
    self.secondsToReset = secondsToReset
  }

  /// The largest number of requests taken from a field: what the database counts with.
  private static let mostRequests = Int64(Int32.max)
  /// The latest end of a window taken from a field, in seconds since 1970: the year 10000, far beyond all windows.
  private static let latest: Int64 = 253_402_300_800
  /// The longest window that is believed, in seconds: a day. GitHub's last an hour. A reset in milliseconds, or a clock that
  /// is decades wrong, must not close the gate for decades.
  static let longest: Int64 = 86_400

  /// Reads the fields of an answer. A number that is missing, no number or absurd is unknown; `nil` when all are.
  ///
  /// - Parameter resource: what was charged if the answer does not say; older servers do not.
  public init?(of answer: UpstreamAnswer, assuming resource: String) {
    func number(_ name: Fields.Name, upTo most: Int64 = Self.mostRequests) -> Int64? {
      answer.fields[name].flatMap { Int64($0) }.flatMap { (0...most).contains($0) ? $0 : nil }
    }
    let limit = number("x-ratelimit-limit")
    let remaining = number("x-ratelimit-remaining")
    let used = number("x-ratelimit-used")
    let reset = number("x-ratelimit-reset", upTo: Self.latest).flatMap {
      $0 - answer.date > Self.longest ? nil : $0
    }
    guard limit != nil || remaining != nil || used != nil || reset != nil else { return nil }
    let named = answer.fields["x-ratelimit-resource"].flatMap { (1...64).contains($0.utf8.count) ? $0 : nil }
    self.init(
      resource: named ?? resource, limit: limit.map(Int.init), remaining: remaining.map(Int.init),
      used: used.map(Int.init), reset: reset, secondsToReset: reset.map { max($0 - answer.date, 0) })
  }

  /// What is known after one more answer, which may have overtaken others: within a window the lowest `remaining`
  /// counts, and a window is left only for a later one.
  public func updated(with other: RateBudget) -> RateBudget {
    guard let reset, let otherReset = other.reset else { return other }
    if otherReset > reset { return other }
    if otherReset < reset { return self }
    return RateBudget(
      resource: other.resource, limit: other.limit ?? limit, remaining: Self.pick(min, remaining, other.remaining),
      used: Self.pick(max, used, other.used), reset: reset, secondsToReset: other.secondsToReset)
  }

  private static func pick(_ choose: (Int, Int) -> Int, _ a: Int?, _ b: Int?) -> Int? {
    guard let a, let b else { return a ?? b }
    return choose(a, b)
  }
}
