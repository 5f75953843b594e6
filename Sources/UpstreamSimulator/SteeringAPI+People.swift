import HTTP
import HTTPServer
import JSONText

/// Commands about people, lists, tokens and budgets.
extension SteeringAPI {
  /// `nil` when the command is none of these.
  func people(_ name: String, _ body: [UInt8]) throws -> Response? {
    switch name {
    case "users":
      let user = try JSONObjectReader.read(body) { reader in
        func count(_ name: String) -> Int {
          Int(clamping: min(4_000, max(0, reader.optional(name, as: Int64.self) ?? 0)))
        }
        var user = Simulator.Configuration.User(
          reader.required("login", as: String.self) ?? "",
          followers: Int(reader.optional("followers", as: Int64.self) ?? 0),
          following: Int(reader.optional("following", as: Int64.self) ?? 0),
          id: reader.optional("id", as: Int64.self))
        user.repositories = count("repositories")
        user.gists = count("gists")
        user.organizations = count("organizations")
        return user
      }
      let id = try engine.world.withLock { try $0.add(user) }
      return Self.object { $0.member("id", Int(id)) }
    case "follow", "unfollow":
      let (user, by) = try JSONObjectReader.read(body) { reader in
        (reader.required("user", as: String.self) ?? "", reader.required("by", as: String.self) ?? "")
      }
      let follower = try engine.withPerson(by) { $1 }
      let changed = try engine.withPerson(user) { world, owner in
        name == "follow"
          ? world.network.follow(owner, by: follower) : world.network.unfollow(owner, by: follower)
      }
      return Self.object { json in
        json.key("changed")
        json.bool(changed)
      }
    case "rename":
      let (user, login) = try JSONObjectReader.read(body) { reader in
        (reader.required("user", as: String.self) ?? "", reader.required("login", as: String.self) ?? "")
      }
      try engine.withPerson(user) { try $0.network.rename($1, to: login, at: $0.clock.now) }
      return Response(.noContent)
    case "delete": return try change(body) { $0.network.set(.deleted, of: $1) }
    case "suspend": return try change(body) { $0.network.set(.suspended, of: $1) }
    case "revive": return try change(body) { $0.network.set(.present, of: $1) }
    case "private": return try change(body) { $0.network.setPrivate(true, $1) }
    case "public": return try change(body) { $0.network.setPrivate(false, $1) }
    case "edit": return try edit(body)
    case "churn":
      let user = try JSONObjectReader.read(body) { $0.required("user", as: String.self) ?? "" }
      try engine.churnOnce(user)
      return Response(.noContent)
    default: return nil
    }
  }

  private func change(_ body: [UInt8], _ action: (inout World, Int64) -> Void) throws -> Response {
    let user = try JSONObjectReader.read(body) { $0.required("user", as: String.self) ?? "" }
    try engine.withPerson(user) { action(&$0, $1) }
    return Response(.noContent)
  }

  /// Members that are there are set, `null` unsets.
  private func edit(_ body: [UInt8]) throws -> Response {
    let (user, name, bio, location) = try JSONObjectReader.read(body) { reader in
      (
        reader.required("user", as: String.self) ?? "", reader.field("name", as: String.self),
        reader.field("bio", as: String.self), reader.field("location", as: String.self)
      )
    }
    func set(_ part: inout String?, _ field: JSONObjectReader.Field<String>) {
      switch field {
      case .absent: break
      case .null: part = nil
      case .value(let text): part = text
      }
    }
    try engine.withPerson(user) { world, id in
      world.network.edit(id, at: world.clock.now) { profile in
        set(&profile.name, name)
        set(&profile.bio, bio)
        set(&profile.location, location)
      }
    }
    return Response(.noContent)
  }

  /// `nil` when the command is none of these.
  func limits(_ name: String, _ body: [UInt8]) throws -> Response? {
    switch name {
    case "tokens":
      let (token, owner, revoked) = try JSONObjectReader.read(body) { reader in
        (
          reader.required("token", as: String.self) ?? "", reader.optional("owner", as: String.self),
          reader.optional("revoked", as: Bool.self)
        )
      }
      return done { world in
        if let owner { world.tokens.add(token, owner: owner) }
        if revoked == true { world.tokens.revoke(token) }
      }
    case "budget":
      let (owner, remaining, reset) = try JSONObjectReader.read(body) { reader in
        (
          reader.optional("owner", as: String.self), reader.required("remaining", as: Int64.self) ?? 0,
          reader.optional("reset", as: Int64.self)
        )
      }
      return done { world in
        let credential = owner.map { Credential.user($0) } ?? .anonymous
        world.budgets.set(credential, .core, remaining: Int(remaining), reset: reset, now: world.clock.now)
      }
    case "limits":
      let present = engine.world.withLock { $0.limits }
      let limits = try JSONObjectReader.read(body) { reader in
        var limits = present
        func set(_ part: inout Int, _ name: String) {
          if let value = reader.optional(name, as: Int64.self) { part = Int(max(0, value)) }
        }
        set(&limits.core, "core")
        set(&limits.anonymousCore, "anonymous_core")
        set(&limits.concurrent, "concurrent")
        set(&limits.primaryStatus, "primary_status")
        set(&limits.secondaryStatus, "secondary_status")
        if let tells = reader.optional("tells_budgets", as: Bool.self) { limits.tellsBudgets = tells }
        switch reader.field("retry_after", as: Int64.self) {
        case .absent: break
        case .null: limits.retryAfter = nil
        case .value(let seconds): limits.retryAfter = Int(seconds)
        }
        return limits
      }
      return done { world in
        world.limits = limits
        world.budgets.limits = limits
      }
    default: return nil
    }
  }
}
