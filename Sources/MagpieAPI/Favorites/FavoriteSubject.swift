import HTTP
import HTTPServer
import Magpie

/// Which favorite a path means. GitHub's people and repositories may be named `@login` and `@owner/repo`: by the id when the
/// mirror knows it, and else by the name itself, which waits for its id.
extension FavoriteEndpoints {
  /// Kind and id, as far as they are known here.
  func subject(of request: Request, token: [UInt8]) async throws -> (Favorite.Kind, String) {
    let (kind, id) = try FavoriteEndpoints.named(request)
    guard let name = FavoriteName(kind, id) else { return (kind, id) }
    return (kind, try await known(name, token: token) ?? name.key)
  }

  /// The same, asking the upstream through the queue for what nobody has asked for before. Starring does not depend on it: a
  /// name that cannot be looked up now is kept as it was given.
  func resolvedSubject(of request: Request, token: [UInt8]) async throws -> (Favorite.Kind, String) {
    let (kind, id) = try FavoriteEndpoints.named(request)
    guard let name = FavoriteName(kind, id) else { return (kind, id) }
    let reads = GitHubReads(services: services)
    do {
      switch name {
      case .person(let person):
        return (kind, String(try await reads.knownPerson(person, token: token, wish: Wish(request), waits: true)))
      case .repository(let key):
        return (kind, String(try await reads.knownRepository(key, token: token, wish: Wish(request))))
      }
    } catch let error as APIError where [.serviceUnavailable, .gatewayTimeout].contains(error.problem.status) {
      // Of the two, this one says that nothing can be kept.
      if error.problem.code == "server/database-unavailable" { throw error }
      return (kind, id)
    } catch is Accepted {
      return (kind, id)
    }
  }

  private func known(_ name: FavoriteName, token: [UInt8]) async throws -> String? {
    switch name {
    case .person(let person):
      switch try await services.mirror.profile(of: person, token: token) {
      case .nobody: throw APIError.badCredentials
      case .unknown: return nil
      case .found(let profile, _): return String(profile.id)
      }
    case .repository(let key):
      switch try await services.mirror.repository(key, parts: false, token: token) {
      case .nobody: throw APIError.badCredentials
      case .unknown: return nil
      case .found(let repository, _): return String(repository.id)
      }
    }
  }

  /// Kind and id as the path has them, if both could be.
  static func named(_ request: Request) throws(APIError) -> (Favorite.Kind, String) {
    guard let kind = request.parameters["kind"].flatMap(Favorite.Kind.init(rawValue:)) else {
      throw FavoriteProblem.unknownKind
    }
    let id = request.parameters["id"] ?? ""
    guard isPlausible(kind, id) else { throw FavoriteProblem.invalidID }
    return (kind, id)
  }

  /// Whether something could have that id, or that name.
  static func isPlausible(_ kind: Favorite.Kind, _ id: String) -> Bool {
    guard (1...200).contains(id.utf8.count) else { return false }
    switch kind {
    case .githubUser, .githubRepository: return isNumber(id) || FavoriteName(kind, id) != nil
    case .photo: return isNumber(id)
    case .gif: return id.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
  }

  /// One spelling for one thing: no zeros in front.
  private static func isNumber(_ id: String) -> Bool {
    id.utf8.count <= 18 && id.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } && id.utf8.first != 0x30
  }
}

/// A person or a repository by name, as an id of a favorite.
enum FavoriteName {
  case person(Person)
  case repository(RepositoryKey)

  /// `nil` for what is not a name with `@` in front.
  init?(_ kind: Favorite.Kind, _ id: String) {
    guard id.hasPrefix("@") else { return nil }
    let name = String(id.dropFirst())
    switch kind {
    case .githubUser:
      guard let person = Person(login: name) else { return nil }
      self = .person(person)
    case .githubRepository:
      let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let key = RepositoryKey(owner: parts[0], name: parts[1]) else { return nil }
      self = .repository(key)
    case .gif, .photo: return nil
    }
  }

  /// How it is stored.
  var key: String {
    switch self {
    case .person(let person): "@\(person.key)"
    case .repository(let key): "@\(key.key)"
    }
  }
}

extension GitHubReads {
  /// The id of a repository by its name, through the queue when nobody has seen it yet.
  func knownRepository(_ key: RepositoryKey, token: [UInt8], wish: Wish) async throws -> Int64 {
    let services = services
    let read: () async throws -> Mirror.Read<StoredRepository> = {
      try await services.mirror.repository(key, parts: false, token: token)
    }
    switch try await read() {
    case .nobody: throw APIError.badCredentials
    case .found(let repository, _): return repository.id
    case .unknown: break
    }
    let delivery = try await deliver(
      .repository(key), wish: wish, life: services.mirror.timeToLive.repository,
      location: { "\(services.settings.publicURL)/v1/favorites/github-repo/\($0)" }, named: { .repository($0.key) },
      standing: { (repository: StoredRepository) in repository.freshness.map(Standing.whole) ?? .missing }, read: read)
    return delivery.value.id
  }
}
