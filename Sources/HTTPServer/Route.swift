import HTTP

/// One line of the route table.
final class Route: Sendable {
  /// A capture's name and the index of its segment in the path.
  struct Capture: Sendable {
    let name: String
    let segment: Int
  }

  enum Segment: Hashable, Sendable {
    case literal(String)
    case capture
  }

  enum Action: Sendable {
    case handler(Handler)
    case immediate(ImmediateHandler)
  }

  let method: Method
  let pattern: String
  let segments: [Segment]
  let captures: [Capture]
  let action: Action

  init(_ method: Method, _ pattern: String, _ action: Action) throws(Router.Invalid) {
    guard pattern.utf8.first == UInt8(ascii: "/") else {
      throw Router.Invalid(pattern: pattern, reason: "a pattern begins with a slash")
    }
    var segments: [Segment] = []
    var captures: [Capture] = []
    for part in pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      if part.hasPrefix("{"), part.hasSuffix("}"), part.count > 2 {
        let name = String(part.dropFirst().dropLast())
        guard !captures.contains(where: { $0.name == name }) else {
          throw Router.Invalid(pattern: pattern, reason: "{\(name)} stands twice")
        }
        captures.append(Capture(name: name, segment: segments.count))
        segments.append(.capture)
      } else {
        // Text is compared with decoded segments, so an escape in it could never be met.
        let isPlain = part.utf8.allSatisfy { byte in
          (ASCII.isToken(byte) || byte == UInt8(ascii: "@")) && byte != UInt8(ascii: "%")
        }
        guard isPlain, part != ".", part != ".." else {
          throw Router.Invalid(pattern: pattern, reason: "\(part) is neither plain text nor a whole {capture}")
        }
        segments.append(.literal(String(part)))
      }
    }
    guard segments.count <= RouteTrie.maxSegments else {
      throw Router.Invalid(pattern: pattern, reason: "more than \(RouteTrie.maxSegments) segments")
    }
    self.method = method
    self.pattern = pattern
    self.segments = segments
    self.captures = captures
    self.action = action
  }
}
