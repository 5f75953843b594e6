/// Walks through the text of an array of one dimension, such as `{1,NULL,"a \"b\""}` (PostgreSQL manual, 8.15.6).
struct ArrayReader {
  private let text: UnsafeRawBufferPointer
  private var offset = 1
  private var isFirst = true
  private var element: [UInt8] = []
  private var isNull = false

  init(_ text: UnsafeRawBufferPointer) throws(Cell.Failure) {
    // `[2:3]={…}` (another lower bound) and `{{…}}` (more dimensions) are not what these types stand for.
    guard text.count >= 2, text[0] == UInt8(ascii: "{"), text[text.count - 1] == UInt8(ascii: "}") else {
      throw .malformed
    }
    self.text = text
  }

  /// Moves to the next element; `false` after the last one.
  mutating func next() throws(Cell.Failure) -> Bool {
    let end = text.count - 1
    if offset == end { return false }
    if !isFirst {
      guard text[offset] == UInt8(ascii: ",") else { throw .malformed }
      offset += 1
    }
    isFirst = false
    element.removeAll(keepingCapacity: true)
    isNull = false
    guard offset < end else { throw .malformed }
    if text[offset] == UInt8(ascii: "\"") { try readQuoted(end) } else { try readPlain(end) }
    return true
  }

  private mutating func readQuoted(_ end: Int) throws(Cell.Failure) {
    offset += 1
    while offset < end {
      var byte = text[offset]
      offset += 1
      if byte == UInt8(ascii: "\"") { return }
      if byte == UInt8(ascii: "\\") {
        guard offset < end else { throw .malformed }
        byte = text[offset]
        offset += 1
      }
      element.append(byte)
    }
    throw .malformed
  }

  private mutating func readPlain(_ end: Int) throws(Cell.Failure) {
    while offset < end, text[offset] != UInt8(ascii: ",") {
      if text[offset] == UInt8(ascii: "{") { throw .malformed }
      element.append(text[offset])
      offset += 1
    }
    if element.isEmpty { throw .malformed }
    isNull = element.elementsEqual("NULL".utf8)
  }

  /// Decodes the present element.
  mutating func decode<Value: ColumnDecodable>(_ type: Value.Type) throws(Cell.Failure) -> Value {
    if isNull { return try Value(decoding: Cell(bytes: nil, type: 0)) }
    element.append(0)  // what cells promise
    let result = element.withUnsafeBytes { buffer -> Result<Value, Cell.Failure> in
      let cell = Cell(bytes: UnsafeRawBufferPointer(rebasing: buffer.dropLast()), type: 0)
      do throws(Cell.Failure) { return .success(try Value(decoding: cell)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

extension Optional: ArrayDecodable where Wrapped: ColumnDecodable {}
