import FoundationEssentials
import Testing

/// The statements of a page in Markdown, with the results that the page promises.
struct Cookbook {
  /// One statement of an `sql` block.
  struct Recipe: CustomTestStringConvertible {
    var sql: String
    /// The rows written as comments below it, columns joined by ` | `; `nil` when the page promises nothing.
    var rows: [String]?
    /// Of the statement's first line, from 1.
    var line: Int

    var testDescription: String { "line \(line): \(sql.prefix(60))" }
  }

  var recipes: [Recipe] = []

  /// A statement ends with a semicolon at the end of a line.
  init(markdown: String) {
    var isSQL = false
    var open: Recipe?
    for (index, line) in markdown.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.hasPrefix("```") {
        isSQL = line == "```sql"
        continue
      }
      guard isSQL, !line.isEmpty else { continue }
      if line.hasPrefix("-- "), open == nil, !recipes.isEmpty {
        recipes[recipes.count - 1].rows = (recipes[recipes.count - 1].rows ?? []) + [String(line.dropFirst(3))]
        continue
      }
      var recipe = open ?? Recipe(sql: "", line: index + 1)
      recipe.sql += recipe.sql.isEmpty ? String(line) : "\n\(line)"
      open = recipe
      if line.hasSuffix(";") {
        recipes.append(recipe)
        open = nil
      }
    }
    if let open { recipes.append(open) }
  }

  /// The page that ships with the functions.
  static func ofAdministrators(file: String = #filePath) throws -> Cookbook {
    let root = file.split(separator: "/").dropLast(4).joined(separator: "/")
    return Cookbook(markdown: try String(contentsOfFile: "/\(root)/sql/admin/README.md", encoding: .utf8))
  }
}
