extension Migrator {
  /// Why a database cannot be brought up to date. `description` is one clear line.
  public enum Failure: Error, Sendable {
    /// The database has steps from a later binary.
    case schemaNewer(names: [String])
    /// The database has a step that this binary once had and has no more.
    case unknown(name: String)
    /// A step was applied with another text than the binary has.
    case changed(name: String)
    /// A step was not applied although a later one was.
    case outOfOrder(name: String, after: String)
    /// A step failed; nothing of it was kept. `line` is where in the file, `completed` how many statements went well.
    case step(name: String, line: Int?, completed: Int, PostgresError)
    /// A step has a COMMIT or ROLLBACK of its own.
    case endsTransaction(name: String)
    /// Another process has been migrating for too long.
    case busy
  }
}

extension Migrator.Failure: CustomStringConvertible {
  /// One clear line.
  public var description: String {
    switch self {
    case .schemaNewer(let names):
      "the database's schema is newer than this binary: it has \(names.joined(separator: ", "))"
    case .unknown(let name): "the database has had \(name) applied, which this binary does not have"
    case .changed(let name): "\(name) was applied with another text; applied steps must not be edited"
    case .outOfOrder(let name, let after): "\(name) was not applied although \(after) was; give it a later name"
    case .step(let name, let line?, _, let error): "\(name):\(line): \(error.message)\(error.suffix)"
    case .step(let name, nil, let completed, let error):
      "\(name), statement \(completed + 1): \(error.message)\(error.suffix)"
    case .endsTransaction(let name): "\(name) ends the transaction in which it is applied; take its COMMIT out"
    case .busy: "another process has been migrating this database for \(Migrator.waitLimitSeconds) s"
    }
  }
}

extension PostgresError {
  fileprivate var suffix: String { sqlState.map { " (\($0))" } ?? "" }
}
