import Postgres
import Upstream

extension ListRefresh {
  /// Whether a walk that has met nobody was shown an empty list because the owner's profile is private, which GitHub tells by
  /// zero counters for both lists. Nobody has left such a list; it is only not shown.
  ///
  /// - Returns: how the job ends instead, if the profile cannot be had now.
  func isHidden(
    _ place: WalkPlace, _ job: RunningJob
  ) async throws -> (isHidden: Bool, result: JobResult?) {
    guard let walk = place.walk, let owner = place.owner,
      try await database.query("SELECT magpie.is_emptied(\(walk))")[0].decode(Bool.self)
    else { return (false, nil) }
    switch try await PersonCheck(gate: gate, database: database).look(
      at: owner, checkpoint: place.json, job)
    {
    case .ended(let result): return (false, result)
    case .gone: return (false, nil)
    case .here(let person): return (person.isPrivate, nil)
    }
  }
}
