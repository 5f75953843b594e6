import HTTP
import JSONText
import Magpie
import Postgres
import Testing
import WorldSupport

/// One random history: devices that edit, offline and online, lose answers and repeat requests, and a hand with psql, of which
/// their streams must hear. In the end all must have the same, and what was promised must have been kept.
struct History {
  /// What has been promised by an answer, or was done by hand.
  struct Promise {
    let id: String
    let version: Int64
    /// What a device knew of; nobody has to know anything to add by hand.
    var base = Int64.max
    var addedAt: String?
  }

  let seed: UInt64
  let account: Int64
  let world: TestWorld
  var random: SeededRandom
  var devices: [HistoryDevice]
  var streams: HistoryStreams
  var counter = 0
  /// Whole requests that have been answered, for late copies.
  var old: [(device: Int, body: String)] = []
  var log: [String] = []

  /// Tags promised to be there, and tags that anybody has removed.
  var promisedTags: [(tag: String, at: Promise)] = []
  var removedTags: Set<String> = []
  /// Notes, each with the one its writer saw. Notes of a hand see nothing.
  var seenBy: [String: String] = [:]
  var byHand: Set<String> = []
  var adds: [Promise] = []
  var deletions: [Promise] = []

  init(seed: UInt64, account: Int64, tokens: [String], world: TestWorld) async throws {
    self.seed = seed
    self.account = account
    self.world = world
    var random = SeededRandom(seed: seed)
    devices = tokens.enumerated().map { index, token in
      HistoryDevice(
        name: "d\(index)", token: token, usesTagsOperation: random.oneIn(2), resolvesForItself: random.oneIn(2),
        clock: "\(2010 + random.below(40))-02-03T04:05:06.000000Z")
    }
    self.random = random
    streams = try await HistoryStreams(tokens, world)
  }

  /// What went wrong; empty when all is well.
  mutating func run(steps: Int) async throws -> [String] {
    for _ in 0..<steps { try await step() }
    for _ in 0..<10 {
      for index in devices.indices { try await synchronize(index, fate: .arrives) }
      if devices.allSatisfy({ $0.isIdle && $0.cursor == devices[0].cursor }) { return try await faults() }
    }
    return ["the devices do not come to rest"]
  }

  private mutating func step() async throws {
    let index = random.below(devices.count)
    switch random.below(10) {
    case 0..<5: edit(index)
    case 5..<8:
      let fates: [Fate] = [.arrives, .arrives, .arrives, .answerIsLost, .isLost, .arrivesTwice]
      try await synchronize(index, fate: fates[random.below(fates.count)])
    case 8:
      guard let (device, body) = old.randomElement(using: &random) else { return }
      log.append("late copy of \(devices[device].name): \(body)")
      _ = try await send(device, body)
    default: try await editByHand()
    }
  }

  // MARK: What users do

  private mutating func fresh(_ kind: String) -> String {
    counter += 1
    return "\(kind)\(counter)"
  }

  private mutating func edit(_ index: Int) {
    let id = String(1 + random.below(4))
    let device = devices[index]
    guard let item = device.view(id) else {
      let note = random.oneIn(2) ? fresh("note") : nil
      devices[index].edit(id) { intent in
        if intent.isDeleted {
          intent = HistoryDevice.Intent(base: intent.base)
        } else {
          intent.isAdded = true
        }
        if let note, intent.isAdded { intent.note = (note, "") }
      }
      if let note { seenBy[note] = "" }
      return
    }
    switch random.below(6) {
    case 0: devices[index].delete(id)
    case 1:
      let rank = fresh("rank")
      devices[index].edit(id) { $0.rank = rank }
    case 2, 3:
      let note = fresh("note")
      let over = device.intents[id]?.note?.over ?? item.note
      seenBy[note] = over
      devices[index].edit(id) { $0.note = (note, over) }
    case 4:
      let tag = fresh("tag")
      devices[index].edit(id) { $0.addedTags.insert(tag) }
    default:
      guard let tag = item.tags.sorted().first else { return }
      removedTags.insert(tag)
      devices[index].edit(id) { intent in
        if intent.addedTags.remove(tag) == nil { intent.removedTags.insert(tag) }
      }
    }
  }

