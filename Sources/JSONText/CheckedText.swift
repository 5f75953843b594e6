/// Finding one's way in a document that was checked before: where values and members begin and end.
///
/// The answers are only right for well-formed JSON, but no text whatever makes it read outside the bounds.
struct CheckedText {
  let base: UnsafePointer<UInt8>
  let end: Int

  /// Looks at the text up to an end, in bytes from the start of the buffer.
  @inline(__always)
  static func looking<R>(at bytes: [UInt8], upTo end: Int, _ body: (CheckedText) -> R) -> R {
    bytes.withUnsafeBufferPointer { buffer in
      // An empty array may have no address; then nothing is ever read through this one.
      let base = buffer.baseAddress ?? UnsafePointer(bitPattern: 1)!
      return body(CheckedText(base: base, end: end))
    }
  }

  @inline(__always)
  func byte(_ position: Int) -> UInt8 { position < end ? base[position] : 0 }

  @inline(__always)
  func skippingSpace(_ position: Int) -> Int {
    var position = position
    while position < end, base[position].isJSONSpace { position += 1 }
    return position
  }

  /// The place after the closing quote of the string that begins here.
  @inline(__always)
  func endOfString(_ start: Int) -> Int {
    var position = start + 1
    while true {
      while position + 8 <= end {
        let word = Word.load(base, position)
        let special = Word.matches(word, .quote) | Word.matches(word, .backslash)
        if special == 0 {
          position += 8
        } else {
          position += Word.firstIndex(special)
          break
        }
      }
      guard position < end else { return end }
      switch base[position] {
      case .quote: return position + 1
      case .backslash: position += 2
      default: position += 1
      }
    }
  }

  /// The place after the value that begins here.
  func endOfValue(_ start: Int) -> Int {
    switch byte(start) {
    case .quote: return endOfString(start)
    case .openBrace, .openBracket: return endOfContainer(start)
    default:
      var position = start
      while position < end {
        let byte = base[position]
        if byte == .comma || byte == .closeBrace || byte == .closeBracket || byte.isJSONSpace { break }
        position += 1
      }
      return position
    }
  }

  private func endOfContainer(_ start: Int) -> Int {
    var depth = 0
    var position = start
    while position < end {
      switch base[position] {
      case .quote:
        position = endOfString(position)
        continue
      case .openBrace, .openBracket: depth += 1
      case .closeBrace, .closeBracket:
        depth -= 1
        if depth == 0 { return position + 1 }
      default: break
      }
      position += 1
    }
    return end
  }

  /// The first value or member of the container that begins here, and then the next ones: `position` moves from
  /// just after the opening bracket or the previous value. Returns where the item starts, `nil` at the end.
  @inline(__always)
  func nextItem(_ position: Int) -> Int? {
    var start = skippingSpace(position)
    if byte(start) == .comma { start = skippingSpace(start + 1) }
    let first = byte(start)
    return first == .closeBrace || first == .closeBracket || first == 0 ? nil : start
  }

  /// The parts of the member whose name begins here, quotes included in the name.
  @inline(__always)
  func member(_ start: Int) -> (name: Range<Int>, value: Range<Int>) {
    let nameEnd = endOfString(start)
    let colon = skippingSpace(nameEnd)
    let valueStart = min(skippingSpace(colon + 1), end)
    return (start..<nameEnd, valueStart..<max(valueStart, endOfValue(valueStart)))
  }

  /// Whether a quoted string spells a text, escapes resolved.
  @inline(__always)
  func string(_ quoted: Range<Int>, equals text: UnsafeBufferPointer<UInt8>) -> Bool {
    let count = quoted.count - 2
    // An escape is never shorter than what it stands for.
    guard count >= text.count else { return false }
    if count == text.count {
      for index in 0..<count {
        let byte = base[quoted.lowerBound + 1 + index]
        // With an escape in it, it stands for a shorter text, even where the bytes are the same.
        if byte != text[index] || byte == .backslash { return false }
      }
      return true
    }
    guard hasEscape(quoted) else { return false }
    return unescaped(quoted).elementsEqual(text)
  }

  @inline(__always)
  func hasEscape(_ quoted: Range<Int>) -> Bool {
    for position in quoted where base[position] == .backslash { return true }
    return false
  }

  /// The UTF-8 a quoted string stands for. Half a surrogate pair becomes U+FFFD; `\u0000` becomes the byte 0.
  func unescaped(_ quoted: Range<Int>) -> [UInt8] {
    let text = UnsafeRawBufferPointer(start: base, count: max(quoted.upperBound - 1, 0))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(quoted.count)
    var position = quoted.lowerBound + 1
    while position < text.count {
      guard text[position] == .backslash else {
        bytes.append(text[position])
        position += 1
        continue
      }
      switch Escape(text, at: position) {
      case .scalar(let scalar, let length):
        UTF8Sequence.append(scalar, to: &bytes)
        position += length
      case .unstorable(let length):
        let isNull = text[position + 2..<position + length].allSatisfy { $0 == .zero }
        UTF8Sequence.append(isNull ? 0 : 0xFFFD, to: &bytes)
        position += length
      case .malformed: position += 1
      }
    }
    return bytes
  }
}
