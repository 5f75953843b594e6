/// What is listed of a person beside people. The names are those of `magpie.listing`; jobs have `github-` before them.
public enum ItemKind: String, CaseIterable, Sendable {
  /// Repositories of their own.
  case repositories = "repos"
  /// Repositories of others in which they take part.
  case memberRepositories = "repos-member"
  /// Both.
  case allRepositories = "repos-all"
  case gists
  case organizations = "orgs"

  /// Whether it is one of the lists of repositories, which are sorted and searched.
  public var isOfRepositories: Bool {
    switch self {
    case .repositories, .memberRepositories, .allRepositories: true
    case .gists, .organizations: false
    }
  }

  /// What a member would be as a favorite; gists cannot be any.
  var favoriteKind: String? {
    switch self {
    case .repositories, .memberRepositories, .allRepositories: "github-repo"
    case .organizations: "github-user"
    case .gists: nil
    }
  }

  var space: ItemSpace {
    switch self {
    case .repositories, .memberRepositories, .allRepositories: .repositories
    case .organizations: .organizations
    case .gists: .gists
    }
  }
}

/// An order of a whole list of repositories.
public struct RepositoryOrder: Hashable, Sendable {
  /// What repositories are sorted by; ties by id.
  public enum Sort: String, CaseIterable, Sendable {
    case created
    case updated
    case pushed
    case fullName = "full_name"
    case stars
    case name
  }

  /// Ways.
  public enum Direction: String, CaseIterable, Sendable {
    case ascending = "asc"
    case descending = "desc"
  }

  /// What is compared.
  public let sort: Sort
  /// Which comes first.
  public let direction: Direction

  /// An order; names go up unless told otherwise, all else goes down, as GitHub has it.
  public init(_ sort: Sort = .fullName, _ direction: Direction? = nil) {
    self.sort = sort
    self.direction = direction ?? ([.fullName, .name].contains(sort) ? .ascending : .descending)
  }

  /// The order in which the upstream is read.
  public static let upstream = RepositoryOrder(.created, .ascending)
}
