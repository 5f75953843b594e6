import HTTP

/// Requests a credential may still make of a resource. A window begins with the first request after the last one ended.
struct Budget: Sendable, Equatable {
  let limit: Int
  var used: Int
  /// Seconds since 1970 when the window ends.
  var reset: Int64

  var remaining: Int { max(0, limit - used) }
}

/// What budgets are kept for; the names stand in `x-ratelimit-resource`.
enum Resource: String, Sendable, CaseIterable {
  case core
  case search
  case graphql

  var windowSeconds: Int64 { self == .search ? 60 : 3600 }
}

/// All budgets, one for each credential and resource.
struct Budgets: Sendable {
  private struct Key: Hashable {
    let credential: Credential
    let resource: Resource
  }

  var limits: Simulator.Configuration.Limits
  private var budgets: [Key: Budget] = [:]

  init(_ limits: Simulator.Configuration.Limits) { self.limits = limits }

  /// The budget as it is now; a window that has ended counts as a new, unused one.
  func budget(_ credential: Credential, _ resource: Resource, now: Int64) -> Budget {
    if let budget = budgets[Key(credential: credential, resource: resource)], now < budget.reset { return budget }
    return Budget(limit: limit(credential, resource), used: 0, reset: now + resource.windowSeconds)
  }

  /// Takes one request from the budget. `false`, and nothing taken, when it is used up.
  mutating func charge(_ credential: Credential, _ resource: Resource, now: Int64) -> Bool {
    var budget = budget(credential, resource, now: now)
    guard budget.remaining > 0 else { return false }
    budget.used += 1
    budgets[Key(credential: credential, resource: resource)] = budget
    return true
  }

  /// Gives back what a free answer was charged.
  mutating func refund(_ credential: Credential, _ resource: Resource, now: Int64) {
    var budget = budget(credential, resource, now: now)
    budget.used = max(0, budget.used - 1)
    budgets[Key(credential: credential, resource: resource)] = budget
  }

  /// Sets what is left in the present window, and when it ends.
  mutating func set(_ credential: Credential, _ resource: Resource, remaining: Int, reset: Int64?, now: Int64) {
    let present = budget(credential, resource, now: now)
    let limit = max(present.limit, remaining)
    budgets[Key(credential: credential, resource: resource)] = Budget(
      limit: limit, used: limit - max(0, remaining), reset: reset ?? present.reset)
  }

  /// Says in an answer what is left, if answers say so.
  func tell(_ credential: Credential, _ resource: Resource, now: Int64, in fields: inout Fields) {
    if limits.tellsBudgets { budget(credential, resource, now: now).write(to: &fields, resource: resource) }
  }

  private func limit(_ credential: Credential, _ resource: Resource) -> Int {
    switch (resource, credential.isAuthorized) {
    case (.core, true): limits.core
    case (.core, false): limits.anonymousCore
    case (.search, true): limits.search
    case (.search, false): limits.anonymousSearch
    case (.graphql, true): limits.core
    case (.graphql, false): 0
    }
  }
}

extension Budget {
  fileprivate func write(to fields: inout Fields, resource: Resource) {
    fields.append("X-RateLimit-Limit", String(limit))
    fields.append("X-RateLimit-Remaining", String(remaining))
    fields.append("X-RateLimit-Reset", String(reset))
    fields.append("X-RateLimit-Used", String(used))
    fields.append("X-RateLimit-Resource", resource.rawValue)
  }
}
