import CLibpq

/// The answer to one statement. Owns libpq's result and frees it.
///
/// `@unchecked Sendable`: libpq never changes a finished result, and all functions used here only read it.
public final class Rows: @unchecked Sendable, RandomAccessCollection {
  let result: OpaquePointer
  let sql: String
  let origin: Origin
  /// How many rows there are.
  public let count: Int
  /// How many columns each row has.
  public let columnCount: Int

  /// Takes over the result.
  init(_ result: OpaquePointer, sql: String, origin: Origin) {
    self.result = result
    self.sql = sql
    self.origin = origin
    count = Int(PQntuples(result))
    columnCount = Int(PQnfields(result))
  }

  deinit { PQclear(result) }

  /// Always 0.
  public var startIndex: Int { 0 }
  /// The number of rows.
  public var endIndex: Int { count }
  /// The row at a position from 0; anything outside of `0..<count` ends the process, as with arrays.
  public subscript(position: Int) -> Row {
    precondition(position >= 0 && position < count, "row index out of range")
    return Row(rows: self, index: position)
  }

  /// The names of the columns, in order.
  public var columns: [String] { (0..<columnCount).map(columnName) }

  /// How many rows the statement inserted, updated, deleted, moved or selected. 0 for other statements.
  public var affected: Int {
    guard let text = PQcmdTuples(result) else { return 0 }
    return Int(String(cString: text)) ?? 0
  }

  /// The command tag, such as `INSERT 0 1`.
  public var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

  /// Decodes all rows, each to a tuple with one element a column.
  ///
  /// - Throws: `PostgresError` of kind `decoding` that names the row, the column and the type.
  public func decode<each Column: ColumnDecodable>(
    _ type: (repeat each Column).Type
  ) throws(PostgresError) -> [(repeat each Column)] {
    var all: [(repeat each Column)] = []
    all.reserveCapacity(count)
    for row in self { all.append(try row.decode(type)) }
    return all
  }

  /// Decodes all rows of a result with one column.
  ///
  /// - Throws: `PostgresError` of kind `decoding` that names the row, the column and the type.
  public func decode<Column: ColumnDecodable>(_ type: Column.Type) throws(PostgresError) -> [Column] {
    var all: [Column] = []
    all.reserveCapacity(count)
    for row in self { all.append(try row.decode(type)) }
    return all
  }

  func columnName(_ column: Int) -> String { PQfname(result, Int32(column)).map { String(cString: $0) } ?? "" }

  func columnIndex(_ name: String) -> Int? {
    for column in 0..<columnCount where columnName(column) == name { return column }
    return nil
  }

  @inline(__always)
  func bytes(row: Int, column: Int) -> UnsafeRawBufferPointer? {
    let row = Int32(truncatingIfNeeded: row)
    let column = Int32(truncatingIfNeeded: column)
    let length = PQgetlength(result, row, column)
    // An empty value and NULL both have length 0.
    if length == 0, PQgetisnull(result, row, column) == 1 { return nil }
    return UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: Int(length))
  }
}
