import HTTP
import HTTPServer
import JSONText
import Magpie

/// `GET …/followers` and `…/following`, by login and by id.
struct ListEndpoint: Sendable {
  let services: Services
  let kind: FollowKind

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let parameters = Parameters(request.target)
    if parameters.has("q") || parameters.has("sort") || parameters.has("relation") {
      return try await FilteredListEndpoint(services: services, kind: kind).show(
        request, person, parameters, token: token)
    }
    let page = try PageRequest(parameters)
    var range = page.range
    if let cursor = parameters.cursor {
      range = try self.range(at: cursor, size: page.size, person)
    }
    let wanted = range
    let delivery = try await GitHubReads(services: services).deliver(
      .list(kind, person), wish: Wish(request), life: services.mirror.timeToLive.list,
      location: { GitHubPath.address(services, $0, kind, request.target.query) }, person: { $0.owner },
      standing: { ListEndpoint.standing(of: $0, for: wanted) },
      read: { try await services.mirror.list(kind, of: person, wanted, token: token) })
    let list = delivery.value
    var fields = delivery.fields(list.freshness)
    fields.append("Magpie-Coverage", "\(list.stored)/\(list.expected)")
    let links =
      parameters.has("cursor")
      ? cursorLinks(list, wanted, request.target, person)
      : page.links(stored: list.stored, isComplete: list.isComplete) { address($0, of: list, request.target) }
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    guard let tag = services.listTags.tag(of: list) else {
      return Answers.document(ListEndpoint.body(of: list), for: request, fields)
    }
    return Answers.document(.pieces(MagpieMember.pieces(of: list)), for: request, tag: tag, fields)
  }

  /// While the first walk runs, a part is there when all of it has been read.
  static func standing(of list: StoredList, for range: ListRange) -> GitHubReads.Standing {
    if list.ownerState == "gone" { return .missing }
    if list.isComplete { return list.freshness.map(GitHubReads.Standing.whole) ?? .missing }
    guard list.walk != nil else { return .missing }
    return list.stored >= range.first + Int64(range.count) ? .part : .missing
  }

  static func body(of list: StoredList) -> [UInt8] {
    var writer = JSONWriter(capacity: 64 + list.size + 40 * list.count)
    writer.beginArray()
    list.forEachMember { item, tags in MagpieMember.append(item, tags, to: &writer) }
    writer.endArray()
    return writer.bytes
  }

  // MARK: Links

  /// By id, as GitHub's own links are, with the walk, so that a reader who follows them sees one list.
  private func address(_ page: Int, of list: StoredList, _ target: Target) -> String {
    var query = target.query
    query.set("page", to: String(page))
    query.set("walk", to: list.walk.map(String.init))
    return "\(services.settings.publicURL)/github/user/\(list.ownerID)/\(kind.rawValue)?\(query)"
  }

  private func scope(_ person: Person) -> String { "list/\(kind.rawValue)/\(person.key)" }

  private func range(at cursor: String, size: Int, _ person: Person) throws(APIError) -> ListRange {
    if cursor.isEmpty { return ListRange(first: 0, count: size) }
    guard let fields = services.cursors.decode(cursor, scope: scope(person)), fields.count == 2,
      let walk = Int64(fields[0]), let first = Int64(fields[1])
    else { throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.") }
    return ListRange(first: first, count: size, walk: walk)
  }

  private func cursorLinks(_ list: StoredList, _ range: ListRange, _ target: Target, _ person: Person) -> [Link] {
    let end = range.first + Int64(range.count)
    guard let walk = list.walk, !list.isComplete || end < list.stored else { return [] }
    let cursor = services.cursors.encode([String(walk), String(end)], scope: scope(person))
    var query = target.query
    query.set("cursor", to: cursor)
    query.set("page", to: nil)
    return [Link("\(services.settings.publicURL)\(target.path)?\(query)", rel: "next")]
  }
}
