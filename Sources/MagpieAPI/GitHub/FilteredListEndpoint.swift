import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie

/// The same lists with `q=`, `sort=` and `relation=`: over all that is stored, not only the page.
struct FilteredListEndpoint: Sendable {
  let services: Services
  let kind: FollowKind

  /// An array of people, as without a filter.
  func show(
    _ request: Request, _ person: Person, _ parameters: Parameters, token: [UInt8]
  ) async throws -> Response {
    let relation = try parameters.choice("relation", of: ListFilter.Relation.self)
    let part = try await load(request, person, parameters, relation, token: token)
    let filtered = part.delivery.value
    var fields = part.fields
    fields.append("Magpie-Coverage", "\(filtered.list.stored)/\(filtered.list.expected)")
    if relation != nil, let other = filtered.other {
      fields.append("Magpie-Other-Coverage", "\(other.stored)/\(other.expected)")
    }
    if let matches = filtered.matches { fields.append("Magpie-Matches", String(matches)) }
    var writer = JSONWriter(capacity: 64 + filtered.list.size + 96 * filtered.list.count)
    FilteredListEndpoint.append(filtered, to: &writer)
    return Answers.document(writer.bytes, for: request, fields)
  }

  /// A part of a list, and how it is told of.
  struct Part: Sendable {
    let delivery: Delivery<FilteredList>
    /// With the links to other parts.
    let fields: Fields
    /// Of the next part.
    let cursor: String?
  }

  /// Reads a part. With a relation both lists must have been seen whole: who is missing from half a list has not left it.
  func load(
    _ request: Request, _ person: Person, _ parameters: Parameters, _ relation: ListFilter.Relation?, token: [UInt8]
  ) async throws -> Part {
    let page = try PageRequest(parameters)
    var filter = ListFilter()
    filter.text = try parameters.text("q") ?? ""
    filter.relation = relation
    filter.sort =
      try parameters.choice("sort", of: ListFilter.Sort.self)
      ?? (relation != nil && filter.text.isEmpty ? .upstream : .login)
    filter.count = page.size
    filter.order = page.walk
    let scope =
      "filter/\(kind.rawValue)/\(person.key)/\(relation?.rawValue ?? "")/\(filter.sort.rawValue)/\(filter.text)"
    if let cursor = parameters.cursor, !cursor.isEmpty {
      guard let after = services.cursors.decode(cursor, scope: scope), (2...4).contains(after.count) else {
        throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.")
      }
      filter.after = after
    } else {
      filter.skip = Int64(page.page - 1) * Int64(page.size)
    }
    let wanted = filter
    var wish = Wish(request)
    var other: Delivery<StoredList>?
    if relation != nil {
      let start = System.monotonicNanoseconds()
      other = try await wholeList(kind.other, wish, request, person, token)
      wish.spent = .nanoseconds(Int64(clamping: System.monotonicNanoseconds() &- start))
    }
    let isFirst = page.page == 1 && parameters.cursor == nil
    let delivery = try await GitHubReads(services: services).deliver(
      .list(kind, person), wish: wish, life: services.mirror.timeToLive.list,
      location: { "\(services.settings.publicURL)\(path(of: request, $0))" }, person: { $0.list.owner },
      standing: { (filtered: FilteredList) in
        let list = filtered.list
        if list.ownerState == "gone" { return .missing }
        if let freshness = list.freshness { return .whole(freshness) }
        if list.walk == nil || wanted.relation != nil { return .missing }
        // A filter looks at what there is, also while the first walk runs; the coverage says how much that is. Whoever wants
        // more than a look gets the whole: what is still to come may belong before what has been shown.
        return isFirst ? .part : .missing
      },
      read: { try await services.mirror.list(kind, of: person, matching: wanted, token: token) })
    let filtered = delivery.value
    let cursor = filtered.next.map { services.cursors.encode($0, scope: scope) }
    var fields = FilteredListEndpoint.fields(delivery, other)
    let links = links(to: filtered, page, parameters, request.target, cursor)
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    return Part(delivery: delivery, fields: fields, cursor: cursor)
  }

  /// As old as the older of both lists, and as stale as the staler.
  private static func fields(_ delivery: Delivery<FilteredList>, _ other: Delivery<StoredList>?) -> Fields {
    var whole = delivery
    var freshness = delivery.value.list.freshness
    if let other {
      whole.take(in: other)
      freshness = [freshness, other.value.freshness].compactMap { $0 }.max { $0.age < $1.age }
    }
    return whole.fields(freshness)
  }

  /// Waits for the first walk of a list as long as the client would, and has a stale list refreshed.
  private func wholeList(
    _ kind: FollowKind, _ wish: Wish, _ request: Request, _ person: Person, _ token: [UInt8]
  ) async throws -> Delivery<StoredList> {
    try await GitHubReads(services: services).deliver(
      .list(kind, person), wish: wish, life: services.mirror.timeToLive.list,
      location: { "\(services.settings.publicURL)\(path(of: request, $0))" }, person: { $0.owner },
      standing: { (list: StoredList) in
        guard list.ownerState != "gone", list.isComplete, let freshness = list.freshness else { return .missing }
        return .whole(freshness)
      },
      read: { try await services.mirror.list(kind, of: person, ListRange(first: 0, count: 1), token: token) })
  }

  /// The same request about somebody's present login.
  private func path(of request: Request, _ login: String) -> String {
    let rest = request.target.path.split(separator: "/", omittingEmptySubsequences: true).dropFirst(3)
    let items = request.target.query.items.isEmpty ? "" : "?\(request.target.query)"
    return "/github/users/\(PercentEncoding.encode(login))/\(rest.joined(separator: "/"))\(items)"
  }

  static func append(_ filtered: FilteredList, to writer: inout JSONWriter) {
    writer.beginArray()
    var index = 0
    filtered.list.forEachMember { item, tags in
      let firstSeen = filtered.firstSeen[index]
      index += 1
      writer.rawObject(before: item) { writer in
        writer.beginObject()
        MagpieMember.writeFavorite(tags, to: &writer)
        if let firstSeen {
          writer.key("first_seen_at")
          writer.string(Timestamp(microseconds: firstSeen.microseconds).description)
        }
        writer.endObject()
      }
    }
    writer.endArray()
  }

  // MARK: Links

  private func links(
    to filtered: FilteredList, _ page: PageRequest, _ parameters: Parameters, _ target: Target, _ cursor: String?
  ) -> [Link] {
    func next() -> [Link] {
      guard let cursor else { return [] }
      var query = target.query
      query.set("cursor", to: cursor)
      query.set("page", to: nil)
      return [Link("\(services.settings.publicURL)\(target.path)?\(query)", rel: "next")]
    }
    // Where matches are not counted, nobody knows the last page, and the next one is found by its place.
    guard !parameters.has("cursor"), let matches = filtered.matches else { return next() }
    let place = target.path.split(separator: "/").dropFirst(3).joined(separator: "/")
    let base = "\(services.settings.publicURL)/github/user/\(filtered.list.ownerID)/\(place)"
    return page.links(stored: matches, isComplete: filtered.list.freshness != nil) { number in
      var query = target.query
      query.set("page", to: String(number))
      if let order = filtered.order { query.set("walk", to: String(order)) }
      return "\(base)?\(query)"
    }
  }
}
