import CLibpq

extension PostgresError {
  /// Reads the fields of an error result. An error that ends the session is `connectionLost`.
  init(result: OpaquePointer, sql: String?, origin: Origin?) {
    func field(_ code: Character) -> String? {
      PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
    }
    let severity = field("V") ?? "ERROR"
    // Errors that libpq makes itself have no code: they are about the connection.
    let state = field("C").map(SQLState.init(rawValue:))
    let ends = severity == "FATAL" || severity == "PANIC" || state == nil || state?.category == "08"
    let message = field("M") ?? String(cString: PQresultErrorMessage(result))
    self.init(
      Details(
        kind: ends ? .connectionLost : .server, sqlState: state, message: message.trimmingNewlines,
        constraint: field("n"), table: field("t"), column: field("c"), position: field("P").flatMap { Int($0) },
        sql: sql, origin: origin))
  }

  /// What libpq says about a connection that is broken or was never made.
  init(_ kind: Kind, connection: OpaquePointer?) {
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? "out of memory"
    self.init(kind, message.trimmingNewlines)
  }

  /// The same failure told to another caller who was waiting on the same connection.
  func lost(sql: String, origin: Origin) -> PostgresError {
    PostgresError(
      Details(kind: .connectionLost, sqlState: sqlState, message: message, sql: sql, origin: origin))
  }
}

extension String {
  var trimmingNewlines: String {
    var text = self[...]
    while text.last == "\n" { text.removeLast() }
    return String(text)
  }
}
