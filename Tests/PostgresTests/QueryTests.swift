import Testing

@testable import Postgres

@Suite struct QueryTests {
  @Test func interpolationsBecomeNumberedParameters() {
    let query: Query = "SELECT \(1) + \(2.5), \("x"), \(nil as String?)"
    #expect(query.sql == "SELECT $1 + $2, $3, $4")
    #expect(query.bindings.entries.map(\.type) == [20, 701, 0, 0])
    #expect(query.bindings.entries.map(\.length) == [8, 8, 1, -1])
    #expect(query.bindings.bytes == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0x40, 4, 0, 0, 0, 0, 0, 0, 0, 0x78, 0])
  }

  @Test func placeholdersGoOnBeyondNine() {
    var query = Query(stringLiteral: "SELECT 0")
    for number in 1...11 { query = "\(fragment: query), \(number)" }
    #expect(query.sql == "SELECT 0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11")
    #expect(query.parameterCount == 11)
  }

  @Test func fragmentsAreNumberedOnAndKeepTheirText() {
    let filter: Query = "login = \("a$1") AND note <> '$1é' AND id = \(7)"
    let query: Query = "SELECT \(true) WHERE \(fragment: filter) LIMIT \(9)"
    #expect(query.sql == "SELECT $1 WHERE login = $2 AND note <> '$1é' AND id = $3 LIMIT $4")
    #expect(query.bindings.entries.map(\.type) == [16, 0, 20, 20])
    #expect(query.bindings.entries.map(\.length) == [1, 3, 8, 8])
  }

  @Test func zeroInTextIsRefusedAlsoInsideOfFragmentsAndArrays() {
    let origin = Origin(file: #fileID, line: #line)
    let plain: Query = "SELECT \(1), \("a\0b")"
    #expect(plain.unsendable?(origin).kind == .invalid)
    #expect(plain.unsendable?(origin).message == "parameter $2 is text with a NUL")
    let nested: Query = "\(fragment: plain)"
    #expect(nested.unsendable?(origin).kind == .invalid)
    let array: Query = "SELECT \(["ok", "\0"])"
    #expect(array.unsendable?(origin).kind == .invalid)
    let document: Query = "SELECT \(JSON([0x22, 0, 0x22]))"
    #expect(document.unsendable?(origin).kind == .invalid)
    let bytes: Query = "SELECT \([UInt8(0), 1])"
    #expect(bytes.unsendable == nil)
  }

  @Test func parametersEndAtPostgresLimit() {
    var bindings = Bindings()
    for _ in 0..<65_535 { true.bind(to: &bindings) }
    #expect(bindings.refusal == nil)
    true.bind(to: &bindings)
    #expect(bindings.refusal != nil)
  }

  @Test func fingerprintDependsOnTextAndTypes() {
    let one: Query = "SELECT \(1)"
    let other: Query = "SELECT \(2)"
    let text: Query = "SELECT \("1")"
    let longer: Query = "SELECT \(1) "
    #expect(one.fingerprint == other.fingerprint)
    #expect(one.fingerprint != text.fingerprint)
    #expect(one.fingerprint != longer.fingerprint)
    #expect(Query("12345678").fingerprint != Query("12345679").fingerprint)
  }

  @Test func errorsSayLittleUnlessDebugged() {
    let error = PostgresError(
      PostgresError.Details(
        kind: .server, sqlState: .uniqueViolation, message: "duplicate key value", constraint: "person_key",
        sql: "INSERT …", origin: Origin(file: "A/B.swift", line: 3)))
    #expect("\(error)" == "the database refused the statement (23505)")
    #expect(
      String(reflecting: error)
        == "server 23505: duplicate key value [constraint person_key] at A/B.swift:3 in: INSERT …")
  }
}
