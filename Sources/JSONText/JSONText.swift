/// JSON kept as text: checking that bytes are one JSON document, and making a document storable.
///
/// Nothing is decoded. Numbers stay the text they are, members keep their order, duplicates stay where they are.
public enum JSONText {
  /// What a document may cost.
  public struct Limits: Sendable {
    /// The longest document, in bytes. A document of exactly this length passes.
    public var maxBytes: Int
    /// How many arrays and objects may be open at once, 1 to 64. A document of exactly this depth passes.
    public let maxDepth: Int

    /// Limits of 8 MiB and 64 levels unless told otherwise; a depth above 64 counts as 64.
    public init(maxBytes: Int = 8 << 20, maxDepth: Int = 64) {
      self.maxBytes = maxBytes
      self.maxDepth = min(max(maxDepth, 1), 64)
    }
  }

  /// Refuses bytes that are not exactly one JSON document by RFC 8259 in UTF-8 without a byte order mark, and exponents of
  /// more than three digits (section 6 leaves the range of numbers to us).
  ///
  /// Lone surrogates and `\u0000` in escapes pass, as they are within the grammar: see ``clean(_:limits:)``.
  public static func check(_ bytes: UnsafeRawBufferPointer, limits: Limits = Limits()) throws(Invalid) {
    _ = try Scan.document(bytes, limits: limits)
  }

  /// The same for an array of bytes.
  public static func check(_ bytes: [UInt8], limits: Limits = Limits()) throws(Invalid) {
    _ = try Scan.document(bytes, limits: limits)
  }

  /// Checks a document and returns it without what PostgreSQL cannot hold: the escapes `\u0000` and lone surrogates
  /// disappear from strings and member names, and a leading byte order mark is dropped. All else is byte for byte
  /// the same. Bytes that are not UTF-8, raw surrogates among them, are refused and not repaired.
  public static func clean(_ bytes: [UInt8], limits: Limits = Limits()) throws(Invalid) -> [UInt8] {
    let marked = bytes.starts(with: [0xEF, 0xBB, 0xBF])
    let text = marked ? Array(bytes.dropFirst(3)) : bytes
    return try Scan.document(text, limits: limits) == nil ? text : text.withUnsafeBytes(removingUnstorable)
  }

  /// A copy without unstorable escapes. In a checked document a backslash occurs only within strings, so the
  /// structure need not be followed.
  private static func removingUnstorable(_ text: UnsafeRawBufferPointer) -> [UInt8] {
    var kept: [UInt8] = []
    kept.reserveCapacity(text.count)
    var copied = 0
    var position = 0
    while position < text.count {
      guard text[position] == .backslash else {
        position += 1
        continue
      }
      switch Escape(text, at: position) {
      case .unstorable(let length):
        kept.append(contentsOf: text[copied..<position])
        position += length
        copied = position
      case .scalar(_, let length): position += length
      case .malformed: position += 1
      }
    }
    kept.append(contentsOf: text[copied...])
    return kept
  }
}
