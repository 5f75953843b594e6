import JSONText
import Postgres
import Upstream

/// Refreshes one profile: the job kind `github-user`.
public struct ProfileRefresh: JobHandler {
  /// The kind.
  public let kind = "github-user"
  let gate: GitHubGate
  let database: Database

  /// - Parameter database: with the role `magpie_worker`.
  public init(gate: GitHubGate, database: Database) {
    self.gate = gate
    self.database = database
  }

  /// Asks for the profile and stores it, or the fact that there is none.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let person = job.subject.flatMap(Person.init(key:)) else {
      return .discard(error: "jobs/bad-subject: no person")
    }
    let known = try await PersonStore.find(person, in: database)
    guard let account = GitHub.AccountReference(person, known, job) else {
      return .discard(error: "jobs/bad-subject: no person")
    }
    let verdict = try await gate.ask(
      GitHub.Profile(account), priority: job.priority, preferred: known?.credential, validators: known?.validators,
      redirected: GitHub.Profile.init(at:))
    switch verdict {
    case .ended(let result): return result
    case .answered(.ok(let profile, let validators), let credential):
      // As if there were no such person.
      let isForgotten = try await !PersonStore.forgotten(among: [profile.id], in: database).isEmpty
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        if isForgotten {
          return try await PersonStore.storeAbsence(of: person, status: 404, knownID: nil, in: transaction)
        }
        try await PersonStore.store(profile, validators, credential: credential, in: transaction)
      }
    case .answered(.notModified, _):
      guard let known else { return .retry(error: "upstream/invalid-answer: nothing to be unchanged") }
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        try await PersonStore.confirm(known.id, in: transaction)
      }
    case .answered(.gone(let status, _), _):
      return try await LostPerson(gate: gate, database: database).settle(person, known, status: status, job)
        .result ?? .done
    case .answered: return .retry(error: "upstream/invalid-answer: an answer that was not expected")
    }
    return .done
  }
}

/// What to do when the upstream says that a person is not there: a renamed one is found by the id.
struct LostPerson: Sendable {
  let gate: GitHubGate
  let database: Database

  /// Where the person was found, or how the job ends.
  struct Finding: Sendable {
    var found: Int64?
    var result: JobResult?
  }

  func settle(
    _ person: Person, _ known: PersonStore.Known?, status: Int, _ job: RunningJob
  ) async throws -> Finding {
    if let known, case .login = person {
      let verdict = try await gate.ask(
        GitHub.Profile(.id(known.id)), priority: job.priority, redirected: GitHub.Profile.init(at:))
      switch verdict {
      case .ended(let result): return Finding(result: result)
      case .answered(.ok(let profile, let validators), let credential):
        try await job.step(in: database, checkpoint: job.checkpoint) { transaction in
          try await PersonStore.store(profile, validators, credential: credential, in: transaction)
          // The old login is free: whoever asks for it is led to the new one, until somebody else takes it. A person who still
          // bears it was only not shown.
          if profile.login.lowercased() != person.key {
            try await PersonStore.storeAbsence(of: person, status: status, knownID: nil, in: transaction)
          }
        }
        return Finding(found: profile.id)
      case .answered: break
      }
    }
    try await job.step(in: database, checkpoint: nil) { transaction in
      try await PersonStore.storeAbsence(of: person, status: status, knownID: known?.id, in: transaction)
    }
    return Finding(result: .done)
  }
}

extension GitHub.AccountReference {
  /// Spelled as the upstream does or, as long as that is not known, as the client has.
  init?(_ person: Person, _ known: PersonStore.Known?, _ job: RunningJob) {
    guard case .login(let key) = person else {
      self.init(person)
      return
    }
    let asked = (try? JSONView(job.args))?["login"]?.string
    let spelled = [known?.login, asked].compactMap { $0 }.first { $0.lowercased() == key }
    self.init(.login(spelled ?? key))
  }

  /// `nil` for logins that cannot be.
  init?(_ person: Person) {
    switch person {
    case .login(let login):
      guard let login = GitHub.Login(login) else { return nil }
      self = .login(login)
    case .id(let id): self = .id(id)
    }
  }
}
