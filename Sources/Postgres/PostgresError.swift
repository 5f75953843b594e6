/// What went wrong between asking and having rows.
///
/// `description` is generic, so that an error that leaks shows nothing; `debugDescription` has the server's message, the
/// SQL text (never its parameters) and the place in the source that asked.
public struct PostgresError: Error, Sendable {
  /// The cases that callers act upon.
  public enum Kind: Sendable, Equatable {
    /// The server refused the statement; `sqlState` says why. Nothing of the statement was done.
    case server
    /// The connection ended while the statement was under way. Whether it was done is unknown.
    case connectionLost
    /// No answer in time. Whether the statement was done, or will be, is unknown.
    case timeout
    /// No connection is up. Nothing was sent.
    case unavailable
    /// Too much is waiting already. Nothing was sent.
    case overloaded
    /// The query cannot be sent as it is, such as text with a NUL, or a connection was used outside of its scope.
    case invalid
    /// A value is not what the caller asked for.
    case decoding
  }

  /// What the server and the caller said about it. A class, so that the error is one word wide in results.
  final class Details: Sendable {
    let kind: Kind
    let sqlState: SQLState?
    let message: String
    let constraint: String?
    let table: String?
    let column: String?
    let position: Int?
    let sql: String?
    let origin: Origin?

    init(
      kind: Kind, sqlState: SQLState? = nil, message: String, constraint: String? = nil, table: String? = nil,
      column: String? = nil, position: Int? = nil, sql: String? = nil, origin: Origin? = nil
    ) {
      self.kind = kind
      self.sqlState = sqlState
      self.message = message
      self.constraint = constraint
      self.table = table
      self.column = column
      self.position = position
      self.sql = sql
      self.origin = origin
    }
  }

  let details: Details

  init(_ details: Details) { self.details = details }

  init(_ kind: Kind, _ message: String, sql: String? = nil, origin: Origin? = nil) {
    details = Details(kind: kind, message: message, sql: sql, origin: origin)
  }

  /// For calls that come when the loop they need is gone.
  static func ended(_ origin: Origin?) -> PostgresError {
    PostgresError(.unavailable, "the loop has ended", origin: origin)
  }

  /// What callers act upon.
  public var kind: Kind { details.kind }
  /// The server's code. Present for `server`, and for `connectionLost` when the server said why.
  public var sqlState: SQLState? { details.sqlState }
  /// The server's primary message, for logs. Not for clients: it can quote what the caller sent.
  public var message: String { details.message }
  /// The violated constraint's name.
  public var constraint: String? { details.constraint }
  /// The table the error is about.
  public var table: String? { details.table }
  /// The column the error is about.
  public var column: String? { details.column }
  /// Where in the SQL text the error is: characters from 1.
  public var position: Int? { details.position }

  /// Whether the same transaction, run again from its start, may well succeed: 40001, 40P01, 55P03, or a prepared statement
  /// that a change of the schema had made outdated and that has been forgotten since.
  public var isRetryable: Bool {
    kind == .server
      && (sqlState == .serializationFailure || sqlState == .deadlockDetected || sqlState == .lockNotAvailable
        || saysPreparationIsOutdated)
  }

  /// The session does not know the prepared statement, or its result columns have changed. It has not run.
  var saysPreparationIsOutdated: Bool {
    sqlState == .undefinedStatement || (sqlState == .featureNotSupported && message.contains("cached plan"))
  }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
  /// Generic on purpose.
  public var description: String {
    switch kind {
    case .server: "the database refused the statement (\(sqlState?.rawValue ?? "no code"))"
    case .connectionLost: "the connection to the database was lost"
    case .timeout: "the database did not answer in time"
    case .unavailable: "the database cannot be reached"
    case .overloaded: "too many statements are waiting for the database"
    case .invalid: "the statement cannot be sent"
    case .decoding: "the database answered with an unexpected value"
    }
  }

  /// For logs of the operator. The server's DETAIL line is left out, since it quotes values of rows.
  public var debugDescription: String {
    var text = "\(kind)"
    if let sqlState { text += " \(sqlState)" }
    text += ": \(message)"
    if let constraint { text += " [constraint \(constraint)]" }
    if let origin = details.origin { text += " at \(origin.file):\(origin.line)" }
    if let sql = details.sql { text += " in: \(sql)" }
    return text
  }
}

/// The place in the source that asked, for errors.
struct Origin: Sendable {
  let file: StaticString
  let line: UInt
}