  private mutating func editByHand() async throws {
    let id = String(1 + random.below(4))
    let text = fresh("hand")
    log.append("by hand \(id) \(text)")
    // What the edit has become: nothing when there was nothing to edit, or nothing to add.
    let version: Int64?
    switch random.below(4) {
    case 0:
      version = try await world.owner.query(
        """
        INSERT INTO magpie.favorite (account_id, kind, subject_id) VALUES (\(account), 'photo', \(id))
        ON CONFLICT DO NOTHING RETURNING version
        """
      ).first?.decode(Int64.self)
      if let version { adds.append(Promise(id: id, version: version)) }
    case 1:
      byHand.insert(text)
      version = try await world.owner.query(
        """
        UPDATE magpie.favorite SET note = \(text)
         WHERE account_id = \(account) AND kind = 'photo' AND subject_id = \(id) RETURNING version
        """
      ).first?.decode(Int64.self)
    case 2:
      version = try await world.owner.query(
        """
        UPDATE magpie.favorite SET tags = tags || \(text)::text
         WHERE account_id = \(account) AND kind = 'photo' AND subject_id = \(id) RETURNING version
        """
      ).first?.decode(Int64.self)
      if let version { promisedTags.append((text, Promise(id: id, version: version))) }
    default:
      let isDeleted =
        try await world.owner.query(
          "DELETE FROM magpie.favorite WHERE account_id = \(account) AND kind = 'photo' AND subject_id = \(id)"
        ).affected > 0
      let tombstone: Query = """
        SELECT t.version FROM magpie.favorite_tombstone t
         WHERE t.account_id = \(account) AND t.kind = 'photo' AND t.subject_id = \(id)
        """
      version = isDeleted ? try await world.value(tombstone) : nil
    }
    if let version { try await streams.hear(of: version) }
  }

  // MARK: What the network does

  enum Fate { case arrives, arrivesTwice, answerIsLost, isLost }

  private mutating func synchronize(_ index: Int, fate: Fate) async throws {
    let limit = [1, 2, 5, 200][random.below(4)]
    let body = devices[index].request(limit: limit, isAtomic: random.oneIn(6))
    log.append("\(devices[index].name) \(fate): \(body)")
    if fate == .isLost { return }
    if fate == .arrivesTwice { _ = try await send(index, body) }
    let answer = try await send(index, body)
    old.append((index, body))
    if fate == .answerIsLost { return }
    let json = try answer.json
    if answer.status != 200 { throw HistoryFault(text: "\(answer.status) \(answer.text)") }
    var settled: [(String, String)] = []
    let made = counter
    func settle(_ mine: String, _ theirs: String) -> String {
      let note = "note\(made + settled.count + 1)both"
      settled.append((note, theirs))
      return note
    }
    devices[index].receive(json["results"].map { Array($0.elements) } ?? [], settle: settle)
    var page = json
    while true {
      guard let changes = page["changes"], let version = page["version"]?.int else {
        throw HistoryFault(text: answer.text)
      }
      devices[index].apply(changes, version: version)
      if page["has_more"]?.bool != true { break }
      let next = "/v1/sync?since=\(version)&limit=\(limit)&until=\(page["until"]?.int ?? 0)"
      page = try await world.servers[0].call(.get, next, as: devices[index].token).json
    }
    devices[index].settleNotes(settle)
    counter += settled.count
    for (note, theirs) in settled { seenBy[note] = theirs }
  }

  /// Sends a request, and writes down what the server has promised, whoever gets to know it.
  private mutating func send(_ index: Int, _ body: String) async throws -> Answer {
    let answer = try await world.servers[0].call(.post, "/v1/sync", as: devices[index].token, body: body)
    if answer.status != 200 { throw HistoryFault(text: "\(answer.status) \(answer.text) to \(body)") }
    let operations = try JSONView(Array(body.utf8))["changes"].map { Array($0.elements) } ?? []
    let results = try answer.json["results"].map { Array($0.elements) } ?? []
    log.append(
      "  → " + results.map { "\($0["status"]?.string ?? "?") \($0["version"]?.int ?? 0)" }.joined(separator: ", "))
    for (operation, result) in zip(operations, results) where result["status"]?.string == "ok" {
      guard let id = operation["id"]?.string, let version = result["version"]?.int else { continue }
      let promise = Promise(id: id, version: version)
      switch operation["op"]?.string {
      case "delete": deletions.append(promise)
      case "put":
        adds.append(
          Promise(
            id: id, version: version, base: operation["base_version"]?.int ?? 0,
            addedAt: operation["added_at"]?.string))
      default: break
      }
      for tag in (operation["add"] ?? operation["tags"])?.elements.compactMap(\.string) ?? [] {
        promisedTags.append((tag, promise))
      }
    }
    return answer
  }

