import Postgres
import Upstream

/// Looks at one person by id, which stays when the login changes, and stores what there is to see.
struct PersonCheck: Sendable {
  let gate: GitHubGate
  let database: Database

  /// A person as the profile shows them at this moment.
  struct Person: Sendable {
    let login: String
    let followers: Int64?
    let following: Int64?

    /// Private profiles have zero counters for both lists. So has somebody who knows nobody: the two look alike.
    var isPrivate: Bool { followers == 0 && following == 0 }
  }

  enum Finding: Sendable {
    case here(Person)
    case gone
    case ended(JobResult)
  }

  /// - Parameter checkpoint: the job's place, which this does not move.
  func look(at id: Int64, checkpoint: [UInt8]?, _ job: RunningJob) async throws -> Finding {
    let known = try await PersonStore.find(.id(id), in: database)
    let verdict = try await gate.ask(
      GitHub.Profile(.id(id)), priority: job.priority, preferred: known?.credential, validators: known?.validators,
      redirected: GitHub.Profile.init(at:))
    switch verdict {
    case .ended(let result): return .ended(result)
    case .answered(.ok(let profile, let validators), let credential):
      guard profile.id == id else { return .ended(.retry(error: "upstream/invalid-answer: somebody else's profile")) }
      try await job.step(in: database, checkpoint: checkpoint) { transaction in
        try await PersonStore.store(profile, validators, credential: credential, in: transaction)
      }
      return .here(Person(login: profile.login, followers: profile.followers, following: profile.following))
    case .answered(.notModified, _):
      guard let known else { return .ended(.retry(error: "upstream/invalid-answer: nothing to be unchanged")) }
      try await job.step(in: database, checkpoint: checkpoint) { transaction in
        try await PersonStore.confirm(id, in: transaction)
      }
      return .here(Person(login: known.login, followers: known.followers, following: known.following))
    case .answered(.gone(let status, _), _):
      try await job.step(in: database, checkpoint: checkpoint) { transaction in
        try await PersonStore.storeAbsence(of: .id(id), status: status, knownID: id, in: transaction)
      }
      return .gone
    case .answered: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
    }
  }
}
