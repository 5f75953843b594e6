/// PostgreSQL's five-character error code (PostgreSQL manual, appendix A).
public struct SQLState: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// Five characters, such as `23505`.
  public let rawValue: String

  /// Takes the code as it is.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Takes the code as it is.
  public init(stringLiteral value: StaticString) { rawValue = "\(value)" }

  /// The code itself.
  public var description: String { rawValue }

  /// The first two characters: the family of the error, such as `23` for violated constraints.
  public var category: Substring { rawValue.prefix(2) }

  /// A unique constraint or index refused the row.
  public static let uniqueViolation: SQLState = "23505"
  /// A foreign key refused the row.
  public static let foreignKeyViolation: SQLState = "23503"
  /// A CHECK constraint refused the row.
  public static let checkViolation: SQLState = "23514"
  /// A column that must have a value got none.
  public static let notNullViolation: SQLState = "23502"
  /// A serializable or repeatable-read transaction must be tried again.
  public static let serializationFailure: SQLState = "40001"
  /// Two transactions waited for each other; this one was chosen to fail.
  public static let deadlockDetected: SQLState = "40P01"
  /// `lock_timeout` passed, or NOWAIT found the lock taken.
  public static let lockNotAvailable: SQLState = "55P03"
  /// `statement_timeout` passed, or somebody cancelled the statement.
  public static let queryCanceled: SQLState = "57014"
  /// The server shuts down, or an administrator ended this session.
  public static let adminShutdown: SQLState = "57P01"
  /// The server starts, stops or recovers.
  public static let cannotConnectNow: SQLState = "57P03"
  /// A write reached a standby or a read-only transaction.
  public static let readOnlyTransaction: SQLState = "25006"
  /// The transaction has failed before; only ROLLBACK is taken.
  public static let inFailedTransaction: SQLState = "25P02"
  /// The role may not do this.
  public static let insufficientPrivilege: SQLState = "42501"
  /// No such table or view.
  public static let undefinedTable: SQLState = "42P01"
  /// The statement cannot be parsed.
  public static let syntaxError: SQLState = "42601"
  /// A prepared statement that the session does not have (any more).
  public static let undefinedStatement: SQLState = "26000"
  /// Among others: a prepared statement whose result columns have changed.
  public static let featureNotSupported: SQLState = "0A000"
}
