import MagpieSchema
import Postgres
import TestSupport
import Testing

/// `sql/admin/README.md` says what happens.
@Suite struct CookbookTests {
  @Test func `every recipe of the page gives what the page says`() async throws {
    let recipes = try Cookbook.ofAdministrators().recipes
    #expect(recipes.count > 30)
    let url = try await TestCluster.database()
    try await Migrator.migrate(
      connectionString: url, migrations: Migrations.all, repeatable: Migrations.repeatable)
    // As somebody who is an administrator and nothing else.
    try await withDatabase(url, configure: { $0.role = "magpie_admin" }) { database in
      for recipe in recipes {
        let statement = Query(unsafe: recipe.sql)
        do {
          // The columns as text, as psql would show them.
          let rows = try await database.query(statement)
          guard let wanted = recipe.rows else { continue }
          #expect(texts(rows) == wanted, "\(recipe.testDescription)")
        } catch {
          Issue.record("\(recipe.testDescription): \(error)")
        }
      }
    }
  }

  private func texts(_ rows: Rows) -> [String] {
    rows.map { row in
      (0..<rows.columnCount).map { column in
        switch row[column] ?? "" {
        case "t": "true"
        case "f": "false"
        case let text: text
        }
      }.joined(separator: " | ")
    }
  }

  @Test func `a page is read by its blocks, statements and results`() {
    let page = """
      ```
      select 'not this';
      ```
      ```sql
      select 1
        from x;
      -- 1
      -- 2
      delete from y;
      ```
      -- not this
      """
    let recipes = Cookbook(markdown: page).recipes
    #expect(recipes.map(\.sql) == ["select 1\n  from x;", "delete from y;"])
    #expect(recipes.map(\.rows) == [["1", "2"], nil])
    #expect(recipes.map(\.line) == [5, 9])
  }
}
