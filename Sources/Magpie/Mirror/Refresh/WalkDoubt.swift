/// What walks have shown that was not believed: so many members would leave that another walk must say so, too.
struct WalkDoubt: Equatable, Sendable {
  /// How many walks in a row.
  var walks: Int
  /// Members that the last of them has met; `nil` when that is not known.
  var members: Int64?

  init(walks: Int = 1, members: Int64?) {
    self.walks = walks
    self.members = members
  }

  /// After so many walks that agree the list is right, and the profile's counter is not: counters go on counting whom lists do
  /// not show. The walks lie more than an hour apart, and no trouble of the upstream's lasts as long.
  static let patience = 5
  /// After so many walks of which none agrees the list stays as it is until somebody asks for it again.
  static let limit = 10

  /// What is doubted after another walk.
  static func after(_ doubt: WalkDoubt?, members: Int64) -> WalkDoubt {
    WalkDoubt(walks: (doubt?.walks ?? 0) + 1, members: members)
  }

  /// Whether a walk shows the same as the one before, but for the few who come and go in between.
  func agrees(with members: Int64) -> Bool {
    guard let before = self.members else { return false }
    return max(members, before) - min(members, before) <= max(5, max(members, before) / 20)
  }

  /// Whether a list is far shorter than the profile's counter says. The bounds are those within which a loss is believed at once.
  static func contradicts(counter: Int64, members: Int64) -> Bool { counter - members > max(20, counter / 5) }

  /// How long to leave the list alone until the next walk. Trouble that goes by at once has its second walk at once.
  var rest: Duration? { walks < 2 ? nil : .seconds(300 << min(walks - 2, 3)) }

  /// How the run ends that leaves the list alone; `nil` when it should walk again.
  var result: JobResult? {
    guard let rest else { return nil }
    let error = "upstream/invalid-answer: many are missing, and walks or counters do not agree"
    return walks < WalkDoubt.limit ? .retry(after: rest, error: error) : .discard(error: error)
  }
}
