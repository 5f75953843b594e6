import HTTP
import JSONText
import Magpie

/// The body of a push. What is wrong with one operation is an answer to that one; only what concerns all of them refuses the
/// request.
struct SyncBody {
  /// An operation, or what is wrong with it.
  enum Entry {
    case operation(Sync.Operation)
    case refused([JSONObjectReader.Issue])
  }

  static let maxBytes = 1 << 20

  var since: Int64 = 0
  var until: Int64?
  var isAtomic = false
  var limit = Sync.defaultPage
  var entries: [Entry] = []

  static func read(_ bytes: [UInt8]) throws -> SyncBody {
    let view: JSONView
    do throws(JSONText.Invalid) { view = try JSONView(bytes) } catch { throw JSONObjectReader.Refusal.invalid(error) }
    let changes = view.kind == .object ? view["changes"] : nil
    var body = try JSONObjectReader.read(view.removing(members: ["changes"])) { reader in
      var body = SyncBody()
      if let since = reader.required("since", as: Int64.self) {
        if since < 0 { reader.refuse("since", "must not be negative") }
        body.since = since
      }
      body.until = reader.optional("until", as: Int64.self)
      if let until = body.until, until < body.since { reader.refuse("until", "must not be below since") }
      body.isAtomic = reader.optional("atomic", as: Bool.self) ?? false
      if let limit = reader.optional("limit", as: Int.self) {
        if limit < 1 { reader.refuse("limit", "must be a whole number from 1") }
        body.limit = min(limit, Sync.maxPage)
      }
      if let changes, !changes.isNull {
        let items = Array(changes.elements.prefix(Sync.maxOperations + 1))
        if changes.kind != .array {
          reader.refuse("changes", "must be an array")
        } else if items.count > Sync.maxOperations {
          reader.refuse("changes", "must not have more than \(Sync.maxOperations) items")
        } else {
          body.entries = items.map(SyncBody.entry)
        }
      }
      return body
    }
    if body.limit < 1 { body.limit = 1 }
    return body
  }

  private static func entry(_ view: JSONView) -> Entry {
    do {
      return .operation(try JSONObjectReader.read(view.bytes) { try operation(in: &$0) })
    } catch JSONObjectReader.Refusal.issues(let issues) {
      return .refused(issues)
    } catch {
      return .refused([JSONObjectReader.Issue(pointer: "", detail: "is no valid JSON")])
    }
  }

  private static func operation(in reader: inout JSONObjectReader) throws -> Sync.Operation {
    let name = reader.required("op", as: String.self)
    let kind = kind(in: &reader)
    let given = reader.required("id", as: String.self)
    if let kind, let given, !FavoriteEndpoints.isPlausible(kind, given) { reader.refuse("id", "is no id of this kind") }
    let id = given ?? ""
    let base = reader.optional("base_version", as: Int64.self)
    if let base, base < 0 { reader.refuse("base_version", "must not be negative") }
    let known = kind ?? .photo
    switch name {
    case "put": return .put(known, id, try FavoriteBody.change(in: &reader), base: base)
    case "delete": return .delete(known, id, base: base)
    case "tags":
      let add = tags("add", in: &reader) ?? []
      let remove = tags("remove", in: &reader) ?? []
      // Byte by byte, as tags are kept: there `é` of one character and of two are not the same.
      let added = Set(add.map { Array($0.utf8) })
      if let both = remove.first(where: { added.contains(Array($0.utf8)) }) {
        reader.refuse("remove", "has \(both), which is also added")
      }
      return .tags(known, id, add: add, remove: remove, base: base)
    case nil: return .refused
    default:
      reader.refuse("op", "must be one of put, delete, tags")
      return .refused
    }
  }

  private static func tags(_ name: String, in reader: inout JSONObjectReader) -> [String]? {
    let tags = reader.list(name, of: String.self, maxCount: FavoriteBody.maxTags)
    if let tags, tags.contains(where: { $0.isEmpty || $0.unicodeScalars.count > FavoriteBody.maxTag }) {
      reader.refuse(name, "must have 1 to \(FavoriteBody.maxTag) characters each")
    }
    return tags
  }

  private static func kind(in reader: inout JSONObjectReader) -> Favorite.Kind? {
    guard let name = reader.required("kind", as: String.self) else { return nil }
    guard let kind = Favorite.Kind(rawValue: name) else {
      reader.refuse("kind", "must be one of \(Favorite.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
      return nil
    }
    return kind
  }
}
