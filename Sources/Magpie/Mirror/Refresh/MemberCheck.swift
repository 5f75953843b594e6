import Postgres
import Upstream

/// Finds out why one member is missing from a list.
struct MemberCheck: Sendable {
  let list: FollowKind
  let gate: GitHubGate
  let database: Database

  init(_ list: FollowKind, gate: GitHubGate, database: Database) {
    self.list = list
    self.gate = gate
    self.database = database
  }

  /// What was found, as it is stored.
  enum Finding: String, Sendable {
    /// The walk has missed them.
    case follows
    case unfollowed
    /// Gone from the list, and known by another name now: whoever knows them by the old one should be told.
    case renamed
    case deletedOrSuspended = "deleted_or_suspended"
    /// The profile is private, and the upstream does not tell.
    case restricted
  }

  enum Outcome: Sendable {
    /// - ownerLogin: of the list's owner, that the question was asked with.
    case found(Finding, ownerLogin: String)
    /// They are renamed faster than they can be asked for.
    case undecided
    /// The owner is not there, and so nobody can be seen to follow or to be followed by them.
    case ownerGone
    case ended(JobResult)
  }

  /// Asks for the relation first and for the person after that: when the person then has the login that the question was
  /// asked with, the answer was about them and nobody else. An owner who was away meanwhile has lost nobody: before somebody is
  /// found to have left, the owner is looked at, too.
  ///
  /// - Parameter login: the member's when last seen in the list.
  func check(_ member: Int64, of ownerID: Int64, known login: String, _ job: RunningJob) async throws -> Outcome {
    let before = try await PersonStore.find(.id(member), in: database)
    let owner = try await PersonStore.find(.id(ownerID), in: database)?.login ?? ""
    var asked = before?.login ?? login
    for _ in 0..<ChangeCheck.maxTries {
      var follows: Bool?
      if let question = question(asked, owner) {
        switch try await gate.ask(question, priority: job.priority, redirected: GitHub.Relation.init(at:)) {
        case .ended(let result): return .ended(result)
        case .answered(.ok(let answer, _), _): follows = answer
        case .answered(.gone, _): follows = false
        case .answered: return .ended(.retry(error: "upstream/invalid-answer: an answer that was not expected"))
        }
      }
      switch try await PersonCheck(gate: gate, database: database).look(at: member, checkpoint: nil, job) {
      case .ended(let result): return .ended(result)
      case .gone: return .found(.deletedOrSuspended, ownerLogin: owner)
      case .here(let person):
        guard person.login.lowercased() == asked.lowercased() else {
          asked = person.login
          continue
        }
        guard let follows else { return .undecided }
        if follows { return .found(.follows, ownerLogin: owner) }
        switch try await PersonCheck(gate: gate, database: database).look(at: ownerID, checkpoint: nil, job) {
        case .ended(let result): return .ended(result)
        case .gone: return .ownerGone
        case .here: break
        }
        let isHidden = list == .followers && person.isPrivate && !wasAlone(before)
        if isHidden { return .found(.restricted, ownerLogin: owner) }
        return .found(asked.lowercased() == login.lowercased() ? .unfollowed : .renamed, ownerLogin: owner)
      }
    }
    return .undecided
  }

  private func question(_ member: String, _ owner: String) -> GitHub.Relation? {
    guard let member = GitHub.Login(member), let owner = GitHub.Login(owner) else { return nil }
    return list == .followers
      ? GitHub.Relation(from: member, to: owner) : GitHub.Relation(from: owner, to: member)
  }

  /// Who was followed by nobody and followed nobody else before has zero counters now without being private.
  private func wasAlone(_ before: PersonStore.Known?) -> Bool {
    before?.hasProfile == true && before?.followers == 0 && (before?.following ?? 0) <= 1 && before?.following != 0
  }
}
