/// A value within a checked document: looked into without decoding what is around it.
///
/// A view shares the document's bytes, so passing views on copies nothing. Looking up a member costs a scan of the
/// members before it.
public struct JSONView: Sendable {
  /// The six kinds of value (RFC 8259, section 3).
  public enum Kind: Sendable {
    /// `{…}`.
    case object
    /// `[…]`.
    case array
    /// `"…"`.
    case string
    /// An integer or a fraction, of any size.
    case number
    /// `true` or `false`.
    case bool
    /// `null`.
    case null
  }

  let document: [UInt8]
  let range: Range<Int>

  /// Checks a document and views its one value.
  public init(_ bytes: [UInt8], limits: JSONText.Limits = JSONText.Limits()) throws(JSONText.Invalid) {
    try JSONText.check(bytes, limits: limits)
    self.init(checked: bytes)
  }

  /// Checks and cleans a document (``JSONText/clean(_:limits:)``) and views its one value.
  public init(cleaning bytes: [UInt8], limits: JSONText.Limits = JSONText.Limits()) throws(JSONText.Invalid) {
    self.init(checked: try JSONText.clean(bytes, limits: limits))
  }

  /// Views a document that was checked when it was stored. Other bytes give senseless answers, but never a read out
  /// of bounds.
  public init(checked bytes: [UInt8]) {
    let range = CheckedText.looking(at: bytes, upTo: bytes.count) { text in
      let start = text.skippingSpace(0)
      return start..<max(start, min(text.endOfValue(start), bytes.count))
    }
    self.init(document: bytes, range: range)
  }

  init(document: [UInt8], range: Range<Int>) {
    self.document = document
    self.range = range
  }

  /// What the value is.
  public var kind: Kind {
    guard let first = range.first else { return .null }
    switch document[first] {
    case .openBrace: return .object
    case .openBracket: return .array
    case .quote: return .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
    case UInt8(ascii: "n"): return .null
    default: return .number
    }
  }

  /// The value's exact text, without space around it.
  public var rawBytes: ArraySlice<UInt8> { document[range] }

  /// A copy of the value's exact text, which is a document of its own.
  public var bytes: [UInt8] { Array(document[range]) }

  /// Lends the value's exact text.
  public func withRawBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try document.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  /// The member of an object with a name, escapes resolved on both sides. Of duplicates the first counts.
  /// `nil` when there is none and for every other kind of value.
  public subscript(_ name: String) -> JSONView? {
    guard kind == .object else { return nil }
    var name = name
    return name.withUTF8 { utf8 in
      CheckedText.looking(at: document, upTo: range.upperBound) { text in
        var position = range.lowerBound + 1
        while let start = text.nextItem(position) {
          let member = text.member(start)
          if text.string(member.name, equals: utf8) { return JSONView(document: document, range: member.value) }
          position = member.value.upperBound
        }
        return nil
      }
    }
  }

  /// The items of an array, found one by one; none for every other kind of value.
  public var elements: Elements { Elements(of: self) }

  /// The members of an object in their order, duplicates included; none for every other kind of value.
  public var members: Members { Members(of: self) }
}
