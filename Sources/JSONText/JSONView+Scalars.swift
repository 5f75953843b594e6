extension JSONView {
  /// A string's text, `nil` for every other kind. Half a surrogate pair becomes U+FFFD.
  public var string: String? {
    guard kind == .string else { return nil }
    return Self.text(document, range)
  }

  /// A number written as an integer that fits, `nil` for everything else: `1.0`, `1e2`, `"1"` and `2^63` too.
  public var int: Int64? {
    guard kind == .number else { return nil }
    let digits = document[range]
    guard let last = digits.last, last.isDigit else { return nil }
    return Int64(String(decoding: digits, as: UTF8.self))
  }

  /// A number as the nearest double, `nil` when it is out of range (`1e400`) and for every other kind.
  public var double: Double? {
    guard kind == .number, let value = Double(String(decoding: document[range], as: UTF8.self)) else { return nil }
    return value.isFinite ? value : nil
  }

  /// `true` or `false`, `nil` for every other kind.
  public var bool: Bool? { kind == .bool ? document[range.lowerBound] == UInt8(ascii: "t") : nil }

  /// Whether the value is `null`.
  public var isNull: Bool { kind == .null }

  /// An object's text without the members of some names, duplicates included; the rest is byte for byte the same.
  /// Only its own members are looked at, not those of objects within. Other kinds come back whole.
  public func removing(members names: Set<String>) -> [UInt8] {
    guard kind == .object else { return bytes }
    var kept: [UInt8] = []
    kept.reserveCapacity(range.count)
    CheckedText.looking(at: document, upTo: range.upperBound) { text in
      let open = range.lowerBound + 1
      kept.append(.openBrace)
      // The text before a member (its comma, or the space after the brace) goes with it, except that the first
      // one kept has no comma.
      var position = open
      var keptAny = false
      while let start = text.nextItem(position) {
        let member = text.member(start)
        if !names.contains(Self.text(document, member.name)) {
          kept.append(contentsOf: document[(keptAny ? position : start)..<member.value.upperBound])
          keptAny = true
        }
        position = member.value.upperBound
      }
      kept.append(contentsOf: document[position..<range.upperBound])
    }
    return kept
  }

  /// The text of a quoted string.
  static func text(_ document: [UInt8], _ quoted: Range<Int>) -> String {
    CheckedText.looking(at: document, upTo: quoted.upperBound) { text in
      if text.hasEscape(quoted) { return String(decoding: text.unescaped(quoted), as: UTF8.self) }
      let content = UnsafeBufferPointer(start: text.base + quoted.lowerBound + 1, count: max(quoted.count - 2, 0))
      return String(decoding: content, as: UTF8.self)
    }
  }
}
