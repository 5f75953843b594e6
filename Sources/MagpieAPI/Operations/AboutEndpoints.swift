import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/v1/version`, `/v1/config`, `/problems/…`, `/openapi.json`: public facts about this server.
struct AboutEndpoints: Sendable {
  let services: Services
  private let versionDocument: [UInt8]
  private let versionTag: EntityTag
  private let openAPIDocument: [UInt8]
  private let openAPITag: EntityTag

  init(services: Services) {
    self.services = services
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("name")
    writer.string("magpie")
    writer.key("version")
    writer.string(services.settings.version)
    writer.endObject()
    versionDocument = writer.bytes
    versionTag = EntityTag(hashing: writer.bytes)
    openAPIDocument = OpenAPI.document(version: services.settings.version)
    openAPITag = EntityTag(hashing: openAPIDocument)
  }

  func version(_ request: Request) -> Response {
    Answers.document(versionDocument, for: request, tag: versionTag)
  }

  /// What `magpie openapi` prints.
  func openAPI(_ request: Request) -> Response {
    Answers.document(openAPIDocument, for: request, tag: openAPITag)
  }

  /// Limits and kinds, for clients that would rather know than try.
  func config(_ request: Request) -> Response {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("kinds")
    writer.beginArray()
    for kind in Favorite.Kind.allCases { writer.string(kind.rawValue) }
    writer.endArray()
    writer.key("signup")
    writer.bool(services.settings.allowsSignUp)
    writer.key("limits")
    writer.beginObject()
    for (name, value) in [
      ("note_bytes", FavoriteBody.maxNote), ("tags", FavoriteBody.maxTags), ("tag_characters", FavoriteBody.maxTag),
      ("rank_bytes", FavoriteBody.maxRank), ("snapshot_bytes", FavoriteBody.maxSnapshot),
      ("page_size", PageRequest.maxPageSize), ("favorites_page_size", FavoriteEndpoints.maxPageSize),
      ("wait_seconds", Wish.maxWait), ("favorites", Favorites.maxCount), ("collections", Collections.maxCount),
      ("collections_of_a_favorite", FavoriteBody.maxCollections), ("collection_name_characters", Collections.maxName),
      ("import_bytes", ImportReader.maxBody), ("sync_operations", Sync.maxOperations),
      ("sync_page_size", Sync.maxPage), ("sync_body_bytes", SyncBody.maxBytes),
      ("sync_horizon_days", Sync.horizonDays),
    ] {
      writer.key(name)
      writer.int(value)
    }
    writer.endObject()
    writer.endObject()
    return Answers.document(writer.bytes, for: request)
  }

  /// What a problem's `type` leads to: a few words for people.
  func problem(_ request: Request) -> Response {
    let code = "\(request.parameters["area"] ?? "")/\(request.parameters["name"] ?? "")"
    let isCode = code.utf8.allSatisfy { byte in
      switch byte {
      case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "/"): true
      default: false
      }
    }
    guard isCode else { return Response.text("There is no such problem.\n", status: .notFound) }
    return Response.text(
      "Problem \(code).\n\nThe detail member of the answer says what happened and what can be done.\n")
  }
}
