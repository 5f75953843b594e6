import JSONText
import Postgres

/// Things to be brought into an account, checked and ready.
public struct FavoriteImport: Sendable {
  /// One favorite. What is `nil` the source did not say.
  public struct Item: Sendable {
    /// What kind of thing.
    public var kind: Favorite.Kind
    /// The upstream's id, or `@login` and `@owner/repo`.
    public var id: String
    /// What is shown of it.
    public var title, subtitle, url, image: String?
    /// Of an export of ours.
    public var state: String?
    /// As in `Favorite.Change`.
    public var change = Favorite.Change()
    /// Collections by name.
    public var collectionNames: [String] = []
    /// The whole object, JSON.
    public var snapshot: [UInt8]?
    /// Of what was removed.
    public var deletedAt: String?

    /// All else unsaid.
    public init(_ kind: Favorite.Kind, _ id: String) {
      self.kind = kind
      self.id = id
    }
  }

  /// A collection of an export of ours.
  public struct Collection: Sendable {
    /// Its id.
    public var id: Collections.ID
    /// All of it.
    public var name, rank, createdAt: String

    /// All of it.
    public init(id: Collections.ID, name: String, rank: String, createdAt: String) {
      self.id = id
      self.name = name
      self.rank = rank
      self.createdAt = createdAt
    }
  }

  /// Whether everything is to be as it stands here, or joined with what there is.
  public var isExact = false
  /// The account's settings, JSON; `nil` leaves them.
  public var account: [UInt8]?
  /// Collections that are to be there; of those of one id the first counts.
  public var collections: [Collection] = []
  /// In any order; of those of one kind and id the first counts.
  public var items: [Item] = []
  /// Removed ones.
  public var gone: [Item] = []
  /// Ids of removed collections, and when; of one id the first counts.
  public var goneCollections: [(id: Collections.ID, deletedAt: String)] = []

  /// Nothing.
  public init() {}

  /// What it did.
  public struct Outcome: Sendable {
    /// How many were brought in, new or changed or the same.
    public let favorites, collections, tombstones: Int64
    /// The account's version now.
    public let version: Int64
  }

  /// As `magpie.import_favorites` takes it.
  var document: [UInt8] {
    var writer = JSONWriter(capacity: 512 * (items.count + gone.count) + 4_096)
    writer.beginObject()
    if let account {
      writer.key("account")
      writer.raw(account)
    }
    writer.key("collections")
    writer.beginArray()
    var seen: Set<Collections.ID> = []
    for collection in collections where seen.insert(collection.id).inserted {
      writer.beginObject()
      for (name, value) in [
        ("id", collection.id.description), ("name", collection.name), ("rank", collection.rank),
        ("created_at", collection.createdAt),
      ] {
        writer.key(name)
        writer.string(value)
      }
      writer.endObject()
    }
    writer.endArray()
    writer.key("favorites")
    FavoriteImport.write(items, to: &writer)
    writer.key("tombstones")
    writer.beginObject()
    writer.key("favorites")
    FavoriteImport.write(gone, to: &writer)
    writer.key("collections")
    writer.beginArray()
    seen = []
    for (id, time) in goneCollections where seen.insert(id).inserted {
      writer.beginObject()
      writer.key("id")
      writer.string(id.description)
      writer.key("deleted_at")
      writer.string(time)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }

  private static func write(_ items: [Item], to writer: inout JSONWriter) {
    var seen: Set<String> = []
    writer.beginArray()
    for item in items {
      let key = Favorites.key(item.kind, item.id)
      guard seen.insert("\(item.kind.rawValue)/\(key)").inserted else { continue }
      writer.beginObject()
      let texts: [(String, String?)] = [
        ("kind", item.kind.rawValue), ("id", key), ("title", item.title), ("subtitle", item.subtitle),
        ("url", item.url),
        ("image", item.image), ("state", item.state), ("note", item.change.note), ("rank", item.change.rank),
        ("added_at", item.change.addedAt), ("deleted_at", item.deletedAt),
      ]
      for (name, value) in texts {
        guard let value else { continue }
        writer.key(name)
        writer.string(value)
      }
      let lists: [(String, [String])] = [
        ("tags", item.change.tags ?? []), ("collections", item.change.collections?.map(\.description) ?? []),
        ("collection_names", item.collectionNames),
      ]
      for (name, values) in lists {
        writer.key(name)
        writer.beginArray()
        for value in values { writer.string(value) }
        writer.endArray()
      }
      if let snapshot = item.snapshot {
        writer.key("snapshot")
        writer.raw(snapshot)
      }
      writer.endObject()
    }
    writer.endArray()
  }
}

extension Favorites {
  /// Whether a token may write, before a large body is taken; `nil` when it is nobody's.
  ///
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when it may not.
  public func mayWrite(token: [UInt8]) async throws -> Bool {
    try await database.query(Favorites.authenticate(token)).first?[0] != nil
  }

  /// Brings all of it in, or nothing; others see it at once.
  ///
  /// - Returns: `nil` when the token is nobody's.
  /// - Throws: as `put`.
  public func bring(_ things: FavoriteImport, token: [UInt8]) async throws -> FavoriteImport.Outcome? {
    let rows = try await database.transaction(retries: 2) { transaction in
      try await transaction.query(
        "SELECT i.favorites, i.collections, i.tombstones, i.version FROM magpie.import_favorites(\(JSON(things.document))::jsonb, \(things.isExact)) AS i",
        after: [Favorites.authenticate(token)])
    }
    guard let row = rows.first else { return nil }
    let (favorites, collections, tombstones, version) = try row.decode((Int64, Int64, Int64, Int64).self)
    return FavoriteImport.Outcome(
      favorites: favorites, collections: collections, tombstones: tombstones, version: version)
  }
}
