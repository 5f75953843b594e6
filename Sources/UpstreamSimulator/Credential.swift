/// Who asks, as far as budgets and validators are concerned.
enum Credential: Hashable, Sendable {
  /// No token; all of them share one budget, as if they came from one address.
  case anonymous
  /// The owner of the token.
  case user(String)

  /// For the log and the statistics.
  var label: String {
    switch self {
    case .anonymous: "anonymous"
    case .user(let name): name
    }
  }

  var isAuthorized: Bool { self != .anonymous }
}

/// The tokens the simulator knows. They are made up; do not point real ones at it.
struct Tokens: Sendable {
  /// Token to owner. Tokens of one owner share the owner's budgets.
  private var owners: [String: String]
  private var revoked: Set<String> = []
  /// Whether a token nobody registered counts as its own owner.
  private let acceptsUnknown: Bool

  init(owners: [String: String], acceptsUnknown: Bool) {
    self.owners = owners
    self.acceptsUnknown = acceptsUnknown
  }

  mutating func add(_ token: String, owner: String) {
    owners[token] = owner
    revoked.remove(token)
  }

  mutating func revoke(_ token: String) { revoked.insert(token) }

  /// Reads an `Authorization` value, scheme `Bearer` or `token`. `nil`: bad credentials.
  func credential(_ authorization: String?) -> Credential? {
    guard let authorization else { return .anonymous }
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, ["bearer", "token"].contains(parts[0].lowercased()) else { return nil }
    let token = String(parts[1])
    if revoked.contains(token) { return nil }
    if let owner = owners[token] { return .user(owner) }
    return acceptsUnknown ? .user(Tokens.mask(token)) : nil
  }

  /// Long tokens are cut in the log, in case a real one comes here by mistake.
  private static func mask(_ token: String) -> String {
    token.utf8.count > 16 ? "\(token.prefix(6))…\(token.suffix(4))" : token
  }
}
