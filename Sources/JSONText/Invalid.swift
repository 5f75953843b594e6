extension JSONText {
  /// Why bytes are not a JSON document, and where.
  public struct Invalid: Error, Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What was wrong.
    public enum Reason: String, Sendable {
      /// Longer than ``JSONText/Limits/maxBytes``.
      case tooLong = "longer than allowed"
      /// More arrays and objects open at once than ``JSONText/Limits/maxDepth``.
      case tooDeep = "nested deeper than allowed"
      /// The text ended within a value, or holds none.
      case unfinished = "ends too early"
      /// More text after the document.
      case trailing = "has text after its end"
      /// A byte that cannot stand where it stands.
      case unexpected = "has an unexpected byte"
      /// A number outside the grammar, such as `01`, `.5` or `1.`.
      case number = "has a malformed number"
      /// A number with an exponent of more than three digits, such as `1e1000`.
      case magnitude = "has a number beyond 1e999"
      /// A backslash before something other than JSON's escapes.
      case escape = "has a malformed escape"
      /// A raw control character in a string (U+0000 to U+001F).
      case control = "has a raw control character in a string"
      /// Bytes that are not UTF-8: overlong forms, raw surrogates and code points above U+10FFFF included.
      case encoding = "is not UTF-8"
    }

    /// What was wrong.
    public let reason: Reason
    /// The offset of the offending byte from the document's first, 0-based.
    public let offset: Int

    /// An error at a place.
    public init(_ reason: Reason, at offset: Int) {
      self.reason = reason
      self.offset = offset
    }

    /// The same sentence for every cause.
    public var description: String { "not a valid JSON document" }
    /// The cause and its place. It never quotes the document.
    public var debugDescription: String { "JSON \(reason.rawValue) (byte \(offset))" }
  }
}
