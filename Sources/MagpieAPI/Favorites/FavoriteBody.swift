import HTTP
import JSONText
import Magpie

/// The body of a PUT of a favorite.
enum FavoriteBody {
  static let maxNote = 10_000
  static let maxTags = 100
  static let maxTag = 100
  static let maxRank = 100
  static let maxText = 500
  static let maxAddress = 2_000
  static let maxSnapshot = 20_000

  static func read(_ bytes: [UInt8]) throws -> Favorite.Change {
    try JSONObjectReader.read(bytes) { body in
      var change = Favorite.Change()
      change.note = text("note", maxBytes: maxNote, in: &body)
      change.rank = text("rank", maxBytes: maxRank, in: &body)
      change.tags = body.list("tags", of: String.self, maxCount: maxTags)
      if let tags = change.tags, tags.contains(where: { $0.isEmpty || $0.unicodeScalars.count > maxTag }) {
        body.refuse("tags", "must have 1 to \(maxTag) characters each")
      }
      if let time = body.optional("added_at", as: String.self) {
        if Timestamp(time) == nil { body.refuse("added_at", "must be a time as in 2026-11-30T12:00:00Z") }
        change.addedAt = time
      }
      change.snapshot = try snapshot(in: &body)
      return change
    }
  }

  /// The app may send its own members along; they are kept as they are.
  private static func snapshot(in body: inout JSONObjectReader) throws -> Favorite.Snapshot? {
    guard let view = body.raw("snapshot"), !view.isNull else { return nil }
    guard view.kind == .object else {
      body.refuse("snapshot", "must be an object")
      return nil
    }
    if view.rawBytes.count > maxSnapshot { body.refuse("snapshot", "must not be longer than \(maxSnapshot) bytes") }
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
