import EventLoop

/// A condition that did not come true in time.
public struct NeverHappened: Error {
  /// The condition, in words.
  public let what: String
  /// How long it was waited for.
  public let limit: Duration
}

/// Looks every few milliseconds until a condition holds, for at most `limit`. For conditions that nobody signals, such as
/// what the server says about its sessions.
public func eventually(
  within limit: Duration = .seconds(120), _ what: String = "what was waited for", _ condition: () async throws -> Bool
) async throws {
  let deadline = System.monotonicNanoseconds() + limit.wholeNanoseconds
  while try await !condition() {
    if System.monotonicNanoseconds() > deadline { throw NeverHappened(what: what, limit: limit) }
    try await Task.sleep(for: .milliseconds(5))
  }
}
