import Postgres
import Upstream

/// What the jobs about a repository's languages and commits have in common: to know which repository it is, and to ask for
/// the part with the validators of the stored one.
struct RepositoryPart: Sendable {
  let gate: GitHubGate
  let database: Database

  /// The repository, and how it is asked for.
  struct Subject: Sendable {
    let id: Int64
    let reference: GitHub.RepositoryReference
  }

  enum Identity: Sendable {
    case found(Subject)
    case ended(JobResult)
  }

  /// By name when it was asked for by name: whoever follows a rename in the meantime comes to the same repository.
  func identify(_ repository: RepositoryKey, _ job: RunningJob) async throws -> Identity {
    let visit = RepositoryVisit(gate: gate, database: database)
    switch try await visit.identify(repository, job) {
    case .ended(let result): return .ended(result)
    case .found(let id):
      let (known, _) = try await RepositoryStore.find(.id(id), in: database)
      let isItsName = known?.fullName.lowercased() == repository.key
      guard let reference = GitHub.RepositoryReference(isItsName ? repository : .id(id), known, job) else {
        return .ended(.discard(error: "jobs/bad-subject: no repository"))
      }
      return .found(Subject(id: id, reference: reference))
    }
  }

  enum Answer<Value: Sendable>: Sendable {
    case new(Value, RepositoryStore.Answered)
    case unchanged
    case gone(status: Int, reason: String?)
    case ended(JobResult)
  }

  /// - Parameter stored: brings URL, validators and credential of the stored part.
  func ask<Request: UpstreamRequest>(
    _ request: Request, at address: String, _ stored: Query, _ job: RunningJob, _ redirected: (String) -> Request
  ) async throws -> Answer<Request.Answer> {
    var url = address
    var validators: Validators?
    var preferred: String?
    if let row = try await database.query(stored).first {
      let fields = try row.decode((String, String?, String?, String).self)
      preferred = fields.3
      if fields.0 == address, fields.1 != nil { validators = Validators(etag: fields.1, lastModified: fields.2) }
    }
    let verdict = try await gate.ask(
      request, priority: job.priority, preferred: preferred, validators: validators,
      redirected: {
        url = $0
        return redirected($0)
      })
    switch verdict {
    case .ended(let result): return .ended(result)
    case .answered(.ok(let value, let validators), let credential):
      return .new(value, RepositoryStore.Answered(url: url, validators: validators, credential: credential))
    case .answered(.notModified, _):
      return validators == nil ? .ended(.retry(error: "upstream/invalid-answer: nothing to be unchanged")) : .unchanged
    case .answered(.gone(let status, let reason), _): return .gone(status: status, reason: reason)
    case .answered: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
    }
  }
}
