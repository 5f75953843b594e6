import JSONText
import Postgres
import Upstream

/// Refreshes a page of a repository's commits: the job kind `github-commits`.
public struct CommitsRefresh: JobHandler {
  /// The kind.
  public let kind = "github-commits"
  /// Commits whose essence is kept.
  static let essentials = 5
  /// Pages kept of one repository beside the first one.
  static let maxPages = 50
  let part: RepositoryPart

  /// - Parameter database: with the role `magpie_worker`.
  public init(gate: GitHubGate, database: Database) { part = RepositoryPart(gate: gate, database: database) }

  /// Asks for the page and stores it, or the fact that there are no commits.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let text = job.subject, let mark = text.firstIndex(of: "?"),
      let repository = RepositoryKey(key: String(text[..<mark])),
      let query = CommitQuery(subject: String(text[text.index(after: mark)...]))
    else { return .discard(error: "jobs/bad-subject: no page of commits") }
    let subject: RepositoryPart.Subject
    switch try await part.identify(repository, job) {
    case .found(let found): subject = found
    case .ended(let result): return result
    }
    let request = GitHub.Commits(of: subject.reference, query: query.text)
    let stored: Query =
      "SELECT c.url, c.etag, c.modified, c.credential FROM magpie.github_commits c WHERE c.repo_id = \(subject.id) AND c.query = \(query.text)"
    let answer = try await part.ask(request, at: request.url(at: part.gate.service), stored, job) {
      GitHub.Commits(of: subject.reference, at: $0)
    }
    if case .ended(let result) = answer { return result }
    try await job.step(in: part.database, checkpoint: nil, done: 1, total: 1) { transaction in
      try await CommitsRefresh.store(answer, subject.id, repository, query, job, in: transaction)
    }
    return .done
  }

  private static func store(
    _ answer: RepositoryPart.Answer<GitHub.CommitPage>, _ id: Int64, _ repository: RepositoryKey, _ query: CommitQuery,
    _ job: RunningJob, in transaction: Transaction
  ) async throws {
    switch answer {
    case .ended: break
    case .unchanged:
      _ = try await transaction.query(
        "UPDATE magpie.github_commits c SET validated_at = now() WHERE c.repo_id = \(id) AND c.query = \(query.text)")
    case .new(let page, let answered):
      try await store(page, answered, id, query, in: transaction)
    case .gone(409, let reason):
      // There are no commits, and so none of those that were stored.
      _ = try await transaction.query("DELETE FROM magpie.github_commits c WHERE c.repo_id = \(id)")
      try await RepositoryStore.storeFact("github-commits:id:\(id)", status: 409, reason: reason, in: transaction)
    case .gone(404, let reason) where query.hasFilters:
      // No such branch, perhaps, or no more; the repository may well be there.
      _ = try await transaction.query(
        "DELETE FROM magpie.github_commits c WHERE c.repo_id = \(id) AND c.query = \(query.text)")
      try await RepositoryStore.storeFact(
        "github-commits:\(job.subject ?? "")", status: 404, reason: reason, in: transaction)
    case .gone(let status, let reason):
      try await RepositoryStore.storeAbsence(of: repository, id: id, status: status, reason: reason, in: transaction)
    }
  }

  private static func store(
    _ page: GitHub.CommitPage, _ answered: RepositoryStore.Answered, _ id: Int64, _ query: CommitQuery,
    in transaction: Transaction
  ) async throws {
    _ = try await transaction.query(
      """
      INSERT INTO magpie.github_commits AS c
        (repo_id, query, document, latest, has_next, last_page, fetched_at, validated_at, url, etag, modified, credential)
      VALUES (\(id), \(query.text), \(String(decoding: page.document, as: UTF8.self)), \(essence(page)), \(page.hasNext),
        \(page.lastPage.map { Int32(clamping: $0) }), now(), now(), \(answered.url), \(answered.validators.etag),
        \(answered.validators.lastModified), \(answered.credential))
      ON CONFLICT (repo_id, query) DO UPDATE SET document = EXCLUDED.document, latest = EXCLUDED.latest,
        has_next = EXCLUDED.has_next, last_page = EXCLUDED.last_page,
        fetched_at = CASE WHEN c.document = EXCLUDED.document THEN c.fetched_at ELSE now() END, validated_at = now(),
        url = EXCLUDED.url, etag = EXCLUDED.etag, modified = EXCLUDED.modified, credential = EXCLUDED.credential
      """)
    _ = try await transaction.query(
      "DELETE FROM magpie.upstream_fact f WHERE f.subject = \("github-commits:id:\(id)") AND f.status = 409")
    _ = try await transaction.query(
      """
      DELETE FROM magpie.github_commits c WHERE c.repo_id = \(id) AND c.query <> \(CommitQuery.first.text)
         AND c.query IN (SELECT o.query FROM magpie.github_commits o WHERE o.repo_id = \(id)
                          ORDER BY o.validated_at DESC, o.query OFFSET \(Int64(maxPages)))
      """)
  }

  /// `[{sha, author_name, subject, message, date, author}]` of the newest few.
  static func essence(_ page: GitHub.CommitPage) -> String {
    var writer = JSONWriter(capacity: 8 << 10)
    writer.beginArray()
    for commit in page.commits.prefix(essentials) {
      writer.beginObject()
      writer.key("sha")
      writer.string(commit.sha)
      writer.key("author_name")
      if let name = commit.authorName { writer.string(name) } else { writer.null() }
      writer.key("subject")
      writer.string(commit.subject)
      writer.key("message")
      writer.string(commit.message)
      writer.key("date")
      if let date = commit.date { writer.string(date) } else { writer.null() }
      writer.key("author")
      if let author = commit.author { writer.raw(author) } else { writer.null() }
      writer.endObject()
    }
    writer.endArray()
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
