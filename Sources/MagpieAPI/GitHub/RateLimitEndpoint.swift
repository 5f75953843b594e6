import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// `GET /github/rate_limit`: what this server may still ask GitHub on behalf of somebody who waits, in GitHub's shape.
///
/// Asking costs nothing and sends nothing. Like GitHub's own it has no entity tag: it is another answer every time.
struct RateLimitEndpoint: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    guard let known = try await services.refreshes.allowances(token: token) else { throw APIError.badCredentials }
    let now = Instant.now.microseconds / 1_000_000
    // These two are always there, so that clients need not look; without a worker nothing can be asked.
    let always = [("core", 3_600 as Int64), ("search", 60)].map { name, window in
      known.first { $0.resource == name }
        ?? Budgets.Allowance(resource: name, limit: 0, remaining: 0, reset: now + window)
    }
    let others = known.filter { $0.resource != "core" && $0.resource != "search" }
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    writer.key("resources")
    writer.beginObject()
    for allowance in always + others {
      writer.key(allowance.resource)
      allowance.write(to: &writer)
    }
    writer.endObject()
    writer.key("rate")
    always[0].write(to: &writer)
    writer.endObject()
    return Response(
      .ok,
      [
        .contentType: "application/json; charset=utf-8", .cacheControl: "private, no-cache", .vary: "Authorization",
        .xContentTypeOptions: "nosniff", "X-RateLimit-Limit": String(always[0].limit),
        "X-RateLimit-Remaining": String(always[0].remaining), "X-RateLimit-Used": String(always[0].used),
        "X-RateLimit-Reset": String(always[0].reset), "X-RateLimit-Resource": "core",
      ], .bytes(writer.bytes))
  }
}

extension Budgets.Allowance {
  fileprivate var used: Int64 { max(0, limit - remaining) }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("limit")
    writer.int(limit)
    writer.key("used")
    writer.int(used)
    writer.key("remaining")
    writer.int(remaining)
    writer.key("reset")
    writer.int(reset)
    writer.endObject()
  }
}
