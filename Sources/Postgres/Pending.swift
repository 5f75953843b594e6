import CLibpq

/// Who hears how a statement went. Heard exactly once.
enum Completion {
  /// A suspended task. Unsafe continuations, since this is the hot path: `Pending.complete` takes the completion out before
  /// it resumes, and a session completes everything it holds before it goes.
  case task(UnsafeContinuation<Result<Rows, PostgresError>, Never>)
  case call((Result<Rows, PostgresError>) -> Void)
}

/// A statement under way on a session: everything until its sync.
struct Pending {
  let query: Query
  let preludes: [Query]
  let origin: Origin
  /// Monotonic nanoseconds.
  let deadline: UInt64
  /// How long its caller waits.
  let wait: Duration
  /// Prepared along with this execution, or used by it.
  var statement: Statement?
  /// Results that come before the one asked for: of the preludes and of the preparation.
  var resultsBefore: Int
  var isPreparing: Bool
  var wasRetried: Bool
  /// Taken when the caller has been told, which can be before the results are in.
  var completion: Completion?
  /// The last good result and the first bad one, owned.
  var rows: OpaquePointer?
  var failure: PostgresError?

  /// Takes over a result. `false` for COPY, out of which a pipeline does not find back.
  mutating func take(_ result: OpaquePointer) -> Bool {
    switch PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
      if resultsBefore > 0 {
        resultsBefore -= 1
        // The preparation comes last before the execution.
        if resultsBefore == 0, isPreparing { statement?.isConfirmed = true }
        PQclear(result)
      } else {
        PQclear(rows)
        rows = result
      }
    case PGRES_PIPELINE_ABORTED:
      PQclear(result)
    case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR:
      if failure == nil { failure = PostgresError(result: result, sql: query.sql, origin: origin) }
      PQclear(result)
    default:
      PQclear(result)
      return false
    }
    return true
  }

  /// The preparation was under way and has not succeeded.
  var preparationFailed: Bool { isPreparing && statement?.isConfirmed != true }

  mutating func complete(_ result: Result<Rows, PostgresError>) {
    guard let completion = completion.take() else { return }
    switch completion {
    case .task(let continuation): continuation.resume(returning: result)
    case .call(let body): body(result)
    }
  }

  /// At the sync: everything there will be is here.
  mutating func complete() {
    let rows = rows.take()
    if let failure {
      PQclear(rows)
      complete(.failure(failure))
    } else if let rows {
      guard completion != nil else { return PQclear(rows) }
      complete(.success(Rows(rows, sql: query.sql, origin: origin)))
    } else {
      complete(.failure(PostgresError(.connectionLost, "no result", sql: query.sql, origin: origin)))
    }
  }

  mutating func abandon(_ error: PostgresError) {
    PQclear(rows.take())
    complete(.failure(error.lost(sql: query.sql, origin: origin)))
  }
}
