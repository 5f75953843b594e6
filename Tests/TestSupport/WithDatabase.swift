import EventLoop
import Postgres

/// Runs `body` with a started `Database` on its own loops, and stops both.
@discardableResult
public func withDatabase<Value>(
  _ connectionString: String, loops: Int = 1, configure: (inout Database.Configuration) -> Void = { _ in },
  _ body: (Database) async throws -> Value
) async throws -> Value {
  try await withDatabase(connectionString, loops: loops, configure: configure) { database, _ in
    try await body(database)
  }
}

/// Runs `body` with a started `Database` and the loops it is on, and stops both.
@discardableResult
public func withDatabase<Value>(
  _ connectionString: String, loops: Int = 1, configure: (inout Database.Configuration) -> Void = { _ in },
  _ body: (Database, EventLoopGroup) async throws -> Value
) async throws -> Value {
  var configuration = Database.Configuration(connectionString: connectionString)
  configuration.pipelinesPerLoop = 1
  configuration.poolSize = 2
  configure(&configuration)
  let group = try EventLoopGroup(count: loops, name: "test")
  defer { group.stop() }
  let database = try Database(configuration, group: group)
  do {
    try await database.start()
    let value = try await body(database, group)
    await database.stop()
    return value
  } catch {
    await database.stop()
    throw error
  }
}

extension Database {
  /// The values of a statement with one column.
  public func column<Value: ColumnDecodable>(_ type: Value.Type, _ query: Query) async throws -> [Value] {
    try await self.query(query).decode(type)
  }
}

/// The values of a statement with one column, on a connection made for it.
@discardableResult
public func column<Value: ColumnDecodable & Sendable>(
  _ type: Value.Type, _ query: Query, of connectionString: String
) async throws -> [Value] {
  try await withDatabase(connectionString) { try await $0.column(type, query) }
}
