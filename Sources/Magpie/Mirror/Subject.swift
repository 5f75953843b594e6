import JSONText
import Postgres

/// Whose data: a GitHub account by its login or by its numeric id.
public enum Person: Hashable, Sendable {
  case login(String)
  case id(Int64)

  /// A person by login, if the text could be one: 1 to 60 letters, digits, `-` and `_`, perhaps with `[bot]` at the end. More
  /// than today's rule allows, since older accounts do not keep to it; nothing that could leave its place in a path.
  public init?(login: String) {
    let name = login.lowercased().hasSuffix("[bot]") ? login.dropLast(5) : login[...]
    let isPlausible =
      (1...60).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
    guard isPlausible else { return nil }
    self = .login(login)
  }

  /// A person by a number in decimal digits, at most 18 of them.
  public init?(id: String) {
    guard (1...18).contains(id.utf8.count), id.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int64(id),
      number > 0
    else { return nil }
    self = .id(number)
  }

  /// How one who is known is named: by the login if that is theirs at present and could be asked for, else by the id. Whoever
  /// asks, by login or by id, is then served by one job.
  init(storedLogin login: String?, id: Int64) {
    self = login.flatMap(Person.init(login:)) ?? .id(id)
  }

  /// How facts and jobs name it: the login in lower case, or `id:` and the number.
  public var key: String {
    switch self {
    case .login(let login): login.lowercased()
    case .id(let id): "id:\(id)"
    }
  }

  /// Reads what `key` has written.
  public init?(key: String) {
    if key.hasPrefix("id:") {
      guard let id = Int64(key.dropFirst(3)), id > 0 else { return nil }
      self = .id(id)
    } else {
      guard !key.isEmpty else { return nil }
      self = .login(key)
    }
  }
}

/// What a person's list holds.
public enum FollowKind: String, CaseIterable, Sendable {
  case followers
  case following
}

/// A thing that is mirrored, and refreshed by one job however many ask for it.
public enum Subject: Hashable, Sendable {
  case profile(Person)
  case list(FollowKind, Person)
  case items(ItemKind, Person)
  case repository(RepositoryKey)
  case languages(RepositoryKey)
  case commits(RepositoryKey, CommitQuery)

  /// The kind of the job that refreshes it, such as `github-followers`.
  public var jobKind: String {
    switch self {
    case .profile: "github-user"
    case .list(let kind, _): "github-\(kind.rawValue)"
    case .items(let kind, _): "github-\(kind.rawValue)"
    case .repository: "github-repo"
    case .languages: "github-languages"
    case .commits: "github-commits"
    }
  }

  /// How facts and jobs name it, beside the kind.
  public var key: String {
    switch self {
    case .profile(let person), .list(_, let person), .items(_, let person): person.key
    case .repository(let repository), .languages(let repository): repository.key
    case .commits(let repository, let query): "\(repository.key)?\(query.text)"
    }
  }

  /// The same of somebody else, or of the same person by another name.
  public func of(_ person: Person) -> Subject {
    switch self {
    case .profile: .profile(person)
    case .list(let kind, _): .list(kind, person)
    case .items(let kind, _): .items(kind, person)
    case .repository, .languages, .commits: self
    }
  }

  /// The same of a repository by another name.
  public func of(repository: RepositoryKey) -> Subject {
    switch self {
    case .profile, .list, .items: self
    case .repository: .repository(repository)
    case .languages: .languages(repository)
    case .commits(_, let query): .commits(repository, query)
    }
  }

  /// What a job is told beyond its name: how the login was spelled, which upstreams may care about as long as they have not
  /// said how they spell it.
  var args: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    if case .login(let login) = person, login != login.lowercased() {
      writer.key("login")
      writer.string(login)
    }
    if case .name(let owner, let name) = repository, "\(owner)/\(name)" != repository?.key {
      writer.key("repository")
      writer.string("\(owner)/\(name)")
    }
    writer.endObject()
    return writer.bytes
  }

  /// Whose data it is; `nil` of a repository.
  public var person: Person? {
    switch self {
    case .profile(let person), .list(_, let person), .items(_, let person): person
    case .repository, .languages, .commits: nil
    }
  }

  /// The repository it is about; `nil` of a person.
  public var repository: RepositoryKey? {
    switch self {
    case .profile, .list, .items: nil
    case .repository(let repository), .languages(let repository), .commits(let repository, _): repository
    }
  }
}

extension Subject {
  /// An SQL condition: all of it is stored, and the person is there.
  var isStored: Query {
    switch self {
    case .profile(let person):
      """
      EXISTS (SELECT FROM magpie.github_user u
        WHERE \(fragment: person.condition) AND u.profile IS NOT NULL AND u.state <> 'gone')
      """
    case .list(let kind, let person): Subject.isStored(kind.rawValue, person)
    case .items(let kind, let person): Subject.isStored(kind.rawValue, person)
    case .repository(let repository):
      """
      EXISTS (SELECT FROM magpie.github_repo r
        WHERE \(fragment: repository.condition) AND r.document IS NOT NULL AND r.state = 'ok')
      """
    case .languages(let repository):
      """
      EXISTS (SELECT FROM magpie.github_repo r JOIN magpie.github_languages l ON l.repo_id = r.id
        WHERE \(fragment: repository.condition) AND r.state = 'ok')
      """
    case .commits(let repository, let query):
      """
      EXISTS (SELECT FROM magpie.github_repo r JOIN magpie.github_commits c ON c.repo_id = r.id
        WHERE \(fragment: repository.condition) AND r.state = 'ok' AND c.query = \(query.text))
      """
    }
  }

  private static func isStored(_ kind: String, _ person: Person) -> Query {
    """
    EXISTS (SELECT FROM magpie.github_user u JOIN magpie.listing l ON l.owner_id = u.id
      WHERE \(fragment: person.condition) AND u.state <> 'gone' AND l.kind = \(kind) AND l.generation > 0)
    """
  }
}

extension Person {
  /// An SQL condition on a row `u` of `magpie.github_user`.
  var condition: Query {
    switch self {
    case .login(let login): "u.login_key = \(login.lowercased())"
    case .id(let id): "u.id = \(id)"
    }
  }
}
