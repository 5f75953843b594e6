extension JSONWriter {
  /// Splices a stored document in as a value. It was checked when it was stored; here it is only copied.
  public mutating func raw(_ document: [UInt8]) {
    document.withUnsafeBytes { raw($0) }
  }

  /// Splices a stored document in as a value.
  public mutating func raw(_ document: UnsafeRawBufferPointer) {
    startItem()
    append(document)
    commaIsDue = true
  }

  /// Splices a constant in as a value.
  public mutating func raw(_ document: StaticString) {
    raw(UnsafeRawBufferPointer(start: document.utf8Start, count: document.utf8CodeUnitCount))
  }

  /// Splices a stored object in as a value and adds members at its end; `adding` writes their names and values.
  /// A document that is no object is spliced in as it is, and nothing is added.
  public mutating func rawObject(_ document: UnsafeRawBufferPointer, adding: (inout JSONWriter) -> Void) {
    startItem()
    let start = storage.count
    append(document)
    addMembers(toValueAt: start, adding)
  }

  /// Adds an object whose text was kept up to a last member's name and colon: that text, the value, and the closing brace.
  public mutating func rawObject(before: [UInt8], value: (inout JSONWriter) -> Void) {
    startItem()
    storage.append(contentsOf: before)
    commaIsDue = false
    value(&self)
    storage.append(.closeBrace)
    commaIsDue = true
  }

  /// Reopens the object written last, whose text begins at an offset, and adds members to it.
  mutating func addMembers(toValueAt start: Int, _ adding: (inout JSONWriter) -> Void) {
    commaIsDue = true
    var end = storage.count
    func skipSpaceBackwards() {
      while end > start, storage[end - 1].isJSONSpace { end -= 1 }
    }
    skipSpaceBackwards()
    guard end > start, storage[end - 1] == .closeBrace else { return }
    end -= 1
    skipSpaceBackwards()
    storage.removeSubrange(end...)
    // In a well-formed object only an empty one has its two braces side by side.
    commaIsDue = storage.last != .openBrace
    adding(&self)
    storage.append(.closeBrace)
    commaIsDue = true
  }

  /// Copies bytes to the end in one go.
  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    storage.append(contentsOf: bytes.assumingMemoryBound(to: UInt8.self))
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    append(UnsafeRawBufferPointer(rebasing: bytes[range]))
  }

  /// The text of a number.
  @usableFromInline
  mutating func number(_ text: String) {
    startItem()
    storage.append(contentsOf: text.utf8)
    commaIsDue = true
  }

  /// Digits without a detour over `String`.
  @usableFromInline
  mutating func integer(_ value: Int64) {
    startItem()
    if value < 0 { storage.append(.minus) }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var magnitude = value.magnitude
      var first = 20
      repeat {
        first -= 1
        digits.initializeElement(at: first, to: .zero + UInt8(truncatingIfNeeded: magnitude % 10))
        magnitude /= 10
      } while magnitude > 0
      storage.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
    }
    commaIsDue = true
  }

  /// A string's content: quote, backslash and control characters escaped, all else as it is (RFC 8259, section 7).
  mutating func appendEscaped(_ utf8: UnsafeRawBufferPointer) {
    guard let address = utf8.baseAddress else { return }
    let base = address.assumingMemoryBound(to: UInt8.self)
    var copied = 0
    var position = 0
    while position < utf8.count {
      if position + 8 <= utf8.count {
        let special = Word.needingEscape(Word.load(base, position))
        if special == 0 {
          position += 8
          continue
        }
        position += Word.firstIndex(special)
      }
      let byte = base[position]
      if byte < 0x20 || byte == .quote || byte == .backslash {
        append(utf8, copied..<position)
        appendEscape(byte)
        copied = position + 1
      }
      position += 1
    }
    append(utf8, copied..<utf8.count)
  }

  private mutating func appendEscape(_ byte: UInt8) {
    storage.append(.backslash)
    switch byte {
    case .quote, .backslash: storage.append(byte)
    case 0x08: storage.append(UInt8(ascii: "b"))
    case 0x09: storage.append(UInt8(ascii: "t"))
    case 0x0A: storage.append(UInt8(ascii: "n"))
    case 0x0C: storage.append(UInt8(ascii: "f"))
    case 0x0D: storage.append(UInt8(ascii: "r"))
    default:
      let digits: StaticString = "0123456789abcdef"
      storage.append(contentsOf: [UInt8(ascii: "u"), .zero, .zero])
      storage.append(digits.utf8Start[Int(byte >> 4)])
      storage.append(digits.utf8Start[Int(byte & 15)])
    }
  }
}
