import HTTP
import HTTPServer
import Magpie

/// Lists of repositories with `q=` and `language=`, and of gists with `since=`: over all that is stored, not only the page.
struct FilteredItemsEndpoint: Sendable {
  let services: Services
  let kind: ItemKind

  /// - Parameter order: of repositories; gists keep the upstream's.
  func show(
    _ request: Request, order: RepositoryOrder? = nil, _ filter: ItemFilter, _ parameters: Parameters
  ) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let place = ItemListPlace(services: services, kind: kind, target: request.target)
    let page = try PageRequest(parameters)
    var wanted = filter
    wanted.count = page.size
    wanted.walk = page.walk
    let scope = "\(place.scope(person, order))/\(filter.scope)"
    if let cursor = parameters.cursor, !cursor.isEmpty {
      guard let fields = services.cursors.decode(cursor, scope: scope), fields.count == 2,
        let walk = Int64(fields[0]), let after = Int64(fields[1])
      else { throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.") }
      wanted.walk = walk
      wanted.after = after
    } else {
      wanted.skip = Int64(page.page - 1) * Int64(page.size)
    }
    let part = wanted
    let delivery = try await GitHubReads(services: services).deliver(
      .items(kind, person), wish: Wish(request), life: services.mirror.timeToLive.list,
      location: { GitHubPath.address(services, $0, list: place.path, request.target.query) }, person: { $0.list.owner },
      standing: { (filtered: FilteredList) in
        let list = filtered.list
        if list.ownerState == "gone" || !list.isComplete { return .missing }
        return list.freshness.map(GitHubReads.Standing.whole) ?? .missing
      },
      read: { try await services.mirror.items(kind, of: person, matching: part, order, token: token) })
    let filtered = delivery.value
    let body = ListEndpoint.body(of: filtered.list)
    var fields = delivery.fields(filtered.list.freshness)
    fields.append("Magpie-Coverage", "\(filtered.list.stored)/\(filtered.list.expected)")
    fields.append("Magpie-Matches", String(filtered.matches ?? 0))
    let links = links(to: filtered, page, parameters, place, scope)
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    return Answers.document(body, for: request, fields)
  }

  private func links(
    to filtered: FilteredList, _ page: PageRequest, _ parameters: Parameters, _ place: ItemListPlace, _ scope: String
  ) -> [Link] {
    if parameters.has("cursor") {
      guard let after = filtered.next?.first, let walk = filtered.list.walk else { return [] }
      var query = place.target.query
      query.set("cursor", to: services.cursors.encode([String(walk), after], scope: scope))
      query.set("page", to: nil)
      return [Link("\(services.settings.publicURL)\(place.target.path)?\(query)", rel: "next")]
    }
    return page.links(stored: filtered.matches ?? 0, isComplete: true) { place.address($0, of: filtered.list) }
  }
}
