import HTTP
import HTTPServer
import JSONText
import Magpie

/// `GET /github/users/{login}` and `/github/user/{id}`.
struct ProfileEndpoint: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let person = try GitHubPath.person(of: request)
    let delivery = try await GitHubReads(services: services).deliver(
      .profile(person), wish: Wish(request), life: services.mirror.timeToLive.profile,
      location: { GitHubPath.address(services, $0, nil, request.target.query) }, person: { $0.person },
      standing: { (profile: StoredProfile) in
        guard profile.state != "gone", profile.document != nil, let freshness = profile.freshness else {
          return .missing
        }
        return .whole(freshness)
      },
      read: { try await services.mirror.profile(of: person, token: token) })
    let profile = delivery.value
    var writer = JSONWriter(capacity: 4096)
    (profile.document ?? []).withUnsafeBytes { document in
      services.githubURLs.appendObject(document, to: &writer) { writer in
        writer.key("magpie")
        writer.beginObject()
        MagpieMember.writeFavorite(profile.favoriteTags, to: &writer)
        writer.key("first_seen_at")
        writer.string(Timestamp(microseconds: profile.firstSeenAt.microseconds).description)
        writer.endObject()
      }
    }
    return Answers.document(writer.bytes, for: request, delivery.fields(profile.freshness))
  }
}

/// Reads people from paths.
enum GitHubPath {
  /// Where the same thing is under another login.
  static func address(_ services: Services, _ login: String, _ kind: FollowKind?, _ query: Target.Query) -> String {
    address(services, login, list: kind.map { "/\($0.rawValue)" } ?? "", query)
  }

  /// - Parameter list: with its slash; empty for the profile.
  static func address(_ services: Services, _ login: String, list: String, _ query: Target.Query) -> String {
    let items = query.items.isEmpty ? "" : "?\(query)"
    return "\(services.settings.publicURL)/github/users/\(PercentEncoding.encode(login))\(list)\(items)"
  }

  /// - Throws: 404 for what cannot be a repository's name or id.
  static func repository(of request: Request) throws(APIError) -> RepositoryKey {
    if let owner = request.parameters["owner"], let name = request.parameters["repo"] {
      guard let key = RepositoryKey(owner: owner, name: name) else { throw GitHubProblem.repositoryNotFound }
      return key
    }
    guard let key = request.parameters["id"].flatMap(RepositoryKey.init(id:)) else {
      throw GitHubProblem.repositoryNotFound
    }
    return key
  }

  /// - Throws: 404 for what cannot be a login or an id; no upstream need be asked for that.
  static func person(of request: Request) throws(APIError) -> Person {
    if let login = request.parameters["login"] {
      guard let person = Person(login: login) else { throw GitHubProblem.userNotFound }
      return person
    }
    guard let person = request.parameters["id"].flatMap(Person.init(id:)) else { throw GitHubProblem.userNotFound }
    return person
  }
}
