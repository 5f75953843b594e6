import CLibpq

extension Query {
  /// Why it cannot be sent, if so.
  var unsendable: ((Origin) -> PostgresError)? {
    guard let refusal = bindings.refusal else { return nil }
    let text = sql
    switch refusal {
    case .zeroInText(let parameter):
      return { PostgresError(.invalid, "parameter $\(parameter) is text with a NUL", sql: text, origin: $0) }
    case .tooLarge:
      return { PostgresError(.invalid, "too many parameters, or too large ones", sql: text, origin: $0) }
    }
  }

  /// Executes a prepared statement. Results come as text, so that documents and numbers can be passed on as they are.
  func send(_ statement: Statement, _ connection: OpaquePointer) -> Bool {
    bindings.withArrays { count, values, lengths, formats in
      PQsendQueryPrepared(connection, statement.name, count, values, lengths, formats, 0) == 1
    }
  }

  /// Sends the text itself, with types.
  func sendPlain(_ connection: OpaquePointer) -> Bool {
    let types = bindings.entries.map(\.type)
    return bindings.withArrays { count, values, lengths, formats in
      PQsendQueryParams(connection, sql, count, types, values, lengths, formats, 0) == 1
    }
  }
}

extension Statement {
  /// Asks the server to prepare it under its name.
  func sendPreparation(_ connection: OpaquePointer) -> Bool {
    PQsendPrepare(connection, name, sql, Int32(types.count), types) == 1
  }
}

extension Bindings {
  /// The parallel arrays that libpq takes, on the stack.
  @inline(__always)
  func withArrays<Value>(
    _ body: (
      Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
    ) -> Value
  ) -> Value {
    let count = entries.count
    if count == 0 { return body(0, nil, nil, nil) }
    return bytes.withUnsafeBufferPointer { buffer in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { numbers in
          for index in 0..<count {
            let entry = entries[index]
            let value = buffer.baseAddress.map { UnsafeRawPointer($0 + Int(entry.offset)) }
            values.initializeElement(
              at: index, to: entry.length < 0 ? nil : value?.assumingMemoryBound(to: CChar.self))
            numbers.initializeElement(at: index, to: max(0, entry.length))
            numbers.initializeElement(at: count + index, to: entry.isBinary ? 1 : 0)
          }
          // Not empty, so there is a base address.
          let lengths = numbers.baseAddress!
          return body(Int32(count), values.baseAddress, lengths, lengths + count)
        }
      }
    }
  }
}
