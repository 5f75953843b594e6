import Foundation

// embed-schema OUTPUT FILE...: writes one Swift file that holds the given SQL files as raw string literals.
let arguments = CommandLine.arguments.dropFirst()
guard let output = arguments.first else {
  FileHandle.standardError.write(Data("usage: embed-schema OUTPUT FILE...\n".utf8))
  exit(64)
}
func literals(_ folder: String, named name: String) throws -> String {
  var source = "  static let \(name): [(name: String, sql: String)] = [\n"
  for path in arguments.dropFirst() {
    let url = URL(filePath: path)
    guard url.deletingLastPathComponent().lastPathComponent == folder else { continue }
    let sql = try String(contentsOf: url, encoding: .utf8)
    // Enough number signs that nothing in the file can end the literal or start an interpolation.
    var signs = "##"
    while sql.contains("\"" + signs) || sql.contains("\\" + signs) { signs += "#" }
    source += "    (\"\(url.lastPathComponent)\", \(signs)\"\"\"\n\(sql)\n\"\"\"\(signs)),\n"
  }
  return source + "  ]\n"
}

let source =
  "extension Migrations {\n" + (try literals("migrations", named: "embeddedMigrations"))
  + (try literals("admin", named: "embeddedAdmin")) + "}\n"
try source.write(toFile: output, atomically: true, encoding: .utf8)
