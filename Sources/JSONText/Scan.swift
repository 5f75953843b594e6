/// The strict reader of RFC 8259: one pass, no recursion, no allocation.
///
/// Open arrays and objects are remembered as bits of one word, which is where the depth limit of 64 comes from.
struct Scan {
  private let text: UnsafeRawBufferPointer
  private let base: UnsafePointer<UInt8>
  private let end: Int
  private var position = 0
  private var unstorable: Int?

  /// Checks one document. Returns the offset of the first escape that PostgreSQL cannot store (`\u0000` or a lone
  /// surrogate), `nil` if there is none.
  static func document(
    _ text: UnsafeRawBufferPointer, limits: JSONText.Limits
  ) throws(JSONText.Invalid) -> Int? {
    guard text.count <= limits.maxBytes else { throw JSONText.Invalid(.tooLong, at: limits.maxBytes) }
    guard let start = text.baseAddress, !text.isEmpty else { throw JSONText.Invalid(.unfinished, at: 0) }
    var scan = Scan(text: text, base: start.assumingMemoryBound(to: UInt8.self), end: text.count)
    try scan.document(maxDepth: limits.maxDepth)
    return scan.unstorable
  }

  /// The same for an array of bytes.
  static func document(_ bytes: [UInt8], limits: JSONText.Limits) throws(JSONText.Invalid) -> Int? {
    let result = bytes.withUnsafeBytes { text in
      Result { () throws(JSONText.Invalid) in try document(text, limits: limits) }
    }
    return try result.get()
  }

  private init(text: UnsafeRawBufferPointer, base: UnsafePointer<UInt8>, end: Int) {
    self.text = text
    self.base = base
    self.end = end
  }

  private mutating func document(maxDepth: Int) throws(JSONText.Invalid) {
    var depth = 0
    // Bit 0 tells whether the innermost open container is an object.
    var objects: UInt64 = 0
    skipSpace()
    values: while true {
      switch peek {
      case .quote: try string()
      case .openBrace:
        guard depth < maxDepth else { throw failure(.tooDeep) }
        position += 1
        skipSpace()
        if peek == .closeBrace {
          position += 1
        } else {
          depth += 1
          objects = objects << 1 | 1
          try name()
          continue values
        }
      case .openBracket:
        guard depth < maxDepth else { throw failure(.tooDeep) }
        position += 1
        skipSpace()
        if peek == .closeBracket {
          position += 1
        } else {
          depth += 1
          objects = objects << 1
          continue values
        }
      case UInt8(ascii: "t"): try literal("true")
      case UInt8(ascii: "f"): try literal("false")
      case UInt8(ascii: "n"): try literal("null")
      case .minus, 0x30...0x39: try number()
      default: throw failure(.unexpected)
      }
      while true {
        skipSpace()
        if depth == 0 {
          if position < end { throw failure(.trailing) }
          return
        }
        let isObject = objects & 1 == 1
        if peek == .comma {
          position += 1
          skipSpace()
          if isObject { try name() }
          continue values
        }
        guard peek == (isObject ? .closeBrace : .closeBracket) else { throw failure(.unexpected) }
        position += 1
        depth -= 1
        objects >>= 1
      }
    }
  }

  /// The byte at the position. Zero, which the grammar allows nowhere, stands for the end.
  @inline(__always)
  private var peek: UInt8 { position < end ? base[position] : 0 }

  /// An error here; running out of text is an error of its own.
  private func failure(_ reason: JSONText.Invalid.Reason) -> JSONText.Invalid {
    JSONText.Invalid(position < end ? reason : .unfinished, at: position)
  }

  @inline(__always)
  private mutating func skipSpace() {
    while position < end, base[position].isJSONSpace { position += 1 }
  }

  /// A member's name, its colon and the space around it.
  @inline(__always)
  private mutating func name() throws(JSONText.Invalid) {
    guard peek == .quote else { throw failure(.unexpected) }
    try string()
    skipSpace()
    guard peek == .colon else { throw failure(.unexpected) }
    position += 1
    skipSpace()
  }

  private mutating func literal(_ word: StaticString) throws(JSONText.Invalid) {
    for index in 0..<word.utf8CodeUnitCount {
      guard peek == word.utf8Start[index] else { throw failure(.unexpected) }
      position += 1
    }
  }

  private mutating func number() throws(JSONText.Invalid) {
    if peek == .minus { position += 1 }
    if peek == .zero { position += 1 } else { try digits() }
    if peek == .dot {
      position += 1
      try digits()
    }
    if peek | 0x20 == UInt8(ascii: "e") {
      position += 1
      if peek == .plus || peek == .minus { position += 1 }
      try exponent()
    }
    if peek.isDigit { throw failure(.number) }
  }

  /// At most three digits, leading zeros aside. PostgreSQL's jsonb writes numbers without exponents, zero by zero: the eight
  /// bytes `1e131071` would become 131,072. No double comes near this bound.
  private mutating func exponent() throws(JSONText.Invalid) {
    let start = position
    try digits()
    var first = start
    while first < position, base[first] == .zero { first += 1 }
    if position - first > 3 { throw JSONText.Invalid(.magnitude, at: start) }
  }

  private mutating func digits() throws(JSONText.Invalid) {
    guard peek.isDigit else { throw failure(.number) }
    repeat { position += 1 } while peek.isDigit
  }

  private mutating func string() throws(JSONText.Invalid) {
    position += 1
    while true {
      while position + 8 <= end {
        let word = Word.load(base, position)
        let special = Word.needingEscape(word) | (word & Word.highs)
        if special == 0 {
          position += 8
        } else {
          position += Word.firstIndex(special)
          break
        }
      }
      guard position < end else { throw failure(.unfinished) }
      let byte = base[position]
      if byte == .quote {
        position += 1
        return
      }
      if byte == .backslash {
        try escape()
      } else if byte >= 0x80 {
        let length = UTF8Sequence.length(base + position, available: end - position)
        guard length > 0 else { throw failure(.encoding) }
        position += length
      } else if byte < 0x20 {
        throw failure(.control)
      } else {
        position += 1
      }
    }
  }

  private mutating func escape() throws(JSONText.Invalid) {
    switch Escape(text, at: position) {
    case .scalar(_, let length): position += length
    case .unstorable(let length):
      if unstorable == nil { unstorable = position }
      position += length
    case .malformed: throw failure(.escape)
    }
  }
}
