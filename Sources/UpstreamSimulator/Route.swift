import HTTP

/// The addresses the simulator knows.
enum Route: Equatable, Sendable {
  /// Somebody in a path.
  enum Person: Equatable, Sendable {
    case login(String)
    case id(Int64)
  }

  /// What is listed of somebody beside people.
  enum Items: String, Equatable, Sendable {
    case repos
    case gists
    case orgs
  }

  /// A repository in a path.
  enum Repository: Equatable, Sendable {
    case name(owner: String, String)
    case id(Int64)
  }

  /// What is asked of a repository.
  enum Part: String, Equatable, Sendable {
    case record = ""
    case languages = "/languages"
    case commits = "/commits"
  }

  case profile(Person)
  case list(Person, ListKey.Kind)
  case items(Person, Items)
  case repository(Repository, Part)
  /// Whether the first follows the second, both by login.
  case relation(String, String)
  case rateLimit
  case searchUsers
  case searchRepositories
  /// Somebody's picture, which is no part of the API.
  case avatar(Int64)
  /// Everything else, trailing slashes included.
  case unknown

  init(_ target: Target) {
    let segments = target.segments
    switch (segments.count, segments.first) {
    case (1, "rate_limit"): self = .rateLimit
    case (2, "search") where segments[1] == "users": self = .searchUsers
    case (2, "search") where segments[1] == "repositories": self = .searchRepositories
    case (3, "avatars") where segments[1] == "u": self = Int64(segments[2]).map { .avatar($0) } ?? .unknown
    case (2, "users") where !segments[1].isEmpty: self = .profile(.login(segments[1]))
    case (3, "users") where !segments[1].isEmpty: self = Route.list(.login(segments[1]), segments[2])
    case (4, "users") where segments[2] == "following" && !segments[1].isEmpty && !segments[3].isEmpty:
      self = .relation(segments[1], segments[3])
    case (2, "user"): self = Int64(segments[1]).map { .profile(.id($0)) } ?? .unknown
    case (3, "user"): self = Int64(segments[1]).map { Route.list(.id($0), segments[2]) } ?? .unknown
    case (3...4, "repos") where !segments[1].isEmpty && !segments[2].isEmpty:
      self = Route.repository(.name(owner: segments[1], segments[2]), segments.dropFirst(3))
    case (2...3, "repositories"):
      self = Int64(segments[1]).map { Route.repository(.id($0), segments.dropFirst(2)) } ?? .unknown
    default: self = .unknown
    }
  }

  private static func repository(_ repository: Repository, _ rest: ArraySlice<String>) -> Route {
    Part(rawValue: rest.map { "/\($0)" }.joined()).map { rest.first == "" ? .unknown : .repository(repository, $0) }
      ?? .unknown
  }

  private static func list(_ person: Person, _ name: String) -> Route {
    if let items = Items(rawValue: name) { return .items(person, items) }
    return ListKey.Kind(rawValue: name).map { .list(person, $0) } ?? .unknown
  }

  /// What it is charged to.
  var resource: Resource { isSearch ? .search : .core }

  /// Whether it searches, which has no validators.
  var isSearch: Bool { self == .searchUsers || self == .searchRepositories }

  /// For the statistics.
  var name: String {
    switch self {
    case .profile(.login): "/users/{login}"
    case .profile(.id): "/user/{id}"
    case .list(.login, let kind): "/users/{login}/\(kind.rawValue)"
    case .list(.id, let kind): "/user/{id}/\(kind.rawValue)"
    case .items(.login, let items): "/users/{login}/\(items.rawValue)"
    case .items(.id, let items): "/user/{id}/\(items.rawValue)"
    case .repository(.name, let part): "/repos/{owner}/{repo}\(part.rawValue)"
    case .repository(.id, let part): "/repositories/{id}\(part.rawValue)"
    case .relation: "/users/{login}/following/{login}"
    case .rateLimit: "/rate_limit"
    case .searchUsers: "/search/users"
    case .searchRepositories: "/search/repositories"
    case .avatar: "/avatars/u/{id}"
    case .unknown: "unknown"
    }
  }
}
