import CLibpq

/// One row of `Rows`, which it keeps alive.
public struct Row: Sendable {
  let rows: Rows
  let index: Int

  /// Decodes all columns, in order, to a tuple: `try row.decode((Int64, String?).self)`.
  ///
  /// - Throws: `PostgresError` of kind `decoding` that names the row, the column and the type; also when the number of
  ///   columns differs.
  public func decode<each Column: ColumnDecodable>(
    _ type: (repeat each Column).Type
  ) throws(PostgresError) -> (repeat each Column) {
    var wanted = 0
    repeat count((each Column).self, &wanted)
    try requireColumns(wanted)
    var column = 0
    return (repeat try next((each Column).self, &column))
  }

  /// Decodes the only column.
  ///
  /// - Throws: `PostgresError` of kind `decoding`; also when there are more columns.
  public func decode<Column: ColumnDecodable>(_ type: Column.Type) throws(PostgresError) -> Column {
    try requireColumns(1)
    return try decode(type, at: 0)
  }

  /// Decodes the column at a position from 0.
  ///
  /// - Throws: `PostgresError` of kind `decoding` that names the row, the column and the type.
  public func decode<Column: ColumnDecodable>(_ type: Column.Type, at column: Int) throws(PostgresError) -> Column {
    guard column >= 0, column < rows.columnCount else {
      throw failure("row \(index) has no column \(column), only \(rows.columnCount)")
    }
    do throws(Cell.Failure) {
      return try Column(
        decoding: Cell(
          bytes: rows.bytes(row: index, column: column), type: PQftype(rows.result, Int32(column))))
    } catch {
      let name = rows.columnName(column)
      let oid = PQftype(rows.result, Int32(column))
      throw failure("row \(index), column \(column) \"\(name)\" (type oid \(oid)) as \(Column.self): \(error)")
    }
  }

  /// Decodes the first column of that name.
  ///
  /// - Throws: `PostgresError` of kind `decoding`; also when there is no such column.
  public func decode<Column: ColumnDecodable>(_ type: Column.Type, named name: String) throws(PostgresError) -> Column {
    guard let column = rows.columnIndex(name) else { throw failure("row \(index) has no column \"\(name)\"") }
    return try decode(type, at: column)
  }

  /// The text of the column at a position from 0; `nil` for NULL and for columns that do not exist.
  public subscript(column: Int) -> String? {
    withBytes(column) { bytes in bytes.map { String(decoding: $0, as: UTF8.self) } }
  }

  /// The text of the first column of that name; `nil` for NULL and for columns that do not exist.
  public subscript(name: String) -> String? { rows.columnIndex(name).flatMap { self[$0] } }

  /// Lends the text of a column as it lies in memory, `nil` for NULL and for columns that do not exist. Stored documents
  /// are passed on this way without a copy. The bytes are valid only during the call.
  @inline(__always)
  public func withBytes<Value, Failure: Error>(
    _ column: Int, _ body: (UnsafeRawBufferPointer?) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    guard column >= 0, column < rows.columnCount else { return try body(nil) }
    return try withExtendedLifetime(rows) { () throws(Failure) -> Value in
      try body(rows.bytes(row: index, column: column))
    }
  }

  private func count<Column>(_ type: Column.Type, _ total: inout Int) { total += 1 }

  private func next<Column: ColumnDecodable>(_ type: Column.Type, _ column: inout Int) throws(PostgresError) -> Column {
    defer { column += 1 }
    return try decode(type, at: column)
  }

  private func requireColumns(_ wanted: Int) throws(PostgresError) {
    if wanted != rows.columnCount { throw failure("\(wanted) columns asked for, \(rows.columnCount) are there") }
  }

  private func failure(_ message: String) -> PostgresError {
    PostgresError(.decoding, message, sql: rows.sql, origin: rows.origin)
  }
}
