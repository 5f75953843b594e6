import HTTP
import HTTPServer
import JSONText
import Magpie

/// `GET /github/repos/{owner}/{repo}` and `/github/repositories/{id}`, and the languages and commits below them.
struct RepositoryEndpoint: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let key = try GitHubPath.repository(of: request)
    let includes = try RepositoryInclusions(Parameters(request.target))
    if includes.isEmpty {
      let delivery = try await record(key, request, token: token)
      return Answers.document(body(of: delivery.value), for: request, delivery.fields(delivery.value.freshness))
    }
    return try await RepositoryDetail(services: services).show(request, key, includes, token: token)
  }

  func languages(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let key = try GitHubPath.repository(of: request)
    let delivery = try await GitHubReads(services: services).deliver(
      .languages(key), wish: Wish(request), life: services.mirror.timeToLive.repository,
      location: { address($0, request.target, part: "/languages") }, named: { .languages($0.key) },
      standing: { (repository: StoredRepository) in
        guard repository.state == "ok", let languages = repository.languages else { return .missing }
        return .whole(languages.freshness)
      },
      read: { try await services.mirror.repository(key, parts: true, token: token) })
    let part = delivery.value.languages
    return Answers.document(part?.document ?? [], for: request, delivery.fields(part?.freshness))
  }

  /// A page of commits as GitHub has it; 409 in its words when there is none.
  func commits(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let key = try GitHubPath.repository(of: request)
    let parameters = Parameters(request.target)
    let page = try PageRequest(parameters)
    var values: [String: String] = [:]
    for filter in CommitQuery.filters { values[filter] = try parameters.text(filter, maxLength: CommitQuery.maxBytes) }
    for name in ["since", "until"] {
      guard let time = values[name], !time.isEmpty else { continue }
      // GitHub takes a day alone, too.
      if Timestamp(time) == nil, Timestamp("\(time)T00:00:00Z") == nil {
        throw APIError.badParameter(name, "must be a time such as 2026-01-31T12:00:00Z")
      }
    }
    guard let query = CommitQuery(page: page.page, perPage: page.size, { values[$0] }) else {
      throw APIError.badParameter("sha", "and the other filters must not be longer than \(CommitQuery.maxBytes) bytes")
    }
    let delivery = try await GitHubReads(services: services).deliver(
      .commits(key, query), wish: Wish(request), life: services.mirror.timeToLive.commits,
      location: { address($0, request.target, part: "/commits") }, named: { .commits($0.key, query) },
      standing: { RepositoryEndpoint.standingOfCommits($0) },
      read: { try await services.mirror.repository(key, commits: query, parts: true, token: token) })
    let repository = delivery.value
    if let emptiness = repository.emptiness {
      throw GitHubProblem.empty(emptiness.message, delivery.fields(emptiness.freshness))
    }
    var fields = delivery.fields(repository.commits?.freshness)
    let links = links(repository, page, request.target)
    if !links.isEmpty { fields.append(.link, links.fieldValue) }
    var writer = JSONWriter(capacity: (repository.commits?.document.count ?? 0) + 4_096)
    (repository.commits?.document ?? Array("[]".utf8)).withUnsafeBytes { services.githubURLs.append($0, to: &writer) }
    return Answers.document(writer.bytes, for: request, fields)
  }

  static func standingOfCommits(_ repository: StoredRepository) -> GitHubReads.Standing {
    guard repository.state == "ok" else { return .missing }
    if let emptiness = repository.emptiness { return .whole(emptiness.freshness) }
    return repository.commits.map { .whole($0.freshness) } ?? .missing
  }

  /// The upstream's own position of the page, by id and at this server.
  private func links(_ repository: StoredRepository, _ page: PageRequest, _ target: Target) -> [Link] {
    guard let place = repository.commitPlace else { return [] }
    func link(_ number: Int, _ relation: String) -> Link {
      var query = target.query
      query.set("page", to: String(number))
      return Link("\(services.settings.publicURL)/github/repositories/\(repository.id)/commits?\(query)", rel: relation)
    }
    var links: [Link] = []
    if page.page > 1 { links.append(link(page.page - 1, "prev")) }
    if place.hasNext { links.append(link(page.page + 1, "next")) }
    if place.hasNext, let last = place.lastPage { links.append(link(last, "last")) }
    if page.page > 1 { links.append(link(1, "first")) }
    return links
  }

  // MARK: Records

  func record(_ key: RepositoryKey, _ request: Request, token: [UInt8]) async throws -> Delivery<StoredRepository> {
    try await GitHubReads(services: services).deliver(
      .repository(key), wish: Wish(request), life: services.mirror.timeToLive.repository,
      location: { address($0, request.target, part: "") }, named: { .repository($0.key) },
      standing: { (repository: StoredRepository) in
        guard repository.state == "ok", repository.document != nil, let freshness = repository.freshness else {
          return .missing
        }
        return .whole(freshness)
      },
      read: { try await services.mirror.repository(key, parts: false, token: token) })
  }

  /// Where a repository is that was asked for by an old name.
  func address(_ id: String, _ target: Target, part: String) -> String {
    let items = target.query.items.isEmpty ? "" : "?\(target.query)"
    return "\(services.settings.publicURL)/github/repositories/\(id)\(part)\(items)"
  }

  private func body(of repository: StoredRepository) -> [UInt8] {
    var writer = JSONWriter(capacity: 8 << 10)
    (repository.document ?? []).withUnsafeBytes { document in
      services.githubURLs.appendObject(document, to: &writer) { MagpieMember.write(repository, to: &$0) }
    }
    return writer.bytes
  }
}

extension MagpieMember {
  /// What the asking account has to do with a repository.
  static func write(_ repository: StoredRepository, to writer: inout JSONWriter) {
    writer.key("magpie")
    writer.beginObject()
    writeFavorite(repository.favoriteTags, to: &writer)
    writer.key("first_seen_at")
    writer.string(Timestamp(microseconds: repository.firstSeenAt.microseconds).description)
    writer.endObject()
  }
}
