import CLibpq
import Glibc

/// What libpq takes from the environment where a connection string says nothing.
enum LibpqEnvironment {
  /// Read besides those of the options: for settings of the session, and an old name of `PGSSLMODE`.
  private static let furtherVariables = ["PGDATESTYLE", "PGTZ", "PGGEQO", "PGREQUIRESSL"]

  /// All variables that the present libpq reads for a connection, `PGSERVICE` too, without which no service file counts.
  static var variables: [String] {
    // Of an empty string, the parsed options are all there are.
    guard let parsed = PQconninfoParse("", nil) else { return furtherVariables }
    defer { PQconninfoFree(parsed) }
    var variables = furtherVariables
    var option = parsed
    while option.pointee.keyword != nil {
      if let variable = option.pointee.envvar { variables.append(String(cString: variable)) }
      option += 1
    }
    return variables
  }

  /// Removes them all. Whoever reads the environment meanwhile on another thread may miss a variable, but reads nothing that is
  /// gone: glibc only moves the pointers to those that stay.
  static func clear() {
    for variable in variables where getenv(variable) != nil { unsetenv(variable) }
  }
}
