import Magpie
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// A story made of a number: people come, go, are renamed, vanish and return, while walks run well, move, break and are refused.
///
/// Everything that happens is written down with its time, so that each event can be held against the truth.
final class Schedule {
  static let perPage = 5

  /// Something a person did, or that was done to them.
  struct Deed {
    enum Kind { case followed, unfollowed, hidden, shown }
    let person: Int64
    let kind: Kind
    /// Before it, and after it.
    let from: Instant
    let to: Instant
  }

  private let world: TestWorld
  private let driver: JobDriver
  private var dice: Dice
  private var owner = ""
  private var ownerID: Int64 = 0
  /// Everybody who ever was in the list, or may come.
  private var cast: Set<Int64> = []
  private var hidden: Set<Int64> = []
  private var deeds: [Deed] = []
  private var names = 0
  private let seed: UInt64
  /// Whom the first complete walk has met.
  private var baseline: Set<Int64>?

  init(seed: UInt64, _ world: TestWorld, _ driver: JobDriver) {
    self.seed = seed
    self.world = world
    self.driver = driver
    dice = Dice(state: seed)
  }

  func run() async throws {
    owner = "s\(seed)"
    ownerID = try world.simulator.add(.init(owner, followers: 4 + dice.roll(14), following: 3))
    for _ in 0..<5 { cast.insert(try world.simulator.add(.init(newName(), followers: 2, following: 2))) }
    cast.formUnion(try followers())
    for _ in 0..<(4 + dice.roll(3)) {
      try change(upTo: 4)
      try await walk()
    }
    try await walkToTheEnd()
    try await judge()
  }

  // MARK: What happens

  private func newName() -> String {
    names += 1
    return "s\(seed)-\(names)"
  }

  private func followers() throws -> [Int64] { try world.simulator.followers(of: owner) }

  private func change(upTo count: Int) throws {
    for _ in 0..<dice.roll(count + 1) { try changeOnce() }
  }

  private func changeOnce() throws {
    let present = try followers()
    let anybody = dice.pick(cast.sorted())
    switch dice.roll(12) {
    case 0...2:
      if !hidden.contains(anybody), !present.contains(anybody) {
        try note(anybody, .followed) { try $0.follow($1, by: $2) }
      }
    case 3...6:
      if !present.isEmpty { try note(dice.pick(present), .unfollowed) { try $0.unfollow($1, by: $2) } }
    case 7:
      // Whose name it was may be somebody else's at once, and that somebody may follow, too.
      let old = try name(of: anybody)
      try world.simulator.rename(old, to: newName())
      if dice.roll(2) == 0 {
        let heir = try world.simulator.add(.init(old, followers: 1, following: 1))
        cast.insert(heir)
        if dice.roll(2) == 0 { try note(heir, .followed) { try $0.follow($1, by: $2) } }
      }
    case 8:
      let fresh = newName()
      try world.simulator.rename(owner, to: fresh)
      // Following whoever has the name now is not following the owner.
      if dice.roll(2) == 0 {
        try world.simulator.add(.init(owner, followers: 1, following: 1))
        try world.simulator.follow(owner, by: try name(of: anybody))
      }
      owner = fresh
    case 9, 10:
      guard !present.isEmpty else { return }
      let person = dice.pick(present)
      let isFinal = dice.roll(3) == 0
      try note(person, .hidden) { if isFinal { try $0.delete($2) } else { try $0.suspend($2) } }
      hidden.insert(person)
    default:
      guard let person = hidden.sorted().first else { return }
      try note(person, .shown) { try $0.revive($2) }
      hidden.remove(person)
    }
  }

