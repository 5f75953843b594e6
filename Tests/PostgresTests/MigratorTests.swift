import EventLoop
import TestSupport
import Testing

@testable import Postgres

@Suite struct MigratorTests {
  private static let files: [Migrator.File] = [
    ("0001_one.sql", "CREATE TABLE one (id int);"),
    ("0002_two.sql", "CREATE TABLE two (id int); INSERT INTO two VALUES (1), (2);"),
  ]

  @Test func appliesStepsOnceInOrderAndThenIsCurrent() async throws {
    let url = try await TestCluster.database()
    // Given in another order than their names.
    let files = Array(MigratorTests.files.reversed())
    #expect(
      try await Migrator.check(connectionString: url, migrations: files)
        == .pending(["0001_one.sql", "0002_two.sql"]))
    try await Migrator.migrate(connectionString: url, migrations: files)
    try await Migrator.migrate(connectionString: url, migrations: files)
    #expect(try await Migrator.check(connectionString: url, migrations: files) == .current)
    try await withDatabase(url) { database in
      #expect(try await database.column(Int.self, "SELECT id FROM two ORDER BY id") == [1, 2])
      let names = try await database.query("SELECT name FROM magpie.migration ORDER BY applied_at")
      #expect(try names.decode(String.self) == ["0001_one.sql", "0002_two.sql"])
    }
  }

  @Test func eightAtOnceApplyEachStepOnce() async throws {
    let url = try await TestCluster.database()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { try await Migrator.migrate(connectionString: url, migrations: MigratorTests.files) }
      }
      try await group.waitForAll()
    }
    #expect(try await column(Int.self, "SELECT id FROM two ORDER BY id", of: url) == [1, 2])
  }

  @Test func failingStepIsRolledBackAndNamesItsLine() async throws {
    let url = try await TestCluster.database()
    let broken: Migrator.File = ("0003_three.sql", "CREATE TABLE three (id int);\n-- é\n\nSELEC 1;\n")
    let failure = await #expect(throws: Migrator.Failure.self) {
      try await Migrator.migrate(connectionString: url, migrations: MigratorTests.files + [broken])
    }
    #expect(failure?.description == "0003_three.sql:4: syntax error at or near \"SELEC\" (42601)")
    // The steps before it stay; of the broken one nothing does.
    #expect(try await Migrator.check(connectionString: url, migrations: MigratorTests.files) == .current)
    #expect(try await column(String?.self, "SELECT to_regclass('three')::text", of: url) == [nil])
  }

  @Test func failureWithoutPositionNamesTheStatement() async throws {
    let url = try await TestCluster.database()
    let broken: Migrator.File = (
      "0001_a.sql", "CREATE TABLE a (id int UNIQUE); INSERT INTO a VALUES (1); INSERT INTO a VALUES (1);"
    )
    let failure = await #expect(throws: Migrator.Failure.self) {
      try await Migrator.migrate(connectionString: url, migrations: [broken])
    }
    guard case .step("0001_a.sql", nil, completed: 2, let error) = failure else {
      Issue.record("unexpected: \(String(describing: failure))")
      return
    }
    #expect(error.sqlState == .uniqueViolation)
  }

  @Test func editedStepIsRefused() async throws {
    let url = try await TestCluster.database()
    try await Migrator.migrate(connectionString: url, migrations: MigratorTests.files)
    var edited = MigratorTests.files
    edited[0].sql += " "
    edited.append(("0003_three.sql", "CREATE TABLE three (id int)"))
    let failure = await #expect(throws: Migrator.Failure.self) {
      try await Migrator.migrate(connectionString: url, migrations: edited)
    }
    guard case .changed("0001_one.sql") = failure else {
      Issue.record("unexpected: \(String(describing: failure))")
      return
    }
    #expect(try await column(String?.self, "SELECT to_regclass('three')::text", of: url) == [nil])
  }

  @Test func stepsOfALaterBinaryAreSeen() async throws {
    let url = try await TestCluster.database()
    try await Migrator.migrate(connectionString: url, migrations: MigratorTests.files)
    let failure = await #expect(throws: Migrator.Failure.self) {
      try await Migrator.check(connectionString: url, migrations: [MigratorTests.files[0]])
    }
    guard case .schemaNewer(["0002_two.sql"]) = failure else {
      Issue.record("unexpected: \(String(describing: failure))")
      return
    }
  }

  @Test func stepBeforeAnAppliedOneIsRefused() async throws {
    let url = try await TestCluster.database()
    try await Migrator.migrate(connectionString: url, migrations: [MigratorTests.files[1]])
    let failure = await #expect(throws: Migrator.Failure.self) {
      try await Migrator.migrate(connectionString: url, migrations: MigratorTests.files)
    }
    guard case .outOfOrder("0001_one.sql", after: "0002_two.sql") = failure else {
      Issue.record("unexpected: \(String(describing: failure))")
      return
    }
  }

  @Test func repeatableFilesAreAppliedAgainWhenChanged() async throws {
    let url = try await TestCluster.database()
    func function(_ value: Int) -> Migrator.File {
      ("answer.sql", "CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE sql RETURN \(value);")
    }
    try await Migrator.migrate(connectionString: url, migrations: MigratorTests.files, repeatable: [function(1)])
    #expect(
      try await Migrator.check(
        connectionString: url, migrations: MigratorTests.files, repeatable: [function(2)]) == .pending(["answer.sql"]))
    try await Migrator.migrate(connectionString: url, migrations: MigratorTests.files, repeatable: [function(2)])
    #expect(try await column(Int.self, "SELECT answer()", of: url) == [2])
    // One that the binary no longer has is nobody's business.
    #expect(try await Migrator.check(connectionString: url, migrations: MigratorTests.files) == .current)
  }

  @Test func stepWithItsOwnCommitIsRefused() async throws {
    let url = try await TestCluster.database()
    let failure = await #expect(throws: Migrator.Failure.self) {
      try await Migrator.migrate(connectionString: url, migrations: [("0001_a.sql", "SELECT 1; COMMIT;")])
    }
    guard case .endsTransaction("0001_a.sql") = failure else {
      Issue.record("unexpected: \(String(describing: failure))")
      return
    }
  }

  @Test func lineIsCountedInCodePoints() {
    #expect("a\nb".line(ofCharacter: 1) == 1)
    #expect("a\nb".line(ofCharacter: 3) == 2)
    #expect("\u{1F600}\r\né\nx".line(ofCharacter: 6) == 3)
  }

  @Test func checksumIsSHA256() {
    let digits = FileSet.checksum("abc").flatMap { [Hex.digit($0 >> 4), Hex.digit($0 & 15)] }
    #expect(
      String(decoding: digits, as: UTF8.self)
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }
}
