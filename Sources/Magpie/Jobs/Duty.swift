/// Something a worker does every so often beside its jobs. Housekeeping is not a job: what recovers the queue must not wait in it.
public struct Duty: Sendable {
  /// For metrics.
  public let name: String
  /// Between two times, give or take a tenth.
  public let interval: Duration
  /// Whether one process does it for all. Two at once must do no harm.
  public let isForLeader: Bool
  let body: @Sendable () async throws -> Void

  /// - Parameter body: runs on a loop of the worker. Errors are counted, and the next time comes as usual.
  public init(
    _ name: String, every interval: Duration, isForLeader: Bool = true,
    _ body: @escaping @Sendable () async throws -> Void
  ) {
    self.name = name
    self.interval = interval
    self.isForLeader = isForLeader
    self.body = body
  }
}
