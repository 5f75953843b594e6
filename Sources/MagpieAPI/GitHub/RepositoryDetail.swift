import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie

/// What `include=` asks for beside a repository's record.
struct RepositoryInclusions {
  let languages: Bool
  let commits: Bool

  var isEmpty: Bool { !languages && !commits }

  init(_ parameters: Parameters) throws(APIError) {
    let names = try parameters.text("include")?.split(separator: ",").map(String.init) ?? []
    guard names.allSatisfy({ ["languages", "commits"].contains($0) }) else {
      throw APIError.badParameter("include", "must be one or both of languages, commits")
    }
    languages = names.contains("languages")
    commits = names.contains("commits")
  }
}

/// A repository with its languages and latest commits in one answer. When all of it is stored and fresh, one statement brings
/// it; what is not is ordered at once and waited for in turn.
struct RepositoryDetail: Sendable {
  let services: Services

  func show(
    _ request: Request, _ key: RepositoryKey, _ includes: RepositoryInclusions, token: [UInt8]
  ) async throws -> Response {
    let wish = Wish(request)
    let life = services.mirror.timeToLive
    let start = System.monotonicNanoseconds()
    let record = try await self.record(key, wish, request, token)
    var deliveries = [record]
    let isThere = record.value.state == "ok"
    let wanted: [(subject: Subject, life: Double, freshness: Freshness?)] =
      !isThere
      ? []
      : [
        includes.languages ? (.languages(record.value.key), life.repository, record.value.languages?.freshness) : nil,
        includes.commits
          ? (
            .commits(record.value.key, .first), life.commits,
            record.value.emptiness?.freshness ?? record.value.commits?.freshness
          ) : nil,
      ].compactMap { $0 }
    let due = wanted.filter { part in
      guard let freshness = part.freshness else { return true }
      return wish.refreshes || freshness.age > min(part.life, wish.maxAge ?? part.life)
    }
    // Asking twice for a refresh that starts over would be two of them.
    if due.count > 1, !wish.onlyStored, !wish.refreshes {
      try await order(due.map { ($0.subject, $0.freshness == nil) }, token)
    }
    for part in due {
      var rest = wish
      rest.spent = .nanoseconds(Int64(clamping: System.monotonicNanoseconds() &- start))
      deliveries.append(
        try await deliver(part.subject, rest, part.life, request, token) { repository in
          // What became of the repository in the meantime is an answer, too.
          if repository.state != "ok" { return standing(of: repository) }
          switch part.subject {
          case .languages: return repository.languages.map { .whole($0.freshness) } ?? .missing
          default: return RepositoryEndpoint.standingOfCommits(repository)
          }
        })
    }
    let repository = deliveries[deliveries.count - 1].value
    return Answers.document(
      body(of: repository, includes), for: request, fields(deliveries, repository, includes))
  }

  private func record(
    _ key: RepositoryKey, _ wish: Wish, _ request: Request, _ token: [UInt8]
  ) async throws -> Delivery<StoredRepository> {
    let life = services.mirror.timeToLive.repository
    do {
      return try await deliver(.repository(key), wish, life, request, token) { standing(of: $0) }
    } catch let error as APIError
      where [.forbidden, .notFound, .unavailableForLegalReasons].contains(error.problem.status)
    {
      guard case .found(let repository, _) = try await services.mirror.repository(key, parts: true, token: token),
        repository.state != "ok", case .whole = standing(of: repository)
      else { throw error }
      return Delivery(value: repository, source: .stored, job: nil, timing: Timing())
    }
  }

  /// A repository that is blocked or gone is told of as long as there is something to show of it.
  private func standing(of repository: StoredRepository) -> GitHubReads.Standing {
    switch repository.state {
    case "ok": return repository.document == nil ? .missing : repository.freshness.map { .whole($0) } ?? .missing
    default:
      guard repository.document != nil || repository.summary != nil else { return .missing }
      return repository.stateFreshness.map { .whole($0) } ?? .missing
    }
  }

  private func deliver(
    _ subject: Subject, _ wish: Wish, _ life: Double, _ request: Request, _ token: [UInt8],
    _ standing: (StoredRepository) -> GitHubReads.Standing
  ) async throws -> Delivery<StoredRepository> {
    let key = subject.repository ?? .id(0)
    let endpoint = RepositoryEndpoint(services: services)
    return try await GitHubReads(services: services).deliver(
      subject, wish: wish, life: life, location: { endpoint.address($0, request.target, part: "") },
      named: { subject.of(repository: $0.key) }, standing: standing,
      read: { try await services.mirror.repository(key, parts: true, token: token) })
  }

  /// Orders several parts before any of them is waited for.
  private func order(_ parts: [(subject: Subject, isMissing: Bool)], _ token: [UInt8]) async throws {
    guard let key = parts.first?.subject.repository,
      case .found(_, let account) = try await services.mirror.repository(key, parts: false, token: token)
    else { return }
    for part in parts {
      if part.isMissing {
        _ = try await services.refreshes.requestMissing(part.subject, account: account)
      } else {
        _ = try await services.refreshes.request(part.subject, priority: .interactive, account: account)
      }
    }
  }

  // MARK: The answer

  private func body(of repository: StoredRepository, _ includes: RepositoryInclusions) -> [UInt8] {
    let isThere = repository.state == "ok"
    var writer = JSONWriter(capacity: 16 << 10)
    (repository.document ?? repository.summary ?? Array("{}".utf8)).withUnsafeBytes { document in
      services.githubURLs.appendObject(document, to: &writer) { writer in
        if includes.languages {
          writer.key("languages")
          writer.raw(isThere ? repository.languages?.essence ?? Array("[]".utf8) : Array("[]".utf8))
        }
        if includes.commits {
          writer.key("commits")
          let commits = isThere && repository.emptiness == nil ? repository.commits?.essence : nil
          (commits ?? Array("[]".utf8)).withUnsafeBytes { services.githubURLs.append($0, to: &writer) }
        }
        writer.key("state")
        writer.string(isThere && repository.emptiness != nil ? "empty" : repository.state)
        MagpieMember.write(repository, to: &writer)
      }
    }
    return writer.bytes
  }

  /// As old as the oldest part, and as stale as the stalest.
  private func fields(
    _ deliveries: [Delivery<StoredRepository>], _ repository: StoredRepository, _ includes: RepositoryInclusions
  ) -> Fields {
    var whole = deliveries[0]
    for delivery in deliveries.dropFirst() { whole.take(in: delivery) }
    var ages = [repository.state == "ok" ? repository.freshness : repository.stateFreshness]
    if repository.state == "ok" {
      if includes.languages { ages.append(repository.languages?.freshness) }
      if includes.commits { ages.append(repository.emptiness?.freshness ?? repository.commits?.freshness) }
    }
    return whole.fields(ages.compactMap { $0 }.max { $0.age < $1.age })
  }
}
