import JSONText
import Postgres

extension Sync {
  /// Something a device has done.
  public enum Operation: Sendable {
    /// Adds a favorite, or changes what `change` names.
    case put(Favorite.Kind, String, Favorite.Change, base: Int64?)
    /// Deletes a favorite.
    case delete(Favorite.Kind, String, base: Int64?)
    /// Adds tags and removes others.
    case tags(Favorite.Kind, String, add: [String], remove: [String], base: Int64?)
    /// What was refused already. It holds a place, and makes an atomic push fail.
    case refused

    /// For `magpie.sync_push`.
    var text: String {
      var writer = JSONWriter(capacity: 256)
      writer.beginObject()
      switch self {
      case .put(let kind, let id, let change, let base):
        Operation.write("put", kind, id, base, to: &writer)
        Operation.write(change, to: &writer)
      case .delete(let kind, let id, let base):
        Operation.write("delete", kind, id, base, to: &writer)
      case .tags(let kind, let id, let add, let remove, let base):
        Operation.write("tags", kind, id, base, to: &writer)
        Operation.write("add", add, to: &writer)
        Operation.write("remove", remove, to: &writer)
      case .refused:
        writer.key("op")
        writer.string("refused")
      }
      writer.endObject()
      return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(
      _ name: String, _ kind: Favorite.Kind, _ id: String, _ base: Int64?, to writer: inout JSONWriter
    ) {
      writer.key("op")
      writer.string(name)
      writer.key("kind")
      writer.string(kind.rawValue)
      writer.key("id")
      writer.string(Favorites.key(kind, id))
      if let base {
        writer.key("base_version")
        writer.int(base)
      }
    }

    private static func write(_ change: Favorite.Change, to writer: inout JSONWriter) {
      let texts = [
        ("note", change.note), ("rank", change.rank), ("added_at", change.addedAt), ("title", change.snapshot?.title),
        ("subtitle", change.snapshot?.subtitle), ("url", change.snapshot?.url), ("image", change.snapshot?.image),
      ]
      for (name, text) in texts {
        guard let text else { continue }
        writer.key(name)
        writer.string(text)
      }
      if let tags = change.tags { write("tags", tags, to: &writer) }
      if let collections = change.collections { write("collections", collections.map(\.description), to: &writer) }
      if let document = change.snapshot?.document, !document.isEmpty {
        // As a text: whether PostgreSQL takes it is to be found out where only this operation fails.
        writer.key("snapshot")
        document.withUnsafeBytes { writer.string(utf8: $0) }
      }
    }

    private static func write(_ name: String, _ list: [String], to writer: inout JSONWriter) {
      writer.key(name)
      writer.beginArray()
      for item in list { writer.string(item) }
      writer.endArray()
    }
  }

  /// What became of an operation.
  public struct Result: Sendable {
    /// How it went.
    public enum Status: String, Sendable {
      /// It is done, alone or merged with what others did.
      case ok
      /// Others have changed the same meanwhile; nothing of it is done.
      case conflict
      /// It cannot be done, now or later.
      case invalid
    }
    /// How it went.
    public let status: Status
    /// The item's version after it, a deletion's included.
    public let version: Int64?
    /// With a conflict: the server's copy, as an entry of a delta; `nil` when there is none.
    public let server: [UInt8]?
    /// With a conflict: the state at the client's base version in what devices can edit; `nil` when there was none or it is
    /// not kept any more.
    public let ancestor: [UInt8]?
    /// What is wrong, and with which member: a JSON Pointer within the operation.
    public let error: (pointer: String, detail: String)?

    init(_ row: Row) throws {
      let fields = try row.decode((String, Int64?, String?, String?, String?, String?).self)
      status = Status(rawValue: fields.0) ?? .invalid
      version = fields.1
      server = fields.2.map { Array($0.utf8) }
      ancestor = fields.3.map { Array($0.utf8) }
      error = fields.5.map { (fields.4 ?? "", $0) }
    }
  }
}
