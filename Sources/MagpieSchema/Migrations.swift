/// The files of `sql/migrations` and `sql/admin`, put into the binary when it is built.
public enum Migrations {
  /// Forward-only steps: file names such as `0001_roles.sql` with their texts, in the order they are applied, once each.
  public static var all: [(name: String, sql: String)] { embeddedMigrations }

  /// Functions and views for administrators: applied again, after the steps, whenever their text has changed.
  public static var repeatable: [(name: String, sql: String)] { embeddedAdmin }
}
