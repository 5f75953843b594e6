import JSONText
import Postgres
import Upstream

/// Refreshes a repository's languages: the job kind `github-languages`.
public struct LanguagesRefresh: JobHandler {
  /// The kind.
  public let kind = "github-languages"
  let part: RepositoryPart

  /// - Parameter database: with the role `magpie_worker`.
  public init(gate: GitHubGate, database: Database) { part = RepositoryPart(gate: gate, database: database) }

  /// Asks for the languages and stores them.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let repository = job.subject.flatMap(RepositoryKey.init(key:)) else {
      return .discard(error: "jobs/bad-subject: no repository")
    }
    let subject: RepositoryPart.Subject
    switch try await part.identify(repository, job) {
    case .found(let found): subject = found
    case .ended(let result): return result
    }
    let stored: Query =
      "SELECT l.url, l.etag, l.modified, l.credential FROM magpie.github_languages l WHERE l.repo_id = \(subject.id)"
    let answer = try await part.ask(
      GitHub.Languages(subject.reference), at: GitHub.Languages(subject.reference).url(at: part.gate.service), stored,
      job
    ) { GitHub.Languages(of: subject.reference, at: $0) }
    switch answer {
    case .ended(let result): return result
    case .unchanged:
      try await job.step(in: part.database, checkpoint: nil, done: 1, total: 1) { transaction in
        _ = try await transaction.query(
          "UPDATE magpie.github_languages l SET validated_at = now() WHERE l.repo_id = \(subject.id)")
      }
    case .new(let shares, let answered):
      let essence = LanguagesRefresh.essence(shares)
      try await job.step(in: part.database, checkpoint: nil, done: 1, total: 1) { transaction in
        _ = try await transaction.query(
          """
          INSERT INTO magpie.github_languages AS l (repo_id, document, shares, fetched_at, validated_at, url, etag, modified, credential)
          VALUES (\(subject.id), \(String(decoding: shares.document, as: UTF8.self)), \(essence), now(), now(), \(answered.url),
            \(answered.validators.etag), \(answered.validators.lastModified), \(answered.credential))
          ON CONFLICT (repo_id) DO UPDATE SET document = EXCLUDED.document, shares = EXCLUDED.shares,
            fetched_at = CASE WHEN l.document = EXCLUDED.document THEN l.fetched_at ELSE now() END, validated_at = now(),
            url = EXCLUDED.url, etag = EXCLUDED.etag, modified = EXCLUDED.modified, credential = EXCLUDED.credential
          """)
      }
    case .gone(let status, let reason):
      try await job.step(in: part.database, checkpoint: nil, done: 1, total: 1) { transaction in
        try await RepositoryStore.storeAbsence(
          of: repository, id: subject.id, status: status, reason: reason, in: transaction)
      }
    }
    return .done
  }

  /// `[{name, bytes, percent}]`.
  static func essence(_ shares: GitHub.LanguageShares) -> String {
    var writer = JSONWriter()
    writer.beginArray()
    for share in shares.shares {
      writer.beginObject()
      writer.key("name")
      writer.string(share.name)
      writer.key("bytes")
      writer.int(share.bytes)
      writer.key("percent")
      writer.double(share.percent)
      writer.endObject()
    }
    writer.endArray()
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
