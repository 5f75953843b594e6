import CLinux
import MagpieSchema
import Postgres

/// `magpie migrate [--check]`.
struct MigrateCommand {
  let settings: Settings
  let isCheck: Bool

  func run() async throws {
    var cluster: PrivateCluster?
    let connectionString: String
    if let url = settings.migrateURL ?? settings.databaseURL {
      connectionString = url
    } else {
      let own = PrivateCluster(directory: settings.data)
      cluster = own
      connectionString = try await own.start()
    }
    do {
      try await migrate(connectionString)
      await cluster?.stop()
    } catch {
      await cluster?.stop()
      throw error
    }
  }

  private func migrate(_ connectionString: String) async throws {
    if isCheck {
      switch try await Migrator.check(
        connectionString: connectionString, migrations: Migrations.all, repeatable: Migrations.repeatable)
      {
      case .current: CommandLineInterface.write("the schema is up to date\n", to: clinux_stdout())
      case .pending(let names): throw StartFailure("not applied yet: \(names.joined(separator: ", "))")
      }
    } else {
      try await Migrator.migrate(
        connectionString: connectionString, migrations: Migrations.all, repeatable: Migrations.repeatable)
      CommandLineInterface.write("the schema is up to date\n", to: clinux_stdout())
    }
  }
}
