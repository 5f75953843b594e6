import CLibpq
import Glibc

/// Brings a database's schema to where this binary wants it.
///
/// Steps are applied in the order of their names, once each, each in its own transaction. Repeatable files (functions,
/// views) follow, again whenever their text has changed. Both are recorded with their SHA-256 in `magpie.migration`. Any
/// number of processes may migrate at once: an advisory lock lets one do it while the others wait, at most for `waitLimit`.
/// When there is nothing to do, nothing is locked.
public struct Migrator {
  /// A file's name, such as `0001_schemas.sql`, and its text.
  public typealias File = (name: String, sql: String)

  /// How a database stands to the files.
  public enum State: Equatable, Sendable {
    /// Everything is applied.
    case current
    /// These would be applied, in this order.
    case pending([String])
  }

  /// How long a step may wait for a lock that the traffic holds, before it is rolled back and tried again.
  static let lockTimeoutSeconds = 5
  /// How often a step is tried when it gets no lock.
  static let attempts = 5
  /// How long to wait for another process that is migrating.
  static let waitLimitSeconds = 60
  /// Names this lock among all advisory locks of a database: "magpie" in ASCII.
  private static let lockKey: Int64 = 0x6D61_6770_6965

  private let connection: BlockingConnection

  /// Applies what is missing.
  ///
  /// - Parameters:
  ///   - connectionString: of a role that may create what the files create.
  ///   - migrations: the steps; their names give the order.
  ///   - repeatable: applied after the steps whenever their text has changed, in the order of their names.
  /// - Throws: `Failure`, or `PostgresError` when the database cannot be reached.
  public static func migrate(
    connectionString: String, migrations: [File], repeatable: [File] = []
  ) async throws {
    let files = FileSet(migrations, repeatable)
    try await OwnThread.run {
      let migrator = try Migrator(connectionString)
      var record = try migrator.record()
      if files.pending(after: record, try files.check(record)).isEmpty { return }
      try migrator.takeLock()
      try migrator.createRecord()
      // Read again: another process may have done it while this one waited.
      record = try migrator.record()
      for file in files.pending(after: record, try files.check(record)) { try migrator.apply(file) }
      // The lock goes with the connection.
    }
  }

  /// Compares without changing anything.
  ///
  /// - Throws: `Failure` when the database has steps that the binary does not know, or other texts of them; `PostgresError`
  ///   when it cannot be reached.
  public static func check(
    connectionString: String, migrations: [File], repeatable: [File] = []
  ) async throws -> State {
    let files = FileSet(migrations, repeatable)
    return try await OwnThread.run {
      let record = try Migrator(connectionString).record()
      let pending = files.pending(after: record, try files.check(record)).map(\.name)
      return pending.isEmpty ? .current : .pending(pending)
    }
  }

  private init(_ connectionString: String) throws(PostgresError) {
    let parameters = try ConnectionParameters(connectionString, applicationName: "magpie migrate")
    connection = try BlockingConnection(parameters)
  }

  /// What has been applied: checksums by name.
  private func record() throws(PostgresError) -> FileSet.Record {
    let exists = try connection.query("SELECT to_regclass('magpie.migration') IS NOT NULL")
    guard try exists.first?.decode(Bool.self) == true else { return FileSet.Record() }
    var record = FileSet.Record()
    let rows = try connection.query("SELECT name, checksum, is_repeatable FROM magpie.migration")
    for (name, checksum, isRepeatable) in try rows.decode((String, [UInt8], Bool).self) {
      if isRepeatable { record.repeatable[name] = checksum } else { record.steps[name] = checksum }
    }
    return record
  }

  private func takeLock() throws {
    do throws(PostgresError) {
      try connection.script("SET statement_timeout = 0; SET lock_timeout = '\(Migrator.waitLimitSeconds)s'")
      try connection.query("SELECT pg_advisory_lock(\(Migrator.lockKey))")
    } catch {
      if error.sqlState == .lockNotAvailable { throw Failure.busy }
      throw error
    }
  }

  private func createRecord() throws(PostgresError) {
    try connection.script(
      """
      SET client_min_messages = warning;
      CREATE SCHEMA IF NOT EXISTS magpie;
      CREATE TABLE IF NOT EXISTS magpie.migration (
        name text PRIMARY KEY,
        checksum bytea NOT NULL CHECK (length(checksum) = 32),
        is_repeatable boolean NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT clock_timestamp());
      COMMENT ON TABLE magpie.migration IS 'The files that have been applied, with the SHA-256 of their texts.';
      """)
  }

  private func apply(_ file: FileSet.Entry) throws {
    var backoff = Backoff()
    while true {
      do { return try applyOnce(file) } catch let failure as Failure {
        guard case .step(_, _, _, let error) = failure, error.isRetryable, backoff.failures < Migrator.attempts - 1
        else { throw failure }
        usleep(useconds_t(backoff.next().wholeMicroseconds))
      }
    }
  }

  private func applyOnce(_ file: FileSet.Entry) throws {
    try connection.script("BEGIN; SET LOCAL lock_timeout = '\(Migrator.lockTimeoutSeconds)s'")
    do throws(BlockingConnection.ScriptFailure) {
      try connection.run(file.sql)
    } catch {
      try? connection.script("ROLLBACK")  // when the connection is gone, the server does it
      throw Failure.step(
        name: file.name, line: error.error.position.map { file.sql.line(ofCharacter: $0) },
        completed: error.completed, error.error)
    }
    guard connection.transactionStatus == PQTRANS_INTRANS else { throw Failure.endsTransaction(name: file.name) }
    try connection.query(
      """
      INSERT INTO magpie.migration (name, checksum, is_repeatable)
      VALUES (\(file.name), \(file.checksum), \(file.isRepeatable))
      ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum, applied_at = clock_timestamp()
      """)
    try connection.script("COMMIT")
  }
}

extension String {
  /// The line, from 1, of a character, from 1, counted as PostgreSQL does: in code points.
  func line(ofCharacter position: Int) -> Int {
    1 + unicodeScalars.prefix(max(0, position - 1)).count { $0 == "\n" }
  }
}

extension Duration {
  fileprivate var wholeMicroseconds: Int64 {
    components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
  }
}
