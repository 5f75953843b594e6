/// A validator of one representation (RFC 9110, 8.8.3).
public struct EntityTag: Sendable, Hashable, CustomStringConvertible {
  /// What stands between the quotes.
  public let opaque: String
  /// Whether it only promises equal meaning, not equal bytes.
  public let isWeak: Bool

  /// A tag of visible characters without quotes. `nil` when the text cannot stand in one.
  public init?(opaque: String, isWeak: Bool = false) {
    guard opaque.utf8.allSatisfy({ $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }) else { return nil }
    self.opaque = opaque
    self.isWeak = isWeak
  }

  /// Reads `"x"` or `W/"x"`; the `W` is case-sensitive.
  public init?(_ text: some StringProtocol) {
    var rest = Substring(text)
    let isWeak = rest.hasPrefix("W/")
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.utf8.count >= 2, rest.utf8.first == 0x22, rest.utf8.last == 0x22 else { return nil }
    self.init(opaque: String(rest.dropFirst().dropLast()), isWeak: isWeak)
  }

  /// A strong tag made of the bytes themselves by a 128-bit hash. Equal bytes always give equal tags, in every process; the
  /// hash is fast and not made to withstand somebody who looks for two texts with one tag.
  public init(hashing bytes: UnsafeRawBufferPointer) {
    let (a, b) = FastHash.hash(bytes)
    opaque = FastHash.hexadecimal(a) + FastHash.hexadecimal(b)
    isWeak = false
  }

  /// As above, of an array.
  public init(hashing bytes: [UInt8]) {
    self = bytes.withUnsafeBytes { EntityTag(hashing: $0) }
  }

  /// As it stands in a field.
  public var description: String { isWeak ? "W/\"\(opaque)\"" : "\"\(opaque)\"" }

  /// Byte-for-byte equality: both strong and the same (RFC 9110, 8.8.3.2).
  public func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

  /// Equality of meaning: the same text, weak or not.
  public func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

  /// The value of `If-Match` or `If-None-Match`.
  public enum Condition: Sendable, Equatable {
    /// `*`: any representation at all.
    case any
    /// One of these. Members that are no tags are left out.
    case oneOf([EntityTag])

    /// Reads a field's joined value.
    public init(_ text: String) {
      if ASCII.trimmed(text[...]) == "*" {
        self = .any
      } else {
        self = .oneOf(ListSyntax.split(text, at: UInt8(ascii: ",")).compactMap { EntityTag($0) })
      }
    }
  }
}
