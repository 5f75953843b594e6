import Postgres

/// A write under an `Idempotency-Key`: one transaction with the answer that is kept for it.
enum KeyedWrite {
  /// Set while such a request is answered: what it reads and writes goes through here.
  @TaskLocal static var transaction: Transaction?
}

extension Database {
  /// Runs a statement in the transaction of a write under an `Idempotency-Key` if there is one, or else on its own.
  ///
  /// - Parameter isSlow: on a connection of its own, so that others do not wait behind it.
  /// - Throws: `PostgresError`.
  @discardableResult
  func queryWithKey(
    _ query: Query, after preludes: [Query] = [], isSlow: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Rows {
    if let transaction = KeyedWrite.transaction {
      return try await transaction.query(query, after: preludes, file: file, line: line)
    }
    return try await write(query, after: preludes, isSlow: isSlow, file: file, line: line)
  }

  /// Runs a statement that writes on its own, and again when it was rolled back whole because it stood in the way of another:
  /// writers of one item lock it before its account, and who moves or imports many has the account first.
  ///
  /// - Throws: `PostgresError`.
  @discardableResult
  func write(
    _ query: Query, after preludes: [Query] = [], isSlow: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Rows {
    func once() async throws -> Rows {
      isSlow
        ? try await pooled { try await $0.query(query, after: preludes, file: file, line: line) }
        : try await self.query(query, after: preludes, file: file, line: line)
    }
    for _ in 0..<2 {
      do { return try await once() } catch let error as PostgresError where error.isRetryable {}
    }
    return try await once()
  }
}

extension Idempotency {
  /// Runs a write and stores its answer, both or neither, in one transaction. When the server dies, or another has taken over,
  /// the write has not happened, and a retry does it.
  ///
  /// `write` may be run several times, each from its start. It must not wait for anything but the database, and of that use
  /// only what goes through `queryWithKey`.
  ///
  /// - Returns: what `write` returned. An answer that is not to be kept is `nil`; the claim is still to be given back then.
  /// - Throws: what `write` throws; `PostgresError`, with SQLSTATE `MG409` when another has taken over.
  public func answering<Value>(
    _ claim: IdempotencyClaim, write: () async throws -> (value: Value, answer: Answer?)
  ) async throws -> Value {
    let (value, answer) = try await database.transaction(retries: 2) { transaction in
      let result = try await KeyedWrite.$transaction.withValue(transaction) { try await write() }
      if let answer = result.answer { try await transaction.query(claim.storing(answer)) }
      return result
    }
    if answer != nil { claim.noteStored() }
    return value
  }
}
