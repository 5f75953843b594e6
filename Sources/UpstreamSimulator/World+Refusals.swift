import HTTP

extension Reply {
  static let versions: Set<String> = ["2022-11-28", "2026-03-10"]

  /// GitHub's edge speaks no JSON.
  static let missingUserAgent = Reply(
    .forbidden, [.contentType: "text/plain"],
    body: Array("Request forbidden by administrative rules: it needs a User-Agent header.\n".utf8))

  static func unsupportedVersion(_ version: String) -> Reply {
    .message(.badRequest, "Unsupported API version") { json in
      json.key("errors")
      json.string("\(version) is not one of \(Reply.versions.sorted().joined(separator: ", "))")
    }
  }
}

extension Reply {
  /// Of somebody's rights.
  static let takenDown = Reply(
    .unavailableForLegalReasons, [.contentType: Reply.json],
    body: Array(#"{"message":"Repository access blocked","block":{"reason":"dmca","html_url":null}}"#.utf8))

  /// Of GitHub's terms.
  static let blocked = Reply(
    .forbidden, [.contentType: Reply.json],
    body: Array(
      #"{"message":"Repository access blocked","block":{"reason":"tos","created_at":"2020-01-01T00:00:00Z"}}"#.utf8))

  /// To another address.
  static func moved(to address: String) -> Reply {
    var reply = Reply.message(.movedPermanently, "Moved Permanently") { json in
      json.key("url")
      json.string(address)
    }
    reply.fields.append(.location, address)
    return reply
  }
}

/// Answers of somebody who had enough.
extension World {
  mutating func primaryRefusal(_ credential: Credential, _ resource: Resource, _ now: Int64) -> Reply {
    refusals.primary += 1
    let whom =
      switch credential {
      case .anonymous: "127.0.0.1"
      case .user(let name): "user ID \(World.userNumber(name))"
      }
    var reply = Reply.message(
      Status(limits.primaryStatus), "API rate limit exceeded for \(whom).",
      documentation: "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api")
    budgets.tell(credential, resource, now: now, in: &reply.fields)
    return reply
  }

  mutating func secondaryRefusal(_ credential: Credential, _ resource: Resource, _ now: Int64) -> Reply {
    refusals.secondary += 1
    var reply = Reply.message(
      Status(limits.secondaryStatus), "You have exceeded a secondary rate limit. Please wait before you try again.",
      documentation: "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits")
    if let seconds = limits.retryAfter { reply.fields.append(.retryAfter, String(seconds)) }
    budgets.tell(credential, resource, now: now, in: &reply.fields)
    return reply
  }

  /// A number for the owner of a token, the same in every run.
  static func userNumber(_ name: String) -> UInt64 { Seed.number(of: name) % 10_000_000 }
}
