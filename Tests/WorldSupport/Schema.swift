import MagpieSchema
import Postgres
import TestSupport

/// Magpie's schema in databases for tests.
package enum Schema {
  /// Migrated once a process and copied for each test.
  private static let template = Task {
    let url = try await TestCluster.database()
    try await Migrator.migrate(
      connectionString: url, migrations: Migrations.all, repeatable: Migrations.repeatable)
    return TestCluster.name(of: url)
  }

  /// A new database with all of it.
  ///
  /// - Returns: the connection string, as the owner, `magpie`.
  package static func database() async throws -> String {
    try await TestCluster.database(template: try await template.value)
  }
}
