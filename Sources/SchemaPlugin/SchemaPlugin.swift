import Foundation
import PackagePlugin

/// Puts the files of `sql/migrations` and `sql/admin` into the binary, so that a deployed server needs no files beside it.
@main
struct SchemaPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let files = try ["sql/migrations", "sql/admin"].flatMap { folder in
      try FileManager.default.contentsOfDirectory(
        at: context.package.directoryURL.appending(path: folder), includingPropertiesForKeys: nil
      )
      .filter { $0.pathExtension == "sql" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
    let output = context.pluginWorkDirectoryURL.appending(path: "Migrations.generated.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) SQL files",
        executable: try context.tool(named: "embed-schema").url,
        arguments: [output.path()] + files.map { $0.path() },
        inputFiles: files,
        outputFiles: [output])
    ]
  }
}
