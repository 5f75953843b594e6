import HTTP

extension GitHub {
  /// An account's login, guarded so that it is one segment of a path and nothing else.
  ///
  /// The guard is wide on purpose: real logins begin, end and double their hyphens, have underscores, and bots end in
  /// `[bot]`. Whether an account exists is GitHub's to say.
  public struct Login: Sendable, Hashable, CustomStringConvertible {
    /// The longest name before `[bot]`, in characters.
    public static let maxLength = 60

    /// The login as it was given.
    public let description: String

    /// A login of 1 to 60 ASCII letters, digits, hyphens and underscores, with or without `[bot]` after it; `nil` for
    /// any other text.
    public init?(_ text: String) {
      let name = text.lowercased().hasSuffix("[bot]") ? text.utf8.dropLast(5) : text.utf8[...]
      let isAllowed = name.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
      guard isAllowed, (1...Self.maxLength).contains(name.count) else { return nil }
      description = text
    }

    /// The form in which two spellings of one login are the same.
    public var folded: String { description.lowercased() }

    /// The login as a segment of a path: `dependabot%5Bbot%5D`.
    public var pathSegment: String { PercentEncoding.encode(description) }
  }
}
