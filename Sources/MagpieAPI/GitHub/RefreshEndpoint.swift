import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// `POST /github/users/{login}/refresh` and `/github/user/{id}/refresh`: orders fresh data, or says what it would cost.
struct RefreshEndpoint: Sendable {
  let services: Services
  /// Somebody wants it soon, but does not hold the line.
  static let priority = Job.Priority.soon
  /// Bytes of a body.
  static let maxBody = 4_096

  func order(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let isDryRun = try Parameters(request.target).choice("dry_run", of: ["true", "false"]) == "true"
    let parts = try RefreshEndpoint.parts(try await request.body(limit: RefreshEndpoint.maxBody))
    guard let plan = try await services.mirror.refreshPlan(of: person, token: token, isOrder: !isDryRun) else {
      throw APIError.badCredentials
    }
    if !plan.isKnown {
      let absence = try await services.mirror.absence(of: .profile(person))
      if let login = absence.movedTo {
        let path = "/github/users/\(PercentEncoding.encode(login))/refresh"
        throw GitHubProblem.moved(to: services.settings.publicURL + path + query(of: request))
      }
      if let fact = absence.fact { throw GitHubProblem.absent(fact, .profile(person)) }
    }
    if isDryRun { return try await forecast(parts, plan, token) }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("jobs")
    writer.beginArray()
    for part in parts {
      let ticket = try await services.refreshes.request(
        part.subject(of: plan.person), priority: RefreshEndpoint.priority, startsOver: true, account: plan.account)
      writer.beginObject()
      writer.key("what")
      writer.string(part.rawValue)
      writer.key("job")
      writer.int(ticket.id)
      writer.key("url")
      writer.string("/v1/jobs/\(ticket.id)")
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return Answers.unstored(writer.bytes, status: .accepted)
  }

  private func query(of request: Request) -> String {
    request.target.query.items.isEmpty ? "" : "?\(request.target.query)"
  }

  /// Each part once, in the order named.
  private static func parts(_ body: [UInt8]) throws -> [RefreshPlan.Part] {
    try JSONObjectReader.read(body) { body in
      var parts: [RefreshPlan.Part] = []
      guard let names = body.list("what", of: String.self, maxCount: 20) else {
        if !body.has("what") { body.refuse("what", "is required") }
        return parts
      }
      let allowed = RefreshPlan.Part.allCases.map(\.rawValue).joined(separator: ", ")
      if names.isEmpty, body.issues.isEmpty { body.refuse("what", "must name at least one of \(allowed)") }
      for name in names {
        guard let part = RefreshPlan.Part(rawValue: name) else {
          body.refuse("what", "must be some of \(allowed)")
          break
        }
        if !parts.contains(part) { parts.append(part) }
      }
      return parts
    }
  }

  // MARK: What it would cost

  private func forecast(_ parts: [RefreshPlan.Part], _ plan: RefreshPlan, _ token: [UInt8]) async throws -> Response {
    let now = Instant.now.microseconds / 1_000_000
    let core =
      try await services.refreshes.allowances(token: token, priority: RefreshEndpoint.priority)?
      .first { $0.resource == "core" } ?? Budgets.Allowance(resource: "core", limit: 0, remaining: 0, reset: now)
    let requests = parts.map { plan.requests(for: $0) }
    // Nothing is said of the whole when nothing can be said of a part.
    let total = requests.contains(nil) ? nil : requests.reduce(0) { $0 + ($1 ?? 0) }
    let forecast = total.map { RefreshPlan.forecast(requests: $0, allowance: core, window: 3_600, now: now) }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("what")
    writer.beginArray()
    for (part, count) in zip(parts, requests) {
      writer.beginObject()
      writer.key("what")
      writer.string(part.rawValue)
      writer.key("requests")
      writer.optional(count)
      writer.endObject()
    }
    writer.endArray()
    writer.key("requests")
    writer.optional(total)
    writer.key("budget")
    writer.beginObject()
    writer.key("resource")
    writer.string(core.resource)
    writer.key("class")
    writer.string("soon")
    writer.key("limit")
    writer.int(core.limit)
    writer.key("remaining")
    writer.int(core.remaining)
    writer.key("after")
    writer.optional(forecast?.remaining)
    writer.key("reset")
    writer.int(core.reset)
    writer.endObject()
    writer.key("seconds")
    writer.optional(forecast?.seconds.map { Int64($0.rounded(.up)) })
    writer.endObject()
    return Answers.unstored(writer.bytes)
  }
}

extension JSONWriter {
  fileprivate mutating func optional(_ value: Int64?) {
    if let value { int(value) } else { null() }
  }
}
