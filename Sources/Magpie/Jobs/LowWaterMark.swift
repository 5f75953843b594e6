/// Where claims may start in their index, so that they do not walk over the entries of jobs long gone.
///
/// While some session holds an old snapshot, the entries of claimed jobs cannot be cleaned, and each claim would step over
/// all of them. The mark is only a hint: it is forgotten once a second and whenever a claim comes back short, so a job that
/// came in before it is late by a second at most.
struct LowWaterMark: Sendable {
  /// A place in the order of claims.
  struct Place: Equatable, Sendable {
    let priority: Int16
    let id: Int64
    /// Before every job.
    static let start = Place(priority: -1, id: 0)
  }

  private var place = Place.start
  private var setAt: UInt64 = 0

  /// How long a mark is believed, in nanoseconds.
  static let lifetime: UInt64 = 1_000_000_000

  /// Where the next claim starts.
  func start(at now: UInt64) -> Place { now &- setAt < LowWaterMark.lifetime ? place : .start }

  /// Takes note of a claim that had no other limits.
  mutating func record(_ jobs: [ClaimedJob], limit: Int, at now: UInt64) {
    guard jobs.count == limit, let last = jobs.last else { return forget() }
    // The age counts from the first mark, not the latest: a busy queue would never look back otherwise.
    if place == .start || now &- setAt >= LowWaterMark.lifetime { setAt = now }
    place = Place(priority: Int16(last.priority.rawValue), id: last.id)
  }

  /// Something more urgent may have come in.
  mutating func forget() { place = .start }
}
