/// What every connection is told before it is used: settings on which decoding relies, limits, and the role.
struct SessionSetup: Sendable {
  /// The role to become with SET ROLE; `nil` stays who has logged in.
  var role: String?
  /// How long the server lets one statement run. Zero: no limit.
  var statementTimeout: Duration
  /// How long the server lets one statement wait for a lock. Zero: no limit.
  var lockTimeout: Duration
  /// How long the server lets a transaction wait for its next statement. Zero: no limit.
  var idleInTransactionTimeout: Duration

  /// One string of statements for the simple protocol.
  var sql: String {
    var text = """
      SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; SET bytea_output = 'hex'; \
      SET extra_float_digits = 1; SET standard_conforming_strings = on; \
      SET statement_timeout = \(SessionSetup.milliseconds(statementTimeout)); \
      SET lock_timeout = \(SessionSetup.milliseconds(lockTimeout)); \
      SET idle_in_transaction_session_timeout = \(SessionSetup.milliseconds(idleInTransactionTimeout))
      """
    if let role { text += "; SET ROLE \(SessionSetup.quoted(identifier: role))" }
    return text
  }

  /// Rounded up, so that a short limit never becomes none.
  private static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return max(0, seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// An identifier in double quotes, inner ones doubled.
  static func quoted(identifier: String) -> String {
    var text = "\""
    for character in identifier.unicodeScalars {
      if character == "\"" { text.unicodeScalars.append("\"") }
      text.unicodeScalars.append(character)
    }
    return text + "\""
  }
}
