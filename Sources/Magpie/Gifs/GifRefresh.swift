import HTTPClient
import Postgres
import Upstream

/// Asks GIPHY one question: the job kind `giphy`.
public struct GifRefresh: JobHandler {
  /// The kind.
  public let kind = GifQuestion.jobKind
  /// `nil`: this process has no key.
  let gate: SourceGate?
  let database: Database

  /// Asks, and stores the answer, or that there is no such thing.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let gate else { return .discard(error: "giphy/relay-off: this worker has no key") }
    guard let question = Giphy.Question(args: job.args), question.subject == job.subject else {
      return .discard(error: "jobs/bad-subject: no question")
    }
    let verdict = try await gate.ask(Giphy.Ask(question), priority: job.priority)
    switch verdict {
    case .ended(let result): return result
    case .answered(.ok(let answer, _), _):
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        try await Self.store(answer, of: question, in: transaction)
      }
      return .done
    case .answered(.gone, _):
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        try await Self.store(status: 404, "one", [], [], nil, "", of: question, in: transaction)
      }
      return .done
    case .answered: return .retry(error: "upstream/invalid-answer: an answer that was not expected")
    }
  }

  private static func store(
    _ answer: Giphy.Answer, of question: Giphy.Question, in transaction: Transaction
  ) async throws {
    let (shape, gifs) =
      switch answer.data {
      case .list(let gifs): ("list", gifs)
      case .one(let gif): ("one", gif.map { [$0] } ?? [])
      case .other: ("other", [])
      }
    var documents = gifs.map { String(decoding: $0.document, as: UTF8.self) }
    if case .other(let document) = answer.data { documents = [String(decoding: document, as: UTF8.self)] }
    try await store(
      status: 200, shape, gifs.map(\.id), documents, answer.pagination, answer.responseID, of: question, in: transaction
    )
  }

  private static func store(
    status: Int32, _ shape: String, _ ids: [String], _ documents: [String], _ pagination: Giphy.Answer.Pagination?,
    _ responseID: String, of question: Giphy.Question, in transaction: Transaction
  ) async throws {
    _ = try await transaction.query(
      """
      INSERT INTO magpie.gif_answer (key, status, shape, ids, documents, total_count, item_count, item_offset, response_id)
      VALUES (\(question.key), \(status), \(shape), \(ids), \(documents), \(pagination?.total), \(pagination?.count),
        \(pagination?.offset), \(responseID))
      ON CONFLICT (key) DO UPDATE SET status = EXCLUDED.status, shape = EXCLUDED.shape, ids = EXCLUDED.ids,
        documents = EXCLUDED.documents, total_count = EXCLUDED.total_count, item_count = EXCLUDED.item_count,
        item_offset = EXCLUDED.item_offset, response_id = EXCLUDED.response_id, fetched_at = now()
      """)
  }
}

extension SourceGate {
  /// GIPHY with the operator's key.
  ///
  /// - Parameter limit: calls an hour, as GIPHY has allowed them; a new key has 100.
  static func giphy(
    _ service: UpstreamService, key: Upstream.Credential, limit: Int, client: HTTPClient, budgets: Budgets
  ) -> SourceGate {
    SourceGate(
      pool: GifQuestion.pool, service: service, credential: key,
      resources: [Budgets.Resource(Giphy.resource, limit: limit, window: .seconds(3_600))], client: client,
      budgets: budgets)
  }
}