  private func name(of person: Int64) throws -> String { try #require(world.simulator.login(of: person)) }

  private func note(_ person: Int64, _ kind: Deed.Kind, _ body: (Simulator, String, String) throws -> Void) throws {
    let from = Instant.now
    try body(world.simulator, owner, try name(of: person))
    deeds.append(Deed(person: person, kind: kind, from: from, to: Instant.now))
  }

  // MARK: How it is looked at

  private func walk() async throws {
    try await driver.order(.followers, of: ownerID)
    let pages = (try followers().count + Schedule.perPage - 1) / Schedule.perPage
    let page = 2 + dice.roll(max(1, pages - 1))
    let ofPage = PathPattern("/user/\(ownerID)/followers?page=\(page)")
    switch dice.roll(8) {
    case 0, 1:
      try await walkToTheEnd()
    case 2, 3:
      // A walk that goes on where it broke off may be past that page.
      if pages >= page, try await isFresh() {
        try await driver.meanwhile(ofPage, in: world) { try self.change(upTo: 3) }
      }
    case 4:
      let before = Set(try followers())
      let from = Instant.now
      world.simulator.add(Fault(dice.pick([.dropFirst, .insertFirst]), on: ofPage, times: 1))
      try await driver.runOne()
      let after = Set(try followers())
      for (people, kind) in [(before.subtracting(after), Deed.Kind.unfollowed), (after.subtracting(before), .followed)]
      {
        for person in people { deeds.append(Deed(person: person, kind: kind, from: from, to: Instant.now)) }
      }
    case 5:
      let fault = dice.pick([Fault.Effect.cut, .reset, .status(502), .truncatedJSON, .html(200), .secondaryLimit])
      world.simulator.add(Fault(fault, on: ofPage, times: 1))
      try await driver.runOne()
      // The walk goes on later, or is taken up at once after the list has moved.
      if dice.roll(2) == 0 {
        try change(upTo: 2)
        try await driver.runOne()
      }
    case 6:
      let place = dice.pick([PathPattern("/users/*/following/*"), PathPattern("/user/*")])
      world.simulator.add(Fault(dice.pick([.secondaryLimit, .reset, .status(500)]), on: place, times: 1))
      try await driver.runOne()
      try await driver.runOne()
    default:
      // The checks of an earlier walk may still be open when the next one begins.
      try await driver.runOne()
    }
    world.simulator.clearFaults()
    try await keepBooks()
  }

  /// What is under way ends, and then the list is walked from beginning to end while it stands still.
  private func walkToTheEnd() async throws {
    try await driver.runAll()
    try await keepBooks()
    try await driver.order(.followers, of: ownerID)
    try await driver.runAll()
    try await keepBooks()
    try await compare()
  }

  private func isFresh() async throws -> Bool {
    try await world.value(
      "SELECT count(*) = 0 FROM magpie.job j WHERE j.kind = 'github-followers' AND j.checkpoint IS NOT NULL")
  }

  /// Whoever has turned up may act from now on; and who was in the list when it was first seen whole.
  private func keepBooks() async throws {
    cast.formUnion(try followers())
    guard baseline == nil else { return }
    let members = try await world.owner.query(
      """
      SELECT m FROM magpie.listing l JOIN magpie.walk w ON w.id = l.walk_id JOIN magpie.walk_page p ON p.walk_id = w.id,
        unnest(p.members) AS m WHERE l.owner_id = \(ownerID) AND l.kind = 'followers' AND l.generation > 0
      """
    ).decode(Int64.self)
    let isWhole: Bool = try await world.value(
      "SELECT count(*) = 1 FROM magpie.listing l WHERE l.owner_id = \(ownerID) AND l.generation > 0")
    if isWhole { baseline = Set(members) }
  }

  // MARK: What is told

  private struct Event {
    let person: Int64
    let kind: String
    let reason: String?
    let from: Instant
    let to: Instant
  }

  private func events() async throws -> [Event] {
    try await world.owner.query(
      """
      SELECT e.member_id, e.event, e.reason, e.observed_from, e.observed_to FROM magpie.follow_event e
        JOIN magpie.listing l ON l.id = e.listing_id WHERE l.owner_id = \(ownerID) AND l.kind = 'followers' ORDER BY e.id
      """
    ).decode((Int64, String, String?, Instant, Instant).self)
      .map { Event(person: $0.0, kind: $0.1, reason: $0.2, from: $0.3, to: $0.4) }
  }

  /// The first list and all events together are the present list: nobody was missed, and nobody was told of twice.
  private func compare() async throws {
    var list = try #require(baseline, "seed \(seed): no baseline")
    for event in try await events() {
      if event.kind == "followed" {
        #expect(list.insert(event.person).inserted, "seed \(seed): \(event.person) came twice")
      } else {
        #expect(list.remove(event.person) != nil, "seed \(seed): \(event.person) left twice")
      }
    }
    let present = Set(try followers())
    #expect(list.subtracting(present) == [], "seed \(seed): missed leaving")
    #expect(present.subtracting(list) == [], "seed \(seed): missed coming")
  }

  /// Nobody is said to have left who did not, and what is said to lie between two looks lies between them.
  private func judge() async throws {
    for event in try await events() where event.kind == "unfollowed" {
      let reason = try #require(event.reason)
      let own = deeds.filter { $0.person == event.person && $0.from <= event.to && $0.to >= event.from }
      let isTrue =
        switch reason {
        case "deleted_or_suspended":
          deeds.contains { $0.person == event.person && $0.kind == .hidden && $0.from <= event.to }
        default: own.contains { $0.kind == .unfollowed }
        }
      #expect(isTrue, "seed \(seed): \(event.person) did not leave: \(reason)")
    }
  }
}

/// SplitMix64: the same numbers for the same seed.
struct Dice {
  var state: UInt64

  mutating func roll(_ sides: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((z ^ (z >> 31)) % UInt64(sides))
  }

  mutating func pick<Item>(_ items: [Item]) -> Item { items[roll(items.count)] }
}
