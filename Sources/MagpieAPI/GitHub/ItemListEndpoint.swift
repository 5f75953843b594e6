import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// `GET …/repos`, `…/gists` and `…/orgs`, by login and by id.
struct ItemListEndpoint: Sendable {
  let services: Services

  func gists(_ request: Request) async throws -> Response {
    let parameters = Parameters(request.target)
    guard let since = try parameters.text("since"), !since.isEmpty else {
      return try await show(request, .gists, order: nil, parameters)
    }
    guard let time = Timestamp(since) else {
      throw APIError.badParameter("since", "must be a time such as 2026-01-31T12:00:00Z")
    }
    var filter = ItemFilter()
    filter.updatedSince = Instant(microseconds: time.microseconds)
    return try await FilteredItemsEndpoint(services: services, kind: .gists).show(request, filter, parameters)
  }

  func organizations(_ request: Request) async throws -> Response {
    try await show(request, .organizations, order: nil, Parameters(request.target))
  }

  /// Repositories of somebody in any order, all of them or those that match.
  func repositories(_ request: Request) async throws -> Response {
    let parameters = Parameters(request.target)
    let kind: ItemKind =
      switch try parameters.choice("type", of: RepositoryType.self) ?? .owner {
      case .owner: .repositories
      case .member: .memberRepositories
      case .all: .allRepositories
      }
    let order = RepositoryOrder(
      try parameters.choice("sort", of: RepositoryOrder.Sort.self) ?? .fullName,
      try parameters.choice("direction", of: RepositoryOrder.Direction.self))
    if parameters.has("q") || parameters.has("language") {
      var filter = ItemFilter()
      filter.text = try parameters.text("q") ?? ""
      filter.language = try parameters.text("language").flatMap { $0.isEmpty ? nil : $0 }
      return try await FilteredItemsEndpoint(services: services, kind: kind)
        .show(request, order: order, filter, parameters)
    }
    // The order in which the upstream is read can be shown while it is read.
    return try await show(request, kind, order: order == .upstream ? nil : order, parameters)
  }

  /// GitHub's word for whose repositories.
  enum RepositoryType: String, CaseIterable {
    case all, owner, member
  }

  private func show(
    _ request: Request, _ kind: ItemKind, order: RepositoryOrder?, _ parameters: Parameters
  ) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let place = ItemListPlace(services: services, kind: kind, target: request.target)
    let page = try PageRequest(parameters)
    let scope = place.scope(person, order)
    var range = page.range
    if let cursor = parameters.cursor { range = try self.range(at: cursor, size: page.size, scope) }
    let wanted = range
    let delivery = try await GitHubReads(services: services).deliver(
      .items(kind, person), wish: Wish(request), life: services.mirror.timeToLive.list,
      location: { GitHubPath.address(services, $0, list: place.path, request.target.query) }, person: { $0.owner },
      standing: { list in
        // An order is made of a whole list.
        if order != nil, !list.isComplete { return .missing }
        return ListEndpoint.standing(of: list, for: wanted)
      },
      read: { try await services.mirror.items(kind, of: person, wanted, order, token: token) })
    let list = delivery.value
    let body = ListEndpoint.body(of: list)
    var fields = delivery.fields(list.freshness)
    fields.append("Magpie-Coverage", "\(list.stored)/\(list.expected)")
    let links =
      parameters.has("cursor")
      ? cursorLinks(list, wanted, request.target, scope)
      : page.links(stored: list.stored, isComplete: list.isComplete) { place.address($0, of: list) }
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    return Answers.document(body, for: request, tag: services.listTags.tag(of: list), fields)
  }

  // MARK: Cursors

  private func range(at cursor: String, size: Int, _ scope: String) throws(APIError) -> ListRange {
    if cursor.isEmpty { return ListRange(first: 0, count: size) }
    guard let fields = services.cursors.decode(cursor, scope: scope), fields.count == 2,
      let walk = Int64(fields[0]), let first = Int64(fields[1])
    else { throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.") }
    return ListRange(first: first, count: size, walk: walk)
  }

  private func cursorLinks(_ list: StoredList, _ range: ListRange, _ target: Target, _ scope: String) -> [Link] {
    let end = range.first + Int64(range.count)
    guard let walk = list.walk, !list.isComplete || end < list.stored else { return [] }
    var query = target.query
    query.set("cursor", to: services.cursors.encode([String(walk), String(end)], scope: scope))
    query.set("page", to: nil)
    return [Link("\(services.settings.publicURL)\(target.path)?\(query)", rel: "next")]
  }
}

/// Where a list of things is, for its links.
struct ItemListPlace {
  let services: Services
  let kind: ItemKind
  let target: Target

  /// The part of a path that names the list; the three kinds of repositories are one list with a parameter.
  var path: String { kind.isOfRepositories ? "/repos" : "/\(kind.rawValue)" }

  /// By id, as GitHub's own links are, with the walk, so that a reader who follows them sees one list.
  func address(_ page: Int, of list: StoredList) -> String {
    var query = target.query
    query.set("page", to: String(page))
    query.set("walk", to: list.walk.map(String.init))
    return "\(services.settings.publicURL)/github/user/\(list.ownerID)\(path)?\(query)"
  }

  /// What a cursor is good for.
  func scope(_ person: Person, _ order: RepositoryOrder?) -> String {
    let order = order.map { "\($0.sort.rawValue)/\($0.direction.rawValue)" } ?? "upstream"
    return "items/\(kind.rawValue)/\(person.key)/\(order)"
  }
}
