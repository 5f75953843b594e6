import HTTP

/// Which requests a fault, a gate or a count is about.
///
/// The path may hold `*` for any part of one segment and `**` for anything; items after `?` must be among the request's,
/// with that value, in any order. Examples: `/users/octocat`, `/user/*/followers?page=3`, `/**`.
public struct PathPattern: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// As it was written.
  public let description: String
  private let path: [UInt8]
  private let items: [Target.Query.Item]

  /// Takes any text; one that matches nothing is allowed.
  public init(_ text: String) {
    description = text
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts.first.map { Array($0.utf8) } ?? []
    let query = parts.count > 1 ? (try? Target("/?\(parts[1])"))?.query : nil
    items = query?.items ?? []
  }

  /// The same, of a literal.
  public init(stringLiteral text: String) { self.init(text) }

  /// Whether a request target is meant.
  public func matches(_ target: Target) -> Bool {
    guard PathPattern.matches(path[...], Array(target.path.utf8)[...]) else { return false }
    if items.isEmpty { return true }
    let present = target.query.items
    return items.allSatisfy { present.contains($0) }
  }

  private static let star = UInt8(ascii: "*")

  private static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    guard first == star else {
      return text.first == first && matches(pattern.dropFirst(), text.dropFirst())
    }
    let crossesSegments = pattern.dropFirst().first == star
    let rest = pattern.dropFirst(crossesSegments ? 2 : 1)
    var text = text
    while true {
      if matches(rest, text) { return true }
      guard let next = text.first, crossesSegments || next != UInt8(ascii: "/") else { return false }
      text = text.dropFirst()
    }
  }
}
