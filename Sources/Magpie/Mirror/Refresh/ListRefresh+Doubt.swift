import Postgres
import Upstream

extension ListRefresh {
  /// Whether a walk may make ever so many members leave, since it shows the same as the one before, which was not believed, and
  /// the owner's counter does not say otherwise.
  ///
  /// - Returns: how the job ends instead, if the profile cannot be had now or the owner is gone.
  func isBelieved(_ place: WalkPlace, _ job: RunningJob) async throws -> (isBelieved: Bool, result: JobResult?) {
    guard let doubt = place.doubt, let walk = place.walk, let owner = place.owner else { return (false, nil) }
    let rows = try await database.query("SELECT w.members FROM magpie.walk w WHERE w.id = \(walk)")
    guard let members = try rows.first?.decode(Int64.self), doubt.agrees(with: members) else { return (false, nil) }
    if doubt.walks >= WalkDoubt.patience { return (true, nil) }
    switch try await PersonCheck(gate: gate, database: database).look(at: owner, checkpoint: place.json, job) {
    case .ended(let result): return (false, result)
    case .gone: return (false, .done)
    case .here(let person):
      let counter = list == .followers ? person.followers : person.following
      return (counter.map { !WalkDoubt.contradicts(counter: $0, members: members) } ?? true, nil)
    }
  }
}
