import HTTP
import JSONText
import Magpie

/// Reads an export of ours back: everything in it is checked as if it came piece by piece.
enum ExportReader {
  static let format = "magpie-export"
  static let formatVersion: Int64 = 1
  private static let states = ["ok", "pending", "renamed", "gone", "restricted"]
  /// What is stored is written with more blanks than what a PUT may bring.
  private static let maxSnapshot = 2 * FavoriteBody.maxSnapshot

  static func read(_ bytes: [UInt8]) throws -> FavoriteImport {
    try JSONObjectReader.read(bytes, limits: JSONText.Limits(maxBytes: ImportReader.maxBody)) { body in
      var things = FavoriteImport()
      things.isExact = true
      if let name = body.required("format", as: String.self), name != format {
        body.refuse("format", "must be \(format)")
      }
      if let version = body.required("format_version", as: Int64.self), version != formatVersion {
        body.refuse("format_version", "must be \(formatVersion)")
      }
      _ = body.optional("exported_at", as: String.self)
      things.account = body.object("account") { account(in: &$0) }
      things.collections =
        body.objects("collections", maxCount: Collections.maxCount) { collection(in: &$0) }?
        .compactMap { $0 } ?? []
      things.items =
        try body.objects("favorites", maxCount: Favorites.maxCount) { try item(isGone: false, in: &$0) }?
        .compactMap { $0 } ?? []
      if let gone = try body.object(
        "tombstones",
        { body in
          (
            try body.objects("favorites", maxCount: Favorites.maxCount) { try item(isGone: true, in: &$0) } ?? [],
            body.objects("collections", maxCount: Favorites.maxCount) { goneCollection(in: &$0) } ?? []
          )
        })
      {
        things.gone = gone.0.compactMap { $0 }
        things.goneCollections = gone.1.compactMap { $0 }
      }
      return things
    }
  }

  /// Name and date of the account are its own; the settings are taken along.
  private static func account(in body: inout JSONObjectReader) -> [UInt8] {
    _ = body.optional("username", as: String.self)
    _ = body.optional("created_at", as: String.self)
    var writer = JSONWriter()
    writer.beginObject()
    switch body.field("display_name", as: String.self) {
    case .absent: break
    case .null:
      writer.key("display_name")
      writer.null()
    case .value(let name):
      if !(1...100).contains(name.unicodeScalars.count) { body.refuse("display_name", "must have 1 to 100 characters") }
      writer.key("display_name")
      writer.string(name)
    }
    for name in ["locale", "gif_rating"] {
      guard let value = body.optional(name, as: String.self) else { continue }
      writer.key(name)
      writer.string(value)
    }
    writer.endObject()
    return writer.bytes
  }

  private static func collection(in body: inout JSONObjectReader) -> FavoriteImport.Collection? {
    let id = collectionID("id", in: &body)
    let name = body.required("name", as: String.self)
    if let name, !(1...Collections.maxName).contains(name.unicodeScalars.count) {
      body.refuse("name", "must have 1 to \(Collections.maxName) characters")
    }
    let rank = body.required("rank", as: String.self)
    if let rank, !Rank.isValid(rank) {
      body.refuse("rank", "must have at most \(Rank.maxLength) signs of printable ASCII")
    }
    let time = time("created_at", in: &body)
    guard let id, let name, let rank, let time else { return nil }
    return FavoriteImport.Collection(id: id, name: name, rank: rank, createdAt: time)
  }

  private static func goneCollection(in body: inout JSONObjectReader) -> (id: Collections.ID, deletedAt: String)? {
    let id = collectionID("id", in: &body)
    let time = time("deleted_at", in: &body)
    guard let id, let time else { return nil }
    return (id, time)
  }

  private static func item(isGone: Bool, in body: inout JSONObjectReader) throws -> FavoriteImport.Item? {
    let kind = body.required("kind", as: String.self).flatMap { Favorite.Kind(rawValue: $0) }
    let id = body.required("id", as: String.self)
    if let kind, let id, !FavoriteEndpoints.isPlausible(kind, id) {
      body.refuse("id", "cannot be the id of a \(kind.rawValue)")
    }
    if body.has("kind"), kind == nil {
      body.refuse("kind", "must be one of \(Favorite.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    var item = FavoriteImport.Item(kind ?? .gif, id ?? "")
    item.title = text("title", FavoriteBody.maxText, in: &body)
    item.subtitle = text("subtitle", FavoriteBody.maxText, in: &body)
    item.url = text("url", FavoriteBody.maxAddress, in: &body)
    item.image = text("image", FavoriteBody.maxAddress, in: &body)
    item.state = body.required("state", as: String.self)
    if let state = item.state, !states.contains(state) {
      body.refuse("state", "must be one of \(states.joined(separator: ", "))")
    }
    item.change = FavoriteBody.edit(in: &body)
    for name in ["note", "tags", "collections", "rank"] where body.raw(name)?.isNull ?? true {
      body.refuse(name, "is required")
    }
    item.change.addedAt = time("added_at", in: &body)
    if isGone { item.deletedAt = time("deleted_at", in: &body) }
    if let view = body.raw("snapshot"), !view.isNull {
      if view.kind != .object { body.refuse("snapshot", "must be an object") }
      if view.rawBytes.count > maxSnapshot { body.refuse("snapshot", "must not be longer than \(maxSnapshot) bytes") }
      if FavoriteBody.isTooDeep(view) {
        body.refuse("snapshot", "must not have more than \(FavoriteBody.maxSnapshotDepth) levels")
      }
      item.snapshot = view.bytes
    }
    return kind == nil || id == nil ? nil : item
  }

  private static func text(_ name: String, _ limit: Int, in body: inout JSONObjectReader) -> String? {
    guard let text = body.required(name, as: String.self) else { return nil }
    if text.unicodeScalars.count > limit { body.refuse(name, "must not have more than \(limit) characters") }
    return text
  }

  private static func time(_ name: String, in body: inout JSONObjectReader) -> String? {
    guard let text = body.required(name, as: String.self) else { return nil }
    let time = FavoriteBody.time(text)
    if time == nil { body.refuse(name, FavoriteBody.timeExpected) }
    return time
  }

  private static func collectionID(_ name: String, in body: inout JSONObjectReader) -> Collections.ID? {
    guard let text = body.required(name, as: String.self) else { return nil }
    let id = Collections.ID(text)
    if id == nil { body.refuse(name, "must be a collection's id") }
    return id
  }
}
