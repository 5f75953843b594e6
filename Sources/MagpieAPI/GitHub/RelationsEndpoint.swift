import HTTP
import HTTPServer
import JSONText
import Magpie

/// `GET …/relations?set=`: what comes of laying a person's two lists side by side.
struct RelationsEndpoint: Sendable {
  /// The sets, as seen by the person.
  enum Set: String, CaseIterable {
    /// Both follow each other.
    case mutual
    /// Followed, and not following.
    case notFollowingBack = "not_following_back"
    /// Following, and not followed.
    case notFollowedBack = "not_followed_back"
  }

  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let parameters = Parameters(request.target)
    let set = try parameters.choice("set", of: Set.self)
    guard let set else {
      throw APIError.badParameter("set", "must be one of \(Set.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let kind: FollowKind = set == .notFollowingBack ? .following : .followers
    let part = try await FilteredListEndpoint(services: services, kind: kind).load(
      request, person, parameters, set == .mutual ? .mutual : .notBack, token: token)
    let filtered = part.delivery.value
    var writer = JSONWriter(capacity: 256 + filtered.list.size + 96 * filtered.list.count)
    writer.beginObject()
    writer.key("set")
    writer.string(set.rawValue)
    writer.key("count")
    if let matches = filtered.matches { writer.int(matches) } else { writer.null() }
    let own = (filtered.list.stored, filtered.list.expected)
    let other = filtered.other.map { ($0.stored, $0.expected) } ?? (0, 0)
    for list in FollowKind.allCases {
      let (stored, expected) = list == kind ? own : other
      writer.key(list.rawValue)
      writer.beginObject()
      writer.key("stored")
      writer.int(stored)
      writer.key("expected")
      writer.int(expected)
      writer.endObject()
    }
    writer.key("items")
    FilteredListEndpoint.append(filtered, to: &writer)
    writer.key("next")
    if let cursor = part.cursor { writer.string(cursor) } else { writer.null() }
    writer.endObject()
    return Answers.document(writer.bytes, for: request, part.fields)
  }
}
