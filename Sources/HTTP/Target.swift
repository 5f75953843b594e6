/// A request target in origin form, `/path?query` (RFC 9112, 3.2.1), or the `*` of `OPTIONS *`.
///
/// It is checked when it is made: bad escapes, `%00`, text that is not UTF-8, and `.` or `..` as a segment are refused, in
/// plain and in escaped spelling. Decoding happens once and after splitting, so `%2F` stays part of its segment.
public struct Target: Sendable, Hashable, CustomStringConvertible {
  /// The text is no target that this server takes.
  public struct Invalid: Error, Equatable, CustomStringConvertible {
    /// One sentence without the text itself.
    public var description: String { "The request target is not valid." }
  }

  /// As it came.
  public let description: String

  /// - Throws: `Invalid`.
  public init(_ text: String) throws(Invalid) {
    var text = text
    guard text == "*" || text.withUTF8({ Target.isValid(UnsafeRawBufferPointer($0)) }) else { throw Invalid() }
    description = text
  }

  package init(checked text: String) { description = text }

  /// The path as it came, escapes included.
  public var path: Substring { description.prefix { $0 != "?" } }

  /// The decoded segments: `/a/b%2Fc` has `a` and `b/c`, `/a/` has `a` and an empty one.
  public var segments: [String] {
    path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
      PercentEncoding.decode(Substring($0)) ?? ""  // never nil: checked when the target was made
    }
  }

  /// The query's text, escapes included; `nil` without a `?`.
  public var rawQuery: Substring? {
    guard let mark = description.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
    return description[description.utf8.index(after: mark)...]
  }

  /// The decoded query items.
  public var query: Query { Query(checked: rawQuery ?? "") }

  /// The same target with one query item set (all of its repeats replaced) or, with `nil`, taken out.
  public func setting(_ name: String, to value: String?) -> Target {
    var query = query
    query.set(name, to: value)
    return Target(checked: query.items.isEmpty ? String(path) : "\(path)?\(query)")
  }
}

extension Target {
  private enum Class: UInt8 {
    case invalid, plain, slash, percent, dot, queryOnly, mark
  }

  /// What a byte means in a path. Beyond RFC 3986 those are let through that browsers send unescaped (WHATWG URL, 1.3).
  @inline(__always)
  private static func classify(_ byte: UInt8) -> Class {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): .plain
    case UInt8(ascii: "0")...UInt8(ascii: "9"): .plain
    case UInt8(ascii: "/"): .slash
    case UInt8(ascii: "?"): .mark
    case UInt8(ascii: "%"): .percent
    case UInt8(ascii: "."): .dot
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "!"), UInt8(ascii: "$"): .plain
    case UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"): .plain
    case UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: ":"): .plain
    case UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "|"): .plain
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "\\"), UInt8(ascii: "^"), UInt8(ascii: "`"): .queryOnly
    default: .invalid
    }
  }

  /// Whether the bytes are a target in origin form, by the rules above. Allocates only when something is escaped.
  package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.first == UInt8(ascii: "/") else { return false }
    var escaped = false
    var dotted = false
    var pathEnd = bytes.count
    var index = 0
    scan: while index < bytes.count {
      switch classify(bytes[index]) {
      case .plain, .slash: break
      case .percent: escaped = true
      case .dot: dotted = true
      case .mark:
        pathEnd = index
        break scan
      case .queryOnly, .invalid: return false
      }
      index += 1
    }
    while index < bytes.count {
      switch classify(bytes[index]) {
      case .invalid: return false
      case .percent: escaped = true
      default: break
      }
      index += 1
    }
    if escaped {
      guard let decoded = PercentEncoding.decode(bytes: bytes, plusIsSpace: false),
        String(validating: decoded, as: UTF8.self) != nil
      else { return false }
    }
    return !(dotted || escaped) || !hasDotSegment(bytes[..<pathEnd])
  }

  private static func hasDotSegment(_ path: Slice<UnsafeRawBufferPointer>) -> Bool {
    path.split(separator: UInt8(ascii: "/")).contains { segment in
      // Longest spelling that counts: `%2e%2e`.
      guard segment.count <= 6, let decoded = PercentEncoding.decode(bytes: segment, plusIsSpace: false) else {
        return false
      }
      return decoded == [UInt8(ascii: ".")] || decoded == [UInt8(ascii: "."), UInt8(ascii: ".")]
    }
  }
}
