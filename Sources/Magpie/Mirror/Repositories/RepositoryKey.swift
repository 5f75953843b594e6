import Postgres
import Upstream

/// Which repository: by owner and name, or by its numeric id.
public enum RepositoryKey: Hashable, Sendable {
  case name(owner: String, String)
  case id(Int64)

  /// A repository by name, if the texts could be one.
  public init?(owner: String, name: String) {
    guard Person(login: owner) != nil, GitHub.RepositoryName(name) != nil else { return nil }
    self = .name(owner: owner, name)
  }

  /// A repository by a number in decimal digits, at most 18 of them.
  public init?(id: String) {
    guard case .id(let number) = Person(id: id) else { return nil }
    self = .id(number)
  }

  /// How one that is known is named: by the name that is its at present, else by the id. Whoever asks, by name or by id, is
  /// then served by one job.
  init(storedName key: String?, id: Int64) { self = key.flatMap(RepositoryKey.init(key:)) ?? .id(id) }

  /// How facts and jobs name it: owner and name in lower case, or `id:` and the number.
  public var key: String {
    switch self {
    case .name(let owner, let name): "\(owner)/\(name)".lowercased()
    case .id(let id): "id:\(id)"
    }
  }

  /// Reads what `key` has written.
  public init?(key: String) {
    if key.hasPrefix("id:") {
      guard let id = Int64(key.dropFirst(3)), id > 0 else { return nil }
      self = .id(id)
    } else {
      let parts = key.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else { return nil }
      self.init(owner: parts[0], name: parts[1])
    }
  }

  /// An SQL condition on a row `r` of `magpie.github_repo`.
  var condition: Query {
    switch self {
    case .name: "r.name_key = \(key)"
    case .id(let id): "r.id = \(id)"
    }
  }
}
