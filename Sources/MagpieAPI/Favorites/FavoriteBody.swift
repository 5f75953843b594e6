import HTTP
import JSONText
import Magpie

/// The body of a PUT of a favorite.
enum FavoriteBody {
  static let maxNote = 10_000
  static let maxTags = 100
  static let maxTag = 100
  static let maxRank = Rank.maxLength
  static let maxCollections = 100
  static let maxText = 500
  static let maxAddress = 2_000
  static let maxSnapshot = 20_000
  /// An export has a removed favorite's snapshot within four others, and has to be a document of 64 levels at most.
  static let maxSnapshotDepth = 60

  static func read(_ bytes: [UInt8]) throws -> Favorite.Change {
    try JSONObjectReader.read(bytes) { body in try change(in: &body) }
  }

  static let timeExpected = "must be a time as in 2026-11-30T12:00:00Z"

  /// A time in UTC, since PostgreSQL does not take every offset there can be; `nil` for other text, and for a time that has no
  /// year of four digits in UTC, which could be stored and not be read.
  static func time(_ text: String) -> String? {
    guard let time = Timestamp(text), times.contains(time.microseconds) else { return nil }
    return time.description
  }

  /// The years 1 to 9999, in microseconds since 1970.
  private static let times: ClosedRange<Int64> = -62_135_596_800_000_000...253_402_300_799_999_999

  /// The members of a PUT, wherever they stand.
  static func change(in body: inout JSONObjectReader) throws -> Favorite.Change {
    var change = edit(in: &body)
    if let time = body.optional("added_at", as: String.self) {
      change.addedAt = self.time(time)
      if change.addedAt == nil { body.refuse("added_at", timeExpected) }
    }
    change.snapshot = try snapshot(in: &body)
    return change
  }

  /// The body of a PATCH: what of it is there is changed, and `null` means what a new favorite has.
  static func readPatch(_ bytes: [UInt8]) throws -> (change: Favorite.Change, place: Favorite.Place?) {
    try JSONObjectReader.read(bytes) { body in
      var change = edit(in: &body)
      if body.raw("note")?.isNull == true { change.note = "" }
      if body.raw("tags")?.isNull == true { change.tags = [] }
      if body.raw("collections")?.isNull == true { change.collections = [] }
      if body.raw("rank")?.isNull == true { change.rank = "" }
      var places: [Favorite.Place] = []
      if let (kind, id) = neighbor("before", in: &body) { places.append(.before(kind, id)) }
      if let (kind, id) = neighbor("after", in: &body) { places.append(.after(kind, id)) }
      if places.count > 1 { body.refuse("after", "must not stand beside before") }
      if !places.isEmpty, body.has("rank") { body.refuse("rank", "must not stand beside before or after") }
      return (change, places.first)
    }
  }

  /// What a PUT and a PATCH have in common.
  static func edit(in body: inout JSONObjectReader) -> Favorite.Change {
    var change = Favorite.Change()
    change.note = text("note", maxBytes: maxNote, in: &body)
    change.rank = text("rank", maxBytes: maxRank, in: &body)
    if let rank = change.rank, rank.utf8.count <= maxRank, !Rank.isValid(rank) {
      body.refuse("rank", "must be of printable ASCII without blanks")
    }
    change.tags = body.list("tags", of: String.self, maxCount: maxTags)
    if let tags = change.tags, tags.contains(where: { $0.isEmpty || $0.unicodeScalars.count > maxTag }) {
      body.refuse("tags", "must have 1 to \(maxTag) characters each")
    }
    if let texts = body.list("collections", of: String.self, maxCount: maxCollections) {
      let ids = texts.compactMap { Collections.ID($0) }
      if ids.count < texts.count {
        body.refuse("collections", "must be ids as in 0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e")
      }
      change.collections = ids
    }
    return change
  }

  /// Another favorite as `kind/id`.
  private static func neighbor(_ name: String, in body: inout JSONObjectReader) -> (Favorite.Kind, String)? {
    guard let text = body.optional(name, as: String.self) else { return nil }
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let kind = Favorite.Kind(rawValue: parts[0]), !parts[1].isEmpty else {
      body.refuse(name, "must be another favorite as kind/id")
      return nil
    }
    return (kind, parts[1])
  }

  /// Whether an export with such a snapshot could not be read back.
  static func isTooDeep(_ snapshot: JSONView) -> Bool {
    (try? JSONText.check(snapshot.bytes, limits: JSONText.Limits(maxDepth: maxSnapshotDepth))) == nil
  }

  /// The app may send its own members along; they are kept as they are.
  private static func snapshot(in body: inout JSONObjectReader) throws -> Favorite.Snapshot? {
    guard let view = body.raw("snapshot"), !view.isNull else { return nil }
    guard view.kind == .object else {
      body.refuse("snapshot", "must be an object")
      return nil
    }
    if view.rawBytes.count > maxSnapshot { body.refuse("snapshot", "must not be longer than \(maxSnapshot) bytes") }
    if isTooDeep(view) { body.refuse("snapshot", "must not have more than \(maxSnapshotDepth) levels") }
    var snapshot = Favorite.Snapshot()
    for (name, path, limit) in [
      ("title", \Favorite.Snapshot.title, maxText), ("subtitle", \.subtitle, maxText), ("url", \.url, maxAddress),
      ("image", \.image, maxAddress),
    ] {
      guard let member = view[name], !member.isNull else { continue }
      guard let text = member.string, text.unicodeScalars.count <= limit else {
        body.refuse("snapshot", "must have a \(name) of at most \(limit) characters")
        continue
      }
      snapshot[keyPath: path] = text
    }
    snapshot.document = view.bytes
    return snapshot
  }

  private static func text(_ name: String, maxBytes: Int, in body: inout JSONObjectReader) -> String? {
    guard let text = body.optional(name, as: String.self) else { return nil }
    if text.utf8.count > maxBytes { body.refuse(name, "must not be longer than \(maxBytes) bytes") }
    return text
  }
}
