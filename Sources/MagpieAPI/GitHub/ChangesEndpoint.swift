import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// `GET …/followers/changes` and `…/followers/history`, and the same of `following`.
struct ChangesEndpoint: Sendable {
  static let maxPageSize = 200
  let services: Services
  let kind: FollowKind

  /// `?since=&limit=&cursor=`: the newest first.
  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let parameters = Parameters(request.target)
    var range = ChangesRange()
    range.since = try since(parameters)
    range.count = try parameters.positive("limit", default: 50, max: ChangesEndpoint.maxPageSize)
    let scope = "changes/\(kind.rawValue)/\(person.key)"
    if let cursor = parameters.cursor, !cursor.isEmpty {
      guard let fields = services.cursors.decode(cursor, scope: scope), fields.count == 1, let id = Int64(fields[0])
      else { throw APIError(.badRequest, "request/invalid-cursor", "The cursor is not one of this list.") }
      range.before = id
    }
    let wanted = range
    let delivery = try await deliver(request, person, "changes", list: { $0.list }) {
      try await services.mirror.changes(kind, of: person, wanted, token: token)
    }
    let changes = delivery.value
    let next =
      changes.hasMore ? changes.events.last.map { services.cursors.encode([String($0.id)], scope: scope) } : nil
    return Answers.document(body(of: changes, next: next), for: request, delivery.fields(changes.list.freshness))
  }

  /// `?from=&to=`: days in UTC, both included.
  func history(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let parameters = Parameters(request.target)
    let to = try parameters.day("to") ?? ChangesEndpoint.day(of: Instant.now.microseconds)
    let end = Timestamp("\(to)T00:00:00Z")?.microseconds ?? 0
    let from = try parameters.day("from") ?? ChangesEndpoint.day(of: max(0, end - 364 * ChangesEndpoint.dayLength))
    let span = (end - (Timestamp("\(from)T00:00:00Z")?.microseconds ?? 0)) / ChangesEndpoint.dayLength
    guard span >= 0 else { throw APIError.badParameter("from", "must not be later than to") }
    guard span < FollowerHistory.maxDays else {
      throw APIError.badParameter("from", "must not be \(FollowerHistory.maxDays) days or more before to")
    }
    let delivery = try await deliver(request, person, "history", list: { $0.list }) {
      try await services.mirror.history(kind, of: person, from: from, to: to, token: token)
    }
    var writer = JSONWriter(capacity: 64 + 64 * delivery.value.days.count)
    writer.beginObject()
    writer.member("from", from)
    writer.member("to", to)
    writer.key("days")
    writer.beginArray()
    for day in delivery.value.days {
      writer.beginObject()
      writer.member("date", day.date)
      for (name, number) in [("count", day.count), ("gained", day.gained), ("lost", day.lost)] {
        writer.key(name)
        writer.int(number)
      }
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return Answers.document(writer.bytes, for: request, delivery.fields(delivery.value.list.freshness))
  }

  /// Both are told of a whole list only: what has not been seen whole has no baseline.
  private func deliver<Value: Sendable>(
    _ request: Request, _ person: Person, _ part: String, list: (Value) -> StoredList,
    read: () async throws -> Mirror.Read<Value>
  ) async throws -> Delivery<Value> {
    let items = request.target.query.items.isEmpty ? "" : "?\(request.target.query)"
    return try await GitHubReads(services: services).deliver(
      .list(kind, person), wish: Wish(request), life: services.mirror.timeToLive.list,
      location: { "\(GitHubPath.address(services, $0, kind, Target.Query()))/\(part)\(items)" },
      person: { list($0).owner },
      standing: { value in
        let list = list(value)
        guard list.ownerState != "gone", list.isComplete, let freshness = list.freshness else { return .missing }
        return .whole(freshness)
      }, read: read)
  }

  // MARK: Changes

  private func since(_ parameters: Parameters) throws(APIError) -> ChangesRange.Since? {
    guard let text = try parameters.text("since"), !text.isEmpty else { return nil }
    if let id = Int64(text), id >= 0 { return .event(id) }
    if let time = Timestamp(text) { return .instant(Instant(microseconds: time.microseconds)) }
    throw .badParameter("since", "must be the id of an event or a time such as 2026-01-31T12:00:00Z")
  }

  private func body(of changes: FollowerChanges, next: String?) -> [UInt8] {
    var writer = JSONWriter(capacity: 128 + 1_792 * changes.events.count)
    writer.beginObject()
    writer.key("baseline_at")
    writer.optional(changes.baselineAt.map(ChangesEndpoint.text))
    writer.key("checking")
    writer.int(changes.checking)
    writer.key("items")
    writer.beginArray()
    changes.forEachEvent { event, item, tags in
      writer.beginObject()
      writer.key("id")
      writer.int(event.id)
      writer.member("event", event.kind)
      writer.key("reason")
      writer.optional(event.reason)
      writer.key("observed_between")
      writer.beginArray()
      writer.string(ChangesEndpoint.text(event.observedFrom))
      writer.string(ChangesEndpoint.text(event.observedTo))
      writer.endArray()
      writer.member("recorded_at", ChangesEndpoint.text(event.recordedAt))
      writer.member("login", event.login)
      writer.key("user")
      if let item { MagpieMember.append(item, tags, to: &writer) } else { writer.null() }
      writer.endObject()
    }
    writer.endArray()
    writer.key("next")
    writer.optional(next)
    writer.endObject()
    return writer.bytes
  }

  private static func text(_ instant: Instant) -> String { Timestamp(microseconds: instant.microseconds).description }

  private static let dayLength: Int64 = 86_400_000_000

  private static func day(of microseconds: Int64) -> String {
    String(Timestamp(microseconds: microseconds).description.prefix(10))
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ name: String, _ value: String) {
    key(name)
    string(value)
  }

  fileprivate mutating func optional(_ text: String?) {
    if let text { string(text) } else { null() }
  }
}

extension Parameters {
  /// A day such as `2026-01-31`.
  func day(_ name: String) throws(APIError) -> String? {
    guard let value = try text(name) else { return nil }
    guard value.utf8.count == 10, Timestamp("\(value)T00:00:00Z") != nil else {
      throw .badParameter(name, "must be a day such as 2026-01-31")
    }
    return value
  }
}