  // MARK: What must be true

  private func faults() async throws -> [String] {
    var faults: [String] = []
    let server = try await world.servers[0].call(.get, "/v1/sync?since=0&limit=500", as: devices[0].token).json
    var truth = HistoryDevice(name: "server", token: "", usesTagsOperation: false, resolvesForItself: false, clock: "")
    if let changes = server["changes"] { truth.apply(changes, version: 0) }
    for device in devices where device.items != truth.items {
      faults.append("\(device.name) has \(device.items), the server \(truth.items)")
    }
    var streams = streams
    try await streams.hear(of: server["changes"]?.elements.compactMap { $0["version"]?.int }.max() ?? 0)
    for device in try streams.told() where device.items != truth.items {
      faults.append("\(device.name) was told \(device.items), the server has \(truth.items)")
    }
    let checksum = try await world.servers[0].call(.get, "/v1/sync/checksum", as: devices[0].token).json
    let own = SyncTests.hash(truth.items.map { ("photo", $0.key, $0.value.version) })
    if checksum["kinds"]?["photo"]?["hash"]?.string != own { faults.append("the checksum is another") }
    if checksum["kinds"]?["photo"]?["count"]?.int != Int64(truth.items.count) { faults.append("the count is another") }

    let states = try await world.owner.query(
      """
      SELECT h.subject_id, h.version, h.is_absence, h.note FROM magpie.favorite_history h WHERE h.account_id = \(account)
      UNION ALL SELECT f.subject_id, f.version, false, f.note FROM magpie.favorite f WHERE f.account_id = \(account)
      UNION ALL SELECT t.subject_id, t.version, true, t.note FROM magpie.favorite_tombstone t WHERE t.account_id = \(account)
      ORDER BY 1, 2
      """
    ).decode((String, Int64, Bool, String).self)
    for (id, all) in Dictionary(grouping: states, by: { $0.0 }) {
      let lastAbsence = all.last { $0.2 }?.1 ?? 0
      // A note gives way only to somebody who has seen it.
      for (before, after) in zip(all, all.dropFirst()) where !before.2 && !after.2 && before.3 != after.3 {
        if byHand.contains(after.3) || seenBy[after.3] == before.3 { continue }
        faults.append("item \(id): \(after.3) took the place of \(before.3), over \(seenBy[after.3] ?? "nothing")")
      }
      // Nothing comes back by itself.
      let isWanted = adds.contains {
        $0.id == id && $0.version > lastAbsence && ($0.base >= lastAbsence || $0.base == 0)
      }
      if truth.items[id] != nil, lastAbsence > 0, !isWanted {
        faults.append("item \(id) has come back")
      }
      // Whatever the clocks say, the earliest time that anybody has given stays.
      for at in adds where at.id == id && at.version > lastAbsence {
        if let item = truth.items[id], let time = at.addedAt, item.addedAt > time {
          faults.append("item \(id) was added at \(time), and is shown as of \(item.addedAt)")
        }
      }
      // Tags stay unless somebody takes them off.
      for (tag, at) in promisedTags where at.id == id && at.version > lastAbsence && !removedTags.contains(tag) {
        if truth.items[id]?.tags.contains(tag) != true { faults.append("item \(id) has lost \(tag)") }
      }
    }
    for promise in adds where truth.items[promise.id] == nil {
      let isDeleted = states.contains { $0.0 == promise.id && $0.2 && $0.1 > promise.version }
      if !isDeleted { faults.append("item \(promise.id) of version \(promise.version) is lost") }
    }
    for promise in deletions {
      let wasDone = states.contains { $0.0 == promise.id && $0.2 && $0.1 >= promise.version }
      if !wasDone, truth.items[promise.id] != nil { faults.append("the deletion of \(promise.id) is lost") }
    }
    return faults
  }
}

/// Something the server must not answer in a history.
struct HistoryFault: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}
