import EventLoop

/// A condition that did not come true in time.
public struct NeverHappened: Error {}

/// Looks every few milliseconds until a condition holds, for at most `limit`. For conditions that nobody signals, such as
/// what the server says about its sessions.
public func eventually(within limit: Duration = .seconds(40), _ condition: () async throws -> Bool) async throws {
  let deadline = System.monotonicNanoseconds() + limit.wholeNanoseconds
  while try await !condition() {
    if System.monotonicNanoseconds() > deadline { throw NeverHappened() }
    try await Task.sleep(for: .milliseconds(5))
  }
}
