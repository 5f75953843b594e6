import Postgres
import Upstream

extension ListRefresh {
  /// Whether a walk that has met nobody was shown an empty list because the owner's profile is private, which GitHub tells by
  /// zero counters for both lists. Nobody has left such a list; it is only not shown. Nor is it one to compare with, if it is
  /// the first that was ever seen: whoever turns up in it later may have been there all the time. The same holds of a first list
  /// that is empty although its counter is not.
  ///
  /// - Returns: how the job ends instead, if the profile cannot be had now or the owner is gone.
  func isHidden(
    _ place: WalkPlace, _ job: RunningJob
  ) async throws -> (isHidden: Bool, result: JobResult?) {
    guard let walk = place.walk, let owner = place.owner else { return (false, nil) }
    let rows = try await database.query(
      """
      SELECT magpie.is_emptied(w.id), magpie.is_unseen(w.id),
             CASE WHEN u.profile_validated_at >= w.started_at
                  THEN u.followers = 0 AND u.following = 0
                       OR CASE l.kind WHEN 'followers' THEN u.followers ELSE u.following END > 0 END
        FROM magpie.walk w JOIN magpie.listing l ON l.id = w.listing_id JOIN magpie.github_user u ON u.id = l.owner_id
       WHERE w.id = \(walk)
      """)
    guard let row = rows.first else { return (false, nil) }
    let (isEmptied, isUnseen, isKnown) = try row.decode((Bool, Bool, Bool?).self)
    guard isEmptied || isUnseen else { return (false, nil) }
    // The walk has asked for the profile already, which is new enough as long as nobody would be missing.
    if !isEmptied, let isKnown { return (isKnown, nil) }
    switch try await PersonCheck(gate: gate, database: database).look(
      at: owner, checkpoint: place.json, job)
    {
    case .ended(let result): return (false, result)
    // Whose list is gone has lost nobody, and nothing of it is to be shown.
    case .gone: return (false, .done)
    case .here(let person):
      let counter = list == .followers ? person.followers : person.following
      return (person.isPrivate || !isEmptied && counter ?? 0 > 0, nil)
    }
  }
}
