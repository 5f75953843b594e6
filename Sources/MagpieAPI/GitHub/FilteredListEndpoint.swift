import HTTP
import HTTPServer
import Magpie

/// The same lists with `q=` and `sort=`: over all that is stored, not only the page.
struct FilteredListEndpoint: Sendable {
  let services: Services
  let kind: FollowKind

  func show(
    _ request: Request, _ person: Person, _ parameters: Parameters, token: [UInt8]
  ) async throws -> Response {
    let page = try PageRequest(parameters)
    var filter = ListFilter()
    filter.text = try parameters.text("q") ?? ""
    filter.sort = try parameters.choice("sort", of: ListFilter.Sort.self) ?? .login
    filter.count = page.size
    let scope = "filter/\(kind.rawValue)/\(person.key)/\(filter.sort.rawValue)/\(filter.text)"
    if let cursor = parameters.cursor, !cursor.isEmpty {
      guard let after = services.cursors.decode(cursor, scope: scope), after.count == 2 else {
        throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.")
      }
      filter.after = after
    } else {
      filter.skip = Int64(page.page - 1) * Int64(page.size)
    }
    let wanted = filter
    let delivery = try await GitHubReads(services: services).deliver(
      .list(kind, person), wish: Wish(request), life: services.mirror.timeToLive.list,
      location: { GitHubPath.address(services, $0, kind, request.target.query) }, person: { $0.list.owner },
      standing: { (filtered: FilteredList) in
        let list = filtered.list
        if list.ownerState == "gone" { return .missing }
        // A filter looks at what there is, also while the first walk runs; the coverage says how much that is.
        return list.freshness.map(GitHubReads.Standing.whole) ?? (list.walk == nil ? .missing : .part)
      },
      read: { try await services.mirror.list(kind, of: person, matching: wanted, token: token) })
    let filtered = delivery.value
    let body = ListEndpoint.body(of: filtered.list)
    var fields = delivery.fields(filtered.list.freshness)
    fields.append("Magpie-Coverage", "\(filtered.list.stored)/\(filtered.list.expected)")
    fields.append("Magpie-Matches", String(filtered.matches))
    let links = links(to: filtered, page, parameters, request.target, scope)
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    return Answers.document(body, for: request, fields)
  }

  private func links(
    to filtered: FilteredList, _ page: PageRequest, _ parameters: Parameters, _ target: Target, _ scope: String
  ) -> [Link] {
    let base = "\(services.settings.publicURL)/github/user/\(filtered.list.ownerID)/\(kind.rawValue)"
    if parameters.has("cursor") {
      guard let next = filtered.next else { return [] }
      var query = target.query
      query.set("cursor", to: services.cursors.encode(next, scope: scope))
      query.set("page", to: nil)
      return [Link("\(services.settings.publicURL)\(target.path)?\(query)", rel: "next")]
    }
    return page.links(stored: filtered.matches, isComplete: true) { number in
      var query = target.query
      query.set("page", to: String(number))
      return "\(base)?\(query)"
    }
  }
}
