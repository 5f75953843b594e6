import Postgres
import Upstream

/// Asks the upstream for one page of a search: the job kind `github-search`.
public struct SearchRefresh: JobHandler {
  /// The kind.
  public let kind = SearchQuery.jobKind
  let gate: GitHubGate
  let database: Database

  /// - Parameter database: with the role `magpie_worker`.
  public init(gate: GitHubGate, database: Database) {
    self.gate = gate
    self.database = database
  }

  /// Asks, and stores the page, or that the upstream does not take the query.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let query = SearchQuery(args: job.args), query.subject == job.subject else {
      return .discard(error: "jobs/bad-subject: no search")
    }
    let request = GitHub.Search(
      query.kind.upstream, query: query.text, sort: query.sort,
      order: query.sort == nil ? nil : query.isAscending ? "asc" : "desc", perPage: query.perPage, page: query.page)
    let verdict = try await gate.ask(request, priority: job.priority, redirected: GitHub.Search.init(at:))
    guard case .answered(.ok(let answer, _), _) = verdict else {
      if case .ended(let result) = verdict { return result }
      return .retry(error: "upstream/invalid-answer: an answer that was not expected")
    }
    try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
      switch answer {
      case .page(let page): try await SearchRefresh.store(page, of: query, in: transaction)
      case .refused(let refusal): try await SearchRefresh.store(refusal, of: query, in: transaction)
      }
    }
    return .done
  }

  private static func store(_ page: GitHub.SearchPage, of query: SearchQuery, in transaction: Transaction) async throws
  {
    let people = page.items.compactMap(\.account)
    if query.kind == .users, !people.isEmpty {
      _ = try await transaction.query(
        """
        SELECT \(fragment: PersonStore.noting(found: people))
        """)
    }
    if query.kind == .repositories {
      try await RepositoryStore.noteFound(page.items.compactMap(\.repository), in: transaction)
    }
    _ = try await transaction.query(
      """
      INSERT INTO magpie.search_page AS s (search_key, page, kind, query, status, total_count, is_incomplete, ids, documents)
      VALUES (\(query.key), \(Int32(query.page)), \(query.kind.rawValue), \(query.text), 200, \(page.totalCount),
        \(page.isIncomplete), \(page.items.map(\.id)), \(page.items.map { String(decoding: $0.document, as: UTF8.self) }))
      ON CONFLICT (search_key, page) DO UPDATE SET query = EXCLUDED.query, status = 200, total_count = EXCLUDED.total_count,
        is_incomplete = EXCLUDED.is_incomplete, ids = EXCLUDED.ids, documents = EXCLUDED.documents, refusal = NULL,
        validated_at = now(), fetched_at = CASE WHEN s.documents = EXCLUDED.documents THEN s.fetched_at ELSE now() END
      """)
  }

  private static func store(
    _ refusal: GitHub.SearchRefusal, of query: SearchQuery, in transaction: Transaction
  ) async throws {
    _ = try await transaction.query(
      """
      INSERT INTO magpie.search_page AS s (search_key, page, kind, query, status, refusal)
      VALUES (\(query.key), \(Int32(query.page)), \(query.kind.rawValue), \(query.text), 422,
        \(String(decoding: refusal.document, as: UTF8.self)))
      ON CONFLICT (search_key, page) DO UPDATE SET query = EXCLUDED.query, status = 422, total_count = 0, is_incomplete = false,
        ids = '{}', documents = '{}', refusal = EXCLUDED.refusal, validated_at = now(), fetched_at = now()
      """)
  }
}
