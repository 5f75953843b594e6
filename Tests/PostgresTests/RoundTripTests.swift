import Postgres
import TestSupport
import Testing

@Suite struct RoundTripTests {
  @Test func everyTypeComesBackAsItWent() async throws {
    let url = try await TestCluster.database()
    let id = UUID()
    let now = Instant(microseconds: 1_709_210_096_789_123)
    try await withDatabase(url) { database in
      let rows = try await database.query(
        """
        SELECT \(Int16(-7)), \(Int32.min), \(Int64.max), \(1.0e-300), \(false), \("é'\"\\")::text, \([UInt8](0...255)),
               \(id), \(now), \(JSON(Array("{\"a\": [1]}".utf8)))::jsonb
        """)
      let values = try #require(rows.first).decode(
        (Int16, Int32, Int64, Double, Bool, String, [UInt8], UUID, Instant, String).self)
      #expect(values.0 == -7)
      #expect(values.1 == .min)
      #expect(values.2 == .max)
      #expect(values.3 == 1.0e-300)
      #expect(values.4 == false)
      #expect(values.5 == "é'\"\\")
      #expect(values.6 == [UInt8](0...255))
      #expect(values.7 == id)
      #expect(values.8 == now)
      #expect(values.9 == "{\"a\": [1]}")
    }
  }

  @Test func everyArrayComesBackAsItWent() async throws {
    let url = try await TestCluster.database()
    let ids = [UUID(), UUID()]
    let texts = ["", "NULL", "a,b", "\"", "\\", "{}", "é\n", " "]
    try await withDatabase(url) { database in
      let rows = try await database.query(
        """
        SELECT \([Int64.min, 0, .max]), \(texts), \(ids), \([true, false]), \([1.5, -0.25]), \([Int64]()),
               \([[UInt8(1), 2], []]), \([Instant(microseconds: 5)])
        """)
      let row = try #require(rows.first)
      #expect(try row.decode([Int64].self, at: 0) == [.min, 0, .max])
      #expect(try row.decode([String].self, at: 1) == texts)
      #expect(try row.decode([UUID].self, at: 2) == ids)
      #expect(try row.decode([Bool].self, at: 3) == [true, false])
      #expect(try row.decode([Double].self, at: 4) == [1.5, -0.25])
      #expect(try row.decode([Int64].self, at: 5) == [])
      #expect(row[6] == #"{"\\x0102","\\x"}"#)
      #expect(try row.decode([Instant].self, at: 7) == [Instant(microseconds: 5)])
    }
  }

  @Test func arraysOfIntegersAreReadInPlace() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let rows = try await database.query(
        """
        SELECT '{}'::bigint[], '{7}'::bigint[], ARRAY[\(Int64.min), 0, \(Int64.max)], NULL::bigint[], '{1,NULL}'::bigint[],
               '{{1},{2}}'::bigint[], '[0:1]={1,2}'::bigint[], 'x'
        """)
      #expect(try (0..<4).map { try rows.integers(row: 0, column: $0) } == [[], [7], [.min, 0, .max], []])
      for column in 4...7 {
        let error = #expect(throws: PostgresError.self) { try rows.integers(row: 0, column: column) }
        #expect(error?.kind == .decoding)
      }
      #expect(try rows.integers(row: 1, column: 0).isEmpty && rows.integers(row: 0, column: 8).isEmpty)
    }
  }

  @Test func valuesNeverBecomeSQL() async throws {
    let url = try await TestCluster.database()
    let attacks = [
      "'; DROP TABLE person; --", "\\'; SELECT 1", "$1", "$$", "E'\\x27'", "/*", "1 OR 1=1", "\u{2019} OR 1=1",
    ]
    try await withDatabase(url) { database in
      try await database.query("CREATE TABLE person (login text)")
      for attack in attacks {
        #expect(try await database.column(String.self, "SELECT \(attack)::text") == [attack])
        #expect(try await database.column(String.self, "SELECT login FROM person WHERE login = \(attack)") == [])
        #expect(try await database.column([String].self, "SELECT \([attack])") == [[attack]])
      }
      #expect(try await database.column(Int.self, "SELECT count(*) FROM person") == [0])
    }
  }

  @Test func nullIsOnlyDecodedToOptionals() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let rows = try await database.query("SELECT 1 AS id, NULL::text AS name UNION ALL SELECT 2, '' ORDER BY id")
      let values = try rows.decode((Int, String?).self)
      #expect(values.map(\.0) == [1, 2])
      #expect(values.map(\.1) == [nil, ""])
      let error = #expect(throws: PostgresError.self) { try rows.decode((Int, String).self) }
      #expect(error?.kind == .decoding)
      #expect(error?.message == "row 0, column 1 \"name\" (type oid 25) as String: null")
      #expect(rows[1].withBytes(1) { $0?.count } == 0)
      #expect(rows[0].withBytes(1) { $0?.count } == nil)
    }
  }

  @Test func decodingErrorsNameRowColumnAndType() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      let rows = try await database.query("SELECT '12'::text AS size UNION ALL SELECT 'many'")
      let error = #expect(throws: PostgresError.self) { try rows.decode(Int.self) }
      #expect(error?.message == "row 1, column 0 \"size\" (type oid 25) as Int: malformed")
      let count = #expect(throws: PostgresError.self) { try rows.decode((String, Int).self) }
      #expect(count?.message == "2 columns asked for, 1 are there")
      let name = #expect(throws: PostgresError.self) { try rows[0].decode(String.self, named: "sise") }
      #expect(name?.message == "row 0 has no column \"sise\"")
      #expect(try rows[1].decode(String.self, named: "size") == "many")
    }
  }

  @Test func affectedRowsAreCounted() async throws {
    let url = try await TestCluster.database()
    try await withDatabase(url) { database in
      try await database.query("CREATE TABLE t (id int)")
      let inserted = try await database.query("INSERT INTO t SELECT generate_series(1, 5)")
      #expect(inserted.affected == 5)
      #expect(inserted.isEmpty)
      #expect(try await database.query("DELETE FROM t WHERE id > \(3)").affected == 2)
    }
  }
}
