extension Database {
  /// What a database has done since its start.
  public struct Metrics: Equatable, Sendable {
    /// Statements sent.
    public let statements: UInt64
    /// Statements and borrowers refused because too much was waiting.
    public let overloads: UInt64
    /// Callers released without an answer because their time was up.
    public let timeouts: UInt64
    /// Connections made.
    public let connects: UInt64
    /// Connections lost or closed.
    public let losses: UInt64
    /// Pipelined connections that are up now.
    public let pipelinesUp: Int
  }

  /// A snapshot; the numbers may be of slightly different moments.
  public var metrics: Metrics {
    Metrics(
      statements: counters.statements.load(ordering: .relaxed), overloads: counters.overloads.load(ordering: .relaxed),
      timeouts: counters.timeouts.load(ordering: .relaxed), connects: counters.connects.load(ordering: .relaxed),
      losses: counters.losses.load(ordering: .relaxed), pipelinesUp: counters.up.load(ordering: .relaxed))
  }
}
