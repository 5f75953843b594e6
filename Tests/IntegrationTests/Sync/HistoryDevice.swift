import HTTP
import JSONText
import Magpie
import Testing

/// Numbers that come again with the same seed.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
  mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }
}

/// An item as a device has it.
struct HistoryItem: Equatable {
  var version: Int64
  var note: String
  var tags: Set<String>
  var rank: String
  var addedAt: String
}

/// A device that keeps to docs/sync.md and knows nothing else: it has what the server last told it, what its user has done
/// since, and at most one request whose answer has not come.
struct HistoryDevice {
  /// What the user has done to one item since the last request was made.
  struct Intent {
    var isAdded = false
    var isDeleted = false
    /// The note, and the one that was to be seen when it was written.
    var note: (text: String, over: String)?
    var rank: String?
    var addedTags: Set<String> = []
    var removedTags: Set<String> = []
    /// The version, or cursor, that the user saw.
    var base: Int64
  }

  /// An operation under way.
  struct Sent {
    let id: String
    let intent: Intent
    let text: String
  }

  let name: String
  let token: String
  var cursor: Int64 = 0
  var items: [String: HistoryItem] = [:]
  var intents: [String: Intent] = [:]
  var underWay: [Sent] = []
  var underWayBody: String?
  let usesTagsOperation: Bool
  let resolvesForItself: Bool
  /// What this device takes for the time; those of one account are years apart.
  let clock: String

  var isIdle: Bool { intents.isEmpty && underWay.isEmpty }

  /// What the user sees.
  func view(_ id: String) -> HistoryItem? {
    var item = items[id]
    for intent in underWay.filter({ $0.id == id }).map(\.intent) + (intents[id].map { [$0] } ?? []) {
      if intent.isDeleted { item = nil }
      if intent.isAdded, item == nil { item = HistoryItem(version: 0, note: "", tags: [], rank: "", addedAt: clock) }
      if let note = intent.note { item?.note = note.text }
      if let rank = intent.rank { item?.rank = rank }
      item?.tags.subtract(intent.removedTags)
      item?.tags.formUnion(intent.addedTags)
    }
    return item
  }

  /// Changes what the user has done to an item.
  mutating func edit(_ id: String, _ change: (inout Intent) -> Void) {
    var intent = intents[id] ?? Intent(base: items[id]?.version ?? cursor)
    change(&intent)
    intents[id] = intent
  }

  mutating func delete(_ id: String) {
    let isOnlyHere = items[id] == nil && !underWay.contains { $0.id == id }
    if isOnlyHere { intents[id] = nil } else { edit(id) { $0 = Intent(isDeleted: true, base: $0.base) } }
  }

  /// The request to send: the one whose answer is missing, word for word, or a new one.
  mutating func request(limit: Int, isAtomic: Bool) -> String {
    if let underWayBody { return underWayBody }
    for (id, intent) in intents.sorted(by: { $0.key < $1.key }) {
      underWay += operations(id, intent).map { Sent(id: id, intent: intent, text: $0) }
    }
    intents = [:]
    let body =
      #"{"since": \#(cursor), "limit": \#(limit), "atomic": \#(isAtomic), "changes": [\#(underWay.map(\.text).joined(separator: ","))]}"#
    if !underWay.isEmpty { underWayBody = body }
    return body
  }

  private func operations(_ id: String, _ intent: Intent) -> [String] {
    let item = items[id]
    let base = item?.version ?? intent.base
    let head = #""kind": "photo", "id": "\#(id)", "base_version": \#(base)"#
    func list(_ tags: some Sequence<String>) -> String {
      "[" + tags.sorted().map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }
    if intent.isDeleted { return [#"{"op": "delete", \#(head)}"#] }
    var fields = intent.isAdded ? #", "added_at": "\#(clock)""# : ""
    if let note = intent.note { fields += #", "note": "\#(note.text)""# }
    if let rank = intent.rank { fields += #", "rank": "\#(rank)""# }
    let hasTags = !intent.addedTags.isEmpty || !intent.removedTags.isEmpty
    if hasTags, usesTagsOperation, fields.isEmpty, !intent.isAdded {
      return [#"{"op": "tags", \#(head), "add": \#(list(intent.addedTags)), "remove": \#(list(intent.removedTags))}"#]
    }
    if hasTags {
      fields += #", "tags": \#(list((item?.tags ?? []).subtracting(intent.removedTags).union(intent.addedTags)))"#
    }
    return [#"{"op": "put", \#(head)\#(fields)}"#]
  }

  /// Takes an answer in. Edits that were made on something else than what the server has now are the user's to settle.
  mutating func receive(_ results: [JSONView], settle: (_ mine: String, _ theirs: String) -> String) {
    let sent = underWay
    underWay = []
    underWayBody = nil
    for (operation, result) in zip(sent, results) {
      let intent = operation.intent
      guard result["status"]?.string == "conflict" else { continue }
      // A note written over one that is refused is over what that one was to replace.
      if let refused = intent.note, let later = intents[operation.id]?.note, later.over == refused.text {
        intents[operation.id]?.note = (settle(later.text, refused.over), refused.over)
      }
      let server = result["server"].flatMap(HistoryDevice.item)
      if server == nil {
        // Gone. Either that is accepted, or it is wanted all the same.
        if resolvesForItself, !intent.isDeleted {
          let version = result["server"]?["version"]?.int ?? cursor
          edit(operation.id) { later in
            later.isAdded = true
            if let note = later.note ?? intent.note {
              later.note = note.over.isEmpty ? note : (settle(note.text, ""), "")
            }
            later.base = version
          }
        }
      } else if intent.isDeleted {
        continue
      } else {
        edit(operation.id) { later in
          // Kept as it was meant; whether the note still fits is found out when the pull has brought the server's.
          if later.note == nil { later.note = intent.note }
          if later.rank == nil { later.rank = intent.rank }
          later.addedTags.formUnion(intent.addedTags.subtracting(later.removedTags))
          later.removedTags.formUnion(intent.removedTags.subtracting(later.addedTags))
        }
      }
    }
  }

  /// Takes entries of a delta in.
  mutating func apply(_ changes: JSONView, version: Int64) {
    for entry in changes.elements {
      guard let id = entry["id"]?.string else { continue }
      items[id] = HistoryDevice.item(entry)
    }
    cursor = version
  }

  /// After a pull: notes that were written over something else than what is there now.
  mutating func settleNotes(_ settle: (_ mine: String, _ theirs: String) -> String) {
    for (id, intent) in intents {
      guard let item = items[id], let note = intent.note, !intent.isDeleted else { continue }
      intents[id]?.base = item.version
      if note.over == item.note || note.text == item.note { continue }
      if item.note.isEmpty || resolvesForItself {
        intents[id]?.note = (settle(note.text, item.note), item.note)
      } else {
        intents[id]?.note = nil
      }
    }
  }

  private static func item(_ entry: JSONView) -> HistoryItem? {
    guard entry.kind == .object, entry["deleted"] == nil else { return nil }
    return HistoryItem(
      version: entry["version"]?.int ?? 0, note: entry["note"]?.string ?? "",
      tags: Set(entry["tags"]?.elements.compactMap(\.string) ?? []), rank: entry["rank"]?.string ?? "",
      addedAt: entry["added_at"]?.string ?? "")
  }
}
