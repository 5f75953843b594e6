import Postgres

extension RunningJob {
  /// A step whose checkpoint is known only when its work is done, such as one that names a row it has made.
  ///
  /// - Parameter body: gives its value and the checkpoint; see `step(in:checkpoint:done:total:_:)` for the rest.
  @discardableResult
  public func step<Value>(
    in database: Database, done: Int64? = nil, total: Int64? = nil,
    _ body: (Transaction) async throws -> (value: Value, checkpoint: [UInt8]?)
  ) async throws -> Value {
    let value = try await database.transaction(retries: 5) { transaction in
      let (value, checkpoint) = try await body(transaction)
      try await self.checkpoint(in: transaction, checkpoint, done: done, total: total)
      return value
    }
    announce(id)
    return value
  }
}
