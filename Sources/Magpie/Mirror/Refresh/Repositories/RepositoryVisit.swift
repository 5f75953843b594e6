import Postgres
import Upstream

/// Asks for a repository's record and stores it, or what is said in its place: the way of every job about a repository to know
/// which one a name stands for.
struct RepositoryVisit: Sendable {
  let gate: GitHubGate
  let database: Database

  /// Where a visit led.
  enum Finding: Sendable {
    /// This repository has been shown or confirmed.
    case found(Int64)
    /// How the job ends.
    case ended(JobResult)
  }

  /// Seconds for which a name is taken to be the repository's that was last seen with it.
  static let nameLife = 900.0

  /// The repository a key stands for, asked for unless that was seen lately.
  func identify(_ repository: RepositoryKey, _ job: RunningJob) async throws -> Finding {
    let (known, _) = try await RepositoryStore.find(repository, in: database)
    if let known, known.age < RepositoryVisit.nameLife || !repository.isName { return .found(known.id) }
    return try await visit(repository, job, ends: false)
  }

  /// - Parameter ends: whether this is all the job is about.
  func visit(_ repository: RepositoryKey, _ job: RunningJob, ends: Bool) async throws -> Finding {
    let (known, now) = try await RepositoryStore.find(repository, in: database)
    guard let reference = GitHub.RepositoryReference(repository, known, job) else {
      return .ended(.discard(error: "jobs/bad-subject: no repository"))
    }
    let request = GitHub.RepositoryRecord(reference)
    var url = request.url(at: gate.service)
    let validators = known?.validators(for: url)
    let verdict = try await gate.ask(
      request, priority: job.priority, preferred: known?.credential, validators: validators,
      redirected: {
        url = $0
        return GitHub.RepositoryRecord(at: $0)
      })
    switch verdict {
    case .ended(let result): return .ended(result)
    case .answered(.ok(let record, let validators), let credential):
      let answered = RepositoryStore.Answered(url: url, validators: validators, credential: credential)
      try await step(job, ends) { transaction in
        try await store(record, answered, askedAs: repository, seenAt: now, in: transaction)
      }
      return .found(record.id)
    case .answered(.notModified, _):
      guard let known else { return .ended(.retry(error: "upstream/invalid-answer: nothing to be unchanged")) }
      try await step(job, ends) { try await RepositoryStore.confirm(known.id, in: $0) }
      return .found(known.id)
    case .answered(.gone(let status, let reason), _):
      if status == 404, repository.isName, let known {
        return try await visitByID(known.id, askedAs: repository, job, ends)
      }
      try await step(job, ends) { transaction in
        try await RepositoryStore.storeAbsence(
          of: repository, id: known?.id, status: status, reason: reason, in: transaction)
      }
      return .ended(.done)
    case .answered: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
    }
  }

  /// The name leads nowhere any more. Before anything is concluded of the repository that bore it, it is asked for by its id.
  private func visitByID(
    _ id: Int64, askedAs repository: RepositoryKey, _ job: RunningJob, _ ends: Bool
  ) async throws -> Finding {
    let (_, now) = try await RepositoryStore.find(.id(id), in: database)
    var url = GitHub.RepositoryRecord(.id(id)).url(at: gate.service)
    let verdict = try await gate.ask(
      GitHub.RepositoryRecord(.id(id)), priority: job.priority,
      redirected: {
        url = $0
        return GitHub.RepositoryRecord(at: $0)
      })
    switch verdict {
    case .ended(let result): return .ended(result)
    case .answered(.ok(let record, let validators), let credential):
      let answered = RepositoryStore.Answered(url: url, validators: validators, credential: credential)
      try await step(job, ends) { transaction in
        try await store(record, answered, askedAs: repository, seenAt: now, in: transaction)
      }
      return .found(record.id)
    case .answered(.gone(let status, let reason), _):
      try await step(job, ends) { transaction in
        try await RepositoryStore.storeAbsence(
          of: repository, id: id, status: status, reason: reason, in: transaction)
      }
      return .ended(.done)
    case .answered: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
    }
  }

  private func store(
    _ record: GitHub.Repository, _ answered: RepositoryStore.Answered, askedAs repository: RepositoryKey,
    seenAt: Instant,
    in transaction: Transaction
  ) async throws {
    try await RepositoryStore.store(record, answered, seenAt: seenAt, in: transaction)
    if repository.isName, record.fullName.lowercased() != repository.key {
      try await RepositoryStore.storeMove(of: repository, to: record.id, in: transaction)
    }
  }

  private func step(
    _ job: RunningJob, _ ends: Bool, _ body: (Transaction) async throws -> Void
  ) async throws {
    try await job.step(in: database, checkpoint: job.checkpoint, done: ends ? 1 : nil, total: ends ? 1 : nil, body)
  }
}

extension RepositoryKey {
  /// Whether it is a name, which may be another repository's tomorrow.
  var isName: Bool {
    if case .name = self { true } else { false }
  }
}

/// Refreshes one repository's record: the job kind `github-repo`.
public struct RepositoryRefresh: JobHandler {
  /// The kind.
  public let kind = "github-repo"
  let visit: RepositoryVisit

  /// - Parameter database: with the role `magpie_worker`.
  public init(gate: GitHubGate, database: Database) { visit = RepositoryVisit(gate: gate, database: database) }

  /// Asks for the record and stores it, or the fact that there is none.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let repository = job.subject.flatMap(RepositoryKey.init(key:)) else {
      return .discard(error: "jobs/bad-subject: no repository")
    }
    switch try await visit.visit(repository, job, ends: true) {
    case .found: return .done
    case .ended(let result): return result
    }
  }
}
