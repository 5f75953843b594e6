/// Reads for long results, such as a list's page. Not generic, unlike `Row`'s: a generic function of another module is called
/// with its types looked up at run time, which for a page of a hundred members cost a tenth of the whole answer.
extension Rows {
  /// Lends the text of a value, `nil` for NULL and for places that do not exist. The bytes are valid only during the call.
  public func lend(row: Int, column: Int, to body: (UnsafeRawBufferPointer?) -> Void) {
    guard row >= 0, row < count, column >= 0, column < columnCount else { return body(nil) }
    withExtendedLifetime(self) { body(bytes(row: row, column: column)) }
  }

  /// An integer; `nil` for NULL.
  ///
  /// - Throws: `PostgresError` of kind `decoding` if the value is no integer of 64 bits.
  public func integer(row: Int, column: Int) throws(PostgresError) -> Int64? {
    guard row >= 0, row < count, column >= 0, column < columnCount else {
      throw PostgresError(.decoding, "row \(row) has no column \(column)", sql: sql, origin: origin)
    }
    guard let text = bytes(row: row, column: column) else { return nil }
    do {
      return try Int64(decimal: text)
    } catch {
      throw PostgresError(.decoding, "row \(row), column \(column) as Int64: \(error)", sql: sql, origin: origin)
    }
  }

  /// An array of integers without NULLs; empty for NULL.
  ///
  /// - Throws: `PostgresError` of kind `decoding` if the value is no array of such.
  public func integers(row: Int, column: Int) throws(PostgresError) -> [Int64] {
    guard row >= 0, row < count, column >= 0, column < columnCount, let text = bytes(row: row, column: column) else {
      return []
    }
    do throws(Cell.Failure) {
      guard text.count >= 2, text[0] == UInt8(ascii: "{"), text[text.count - 1] == UInt8(ascii: "}") else {
        throw .malformed
      }
      var integers: [Int64] = []
      var start = 1
      let last = text.count - 1
      for end in 1..<text.count where text[end] == UInt8(ascii: ",") || (end == last && last > 1) {
        integers.append(try Int64(decimal: UnsafeRawBufferPointer(rebasing: text[start..<end])))
        start = end + 1
      }
      return integers
    } catch {
      throw PostgresError(
        .decoding, "row \(row), column \(column) as [Int64]: \(error)", sql: sql, origin: origin)
    }
  }
}
