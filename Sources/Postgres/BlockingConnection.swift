import CLibpq

/// A connection for work on a thread of its own: migrations and setting up a cluster. Not in pipeline mode, so that one
/// string may hold many statements.
final class BlockingConnection {
  private let connection: OpaquePointer

  /// - Throws: `PostgresError` of kind `unavailable`.
  init(_ parameters: ConnectionParameters, timeoutSeconds: Int = 5) throws(PostgresError) {
    var parameters = parameters
    parameters.setDefault("connect_timeout", "\(timeoutSeconds)")
    guard let connection = parameters.withArrays(attempt: 0, { PQconnectdbParams($0, $1, 0) }) else {
      throw PostgresError(.unavailable, "out of memory")
    }
    guard PQstatus(connection) == CONNECTION_OK else {
      let error = PostgresError(.unavailable, connection: connection)
      PQfinish(connection)
      throw error
    }
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    self.connection = connection
  }

  deinit { PQfinish(connection) }

  var transactionStatus: PGTransactionStatusType { PQtransactionStatus(connection) }

  /// Runs one statement with its parameters.
  @discardableResult
  func query(
    _ query: Query, file: StaticString = #fileID, line: UInt = #line
  ) throws(PostgresError) -> Rows {
    let origin = Origin(file: file, line: line)
    if let refusal = query.unsendable { throw refusal(origin) }
    let types = query.bindings.entries.map(\.type)
    let result = query.bindings.withArrays { count, values, lengths, formats in
      PQexecParams(connection, query.sql, count, types, values, lengths, formats, 0)
    }
    return Rows(try checked(result, sql: query.sql, origin: origin), sql: query.sql, origin: origin)
  }

  /// The first error of a script, and how many statements went well before it.
  struct ScriptFailure: Error {
    let error: PostgresError
    let completed: Int
  }

  /// Runs any number of statements without parameters.
  func script(_ sql: String) throws(PostgresError) {
    do throws(ScriptFailure) { try run(sql) } catch { throw error.error }
  }

  /// Runs any number of statements without parameters.
  ///
  /// - Throws: `ScriptFailure`; its error's `position` counts from the beginning of the whole text.
  func run(_ sql: String) throws(ScriptFailure) {
    guard PQsendQuery(connection, sql) == 1 else {
      throw ScriptFailure(error: PostgresError(.connectionLost, connection: connection), completed: 0)
    }
    var completed = 0
    var failure: ScriptFailure?
    while let result = PQgetResult(connection) {
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
        completed += 1
      default:
        if failure == nil {
          failure = ScriptFailure(
            error: PostgresError(result: result, sql: nil, origin: nil), completed: completed)
        }
        // COPY has no data to read here; it would be asked for again and again.
        if PQresultStatus(result) == PGRES_COPY_IN { PQputCopyEnd(connection, "COPY is not supported") }
        if PQresultStatus(result) == PGRES_COPY_OUT || PQstatus(connection) == CONNECTION_BAD {
          throw failure ?? ScriptFailure(error: PostgresError(.invalid, "COPY"), completed: completed)
        }
      }
    }
    if let failure { throw failure }
  }

  private func checked(
    _ result: OpaquePointer?, sql: String?, origin: Origin
  ) throws(PostgresError) -> OpaquePointer {
    guard let result else { throw PostgresError(.connectionLost, connection: connection) }
    switch PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return result
    default:
      defer { PQclear(result) }
      throw PostgresError(result: result, sql: sql, origin: origin)
    }
  }
}
