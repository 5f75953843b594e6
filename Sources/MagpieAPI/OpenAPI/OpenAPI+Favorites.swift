import Magpie

extension OpenAPI {
  private static let tagged = ["ETag", "Cache-Control"]
  private static let notModified = Operation.Answer(status: 304, description: "`If-None-Match` names what there is.")
  private static let writeRefusals: [(status: Int, response: String)] = [
    (400, "InvalidJSON"), (403, "InsufficientScope"), (404, "NotFound"), (412, "VersionConflict"), (413, "TooLarge"),
    (422, "Invalid"), (503, "Unavailable"),
  ]

  /// Changes of favorites, and their collections.
  static let collectionOperations = [
    Operation(
      method: .patch, path: "/v1/favorites/{kind}/{id}", id: "changeFavorite", tag: "favorites",
      summary: "Changes note, tags, collections or place of a favorite that is there.",
      parameters: ["favoriteKind", "favoriteID", "ifMatch"], body: "FavoritePatch",
      answers: [.init(status: 200, description: "The item.", schema: "Favorite", headers: tagged)],
      refusals: writeRefusals),
    Operation(
      method: .post, path: "/v1/favorites/{kind}/{id}/restore", id: "restoreFavorite", tag: "favorites",
      summary: "Brings a removed favorite back as it was: note, tags, collections, place, and when it was added.",
      parameters: ["favoriteKind", "favoriteID", "idempotencyKey"],
      answers: [
        .init(status: 201, description: "It is back.", schema: "Favorite", headers: tagged),
        .init(status: 200, description: "It was there.", schema: "Favorite", headers: tagged),
      ],
      refusals: [(403, "InsufficientScope"), (404, "NotFound"), (422, "Invalid"), (503, "Unavailable")]),
    Operation(
      method: .get, path: "/v1/collections", id: "listCollections", tag: "favorites",
      summary: "A page of the account's collections, by rank and then by name.",
      parameters: ["limit", "cursor", "ifNoneMatch"],
      answers: [.init(status: 200, description: "The page.", schema: "CollectionPage", headers: tagged), notModified],
      refusals: [(400, "InvalidCursor"), (422, "Invalid"), (503, "Unavailable")]),
    Operation(
      method: .post, path: "/v1/collections", id: "createCollection", tag: "favorites",
      summary: "Makes a collection; its id may be made up by the app, so that doing it twice is doing it once.",
      parameters: ["idempotencyKey"], body: "NewCollection",
      answers: [
        .init(status: 201, description: "It is new.", schema: "Collection", headers: tagged + ["Location"]),
        .init(status: 200, description: "The very same was there.", schema: "Collection", headers: tagged),
      ],
      refusals: [
        (400, "InvalidJSON"), (403, "InsufficientScope"), (409, "CollectionExists"), (413, "TooLarge"),
        (422, "Invalid"), (503, "Unavailable"),
      ]),
    Operation(
      method: .get, path: "/v1/collections/{id}", id: "getCollection", tag: "favorites", summary: "One collection.",
      parameters: ["collectionID", "ifNoneMatch"],
      answers: [.init(status: 200, description: "It.", schema: "Collection", headers: tagged), notModified],
      refusals: [(404, "NotFound"), (503, "Unavailable")]),
    Operation(
      method: .patch, path: "/v1/collections/{id}", id: "changeCollection", tag: "favorites",
      summary: "Changes a collection's name or place.", parameters: ["collectionID", "ifMatch"],
      body: "CollectionPatch",
      answers: [.init(status: 200, description: "The collection.", schema: "Collection", headers: tagged)],
      refusals: writeRefusals),
    Operation(
      method: .delete, path: "/v1/collections/{id}", id: "deleteCollection", tag: "favorites",
      summary: "Removes a collection; what was in it stays a favorite.", parameters: ["collectionID", "ifMatch"],
      answers: [.init(status: 204, description: "It is not there (any more).")],
      refusals: [(403, "InsufficientScope"), (404, "NotFound"), (412, "VersionConflict"), (503, "Unavailable")]),
    Operation(
      method: .get, path: "/v1/account/export", id: "exportAccount", tag: "accounts",
      summary:
        "All of the account's favorites, collections and tombstones, as they are at one moment. As `text/csv` or "
        + "bookmarks (`text/html`) favorites only.",
      parameters: ["exportFormat"],
      answers: [.init(status: 200, description: "The document.", schema: "Export", headers: ["Cache-Control"])],
      refusals: [(422, "Invalid"), (503, "Unavailable")]),
    Operation(
      method: .post, path: "/v1/account/import", id: "importAccount", tag: "accounts",
      summary:
        "Brings favorites in, all or nothing: an export, an app's list of people (`login`, `avatarUrl`) or GIFs, CSV "
        + "(`text/csv`), or a browser's bookmarks (`text/html`). At most \(ImportReader.maxBody >> 20) MiB. An export's items "
        + "become as they stand there; what else the account has stays.",
      parameters: ["exportFormat", "idempotencyKey"], body: "Import",
      answers: [.init(status: 200, description: "What it did.", schema: "ImportResult")],
      refusals: [
        (400, "InvalidJSON"), (403, "InsufficientScope"), (413, "TooLarge"), (415, "UnsupportedMediaType"),
        (422, "Invalid"), (503, "Unavailable"),
      ]),
    Operation(
      method: .post, path: "/v1/activity", id: "recordActivity", tag: "favorites",
      summary: "Counts that something was copied, shared or opened.", parameters: ["idempotencyKey"],
      body: "NewActivity",
      answers: [.init(status: 200, description: "How often, by now.", schema: "ActivityCount")],
      refusals: [
        (400, "InvalidJSON"), (403, "InsufficientScope"), (413, "TooLarge"), (422, "Invalid"), (503, "Unavailable"),
      ]),
    Operation(
      method: .get, path: "/v1/widget", id: "getWidget", tag: "favorites",
      summary: "What a home screen shows, in under 2 KB.", parameters: ["ifNoneMatch"],
      answers: [.init(status: 200, description: "It.", schema: "Widget", headers: tagged), notModified],
      refusals: [(503, "Unavailable")]),
  ]

  static let favoriteParameters: KeyValuePairs<String, String> = [
    "collectionID": """
    {"name":"id","in":"path","required":true,"description":"The collection's id.","schema":{"type":"string","format":"uuid"}}
    """,
    "favoriteCollection": """
    {"name":"collection","in":"query","description":"Only what is in this collection.","schema":{"type":"string","format":"uuid"}}
    """,
    "exportFormat": """
    {"name":"format","in":"query","description":"Goes before the header that says it.","schema":{"type":"string","enum":["json","csv","html"]}}
    """,
    "facets": """
    {"name":"facets","in":"query","description":"1: also how many of all that the filters let through are of each kind and \
    have each tag.","schema":{"type":"string","enum":["0","1"],"default":"0"}}
    """,
  ]

  static let favoriteResponses: KeyValuePairs<String, String> = [
    "UnsupportedMediaType": problem("`request/unsupported-media-type`."),
    "CollectionExists": problem(
      "`collections/exists`: the id is that of another collection; `server` is that one.", ["ETag"]),
  ]

  private static let rank = """
    {"type":"string","maxLength":\(Rank.maxLength),"pattern":"^[!-~]*$","description":"Place in the manual order, compared \
    byte by byte; ties by kind and id. Without a place: empty, and first."}
    """
  private static let name =
    #"{"type":"string","minLength":1,"maxLength":\#(Collections.maxName),"description":"Not all blank."}"#

  static let favoriteSchemas: KeyValuePairs<String, String> = [
    "FavoritePatch": """
    {"type":"object","additionalProperties":false,"description":"What is there is changed; null means what a new favorite has.",
    "properties":{"note":{"type":["string","null"],"description":"At most \(FavoriteBody.maxNote) bytes."},
    "tags":{"type":["array","null"],"maxItems":\(FavoriteBody.maxTags),"items":{"type":"string","minLength":1,
    "maxLength":\(FavoriteBody.maxTag)}},
    "collections":{"type":["array","null"],"maxItems":\(FavoriteBody.maxCollections),"items":{"type":"string","format":"uuid"}},
    "rank":\(rank),
    "before":{"type":"string","description":"Instead of a rank: the favorite, as kind/id, that it is to stand just before."},
    "after":{"type":"string","description":"Or just after."}}}
    """,
    "Collection": """
    {"type":"object","required":["kind","id","name","rank","created_at","updated_at","version","count"],"properties":{
    "kind":{"const":"collection"},"id":{"type":"string","format":"uuid"},"name":\(name),"rank":\(rank),
    "created_at":{"type":"string","format":"date-time"},"updated_at":{"type":"string","format":"date-time"},
    "version":{"type":"integer","format":"int64","description":"The account's version at the last change of name or rank."},
    "count":{"type":"integer","description":"Favorites in it."}}}
    """,
    "NewCollection": """
    {"type":"object","required":["name"],"additionalProperties":false,"properties":{"id":{"type":"string","format":"uuid"},
    "name":\(name),"rank":\(rank)}}
    """,
    "CollectionPatch": """
    {"type":"object","additionalProperties":false,"properties":{"name":\(name),"rank":\(rank)}}
    """,
    "CollectionPage": """
    {"type":"object","required":["items","next"],"properties":{
    "items":{"type":"array","items":{"$ref":"#/components/schemas/Collection"}},
    "next":{"type":["string","null"],"description":"The cursor of the next page."}}}
    """,
    "NewActivity": """
    {"type":"object","required":["kind","subject"],"additionalProperties":false,"properties":{
    "kind":{"type":"string","enum":[\(Activity.Kind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]},
    "subject":{"type":"string","maxLength":\(ActivityEndpoints.maxSubject),
    "description":"A kind of favorite and an id, as in gif:xT9IgG50Fb7Mi0prBC."}}}
    """,
    "ActivityCount": """
    {"type":"object","required":["kind","count"],"properties":{"kind":{"type":"string"},"count":{"type":"integer"}}}
    """,
    "Widget": """
    {"type":"object","required":["favorites","copied","latest"],"properties":{"favorites":{"type":"integer"},
    "copied":{"type":"integer"},"latest":{"type":["object","null"],"description":"The newest favorite; long texts are cut.",
    "required":["kind","id","title","subtitle","url","image","added_at"],"properties":{"kind":{"type":"string"},
    "id":{"type":"string"},"title":{"type":"string"},"subtitle":{"type":"string"},"url":{"type":"string"},
    "image":{"type":"string"},"added_at":{"type":"string","format":"date-time"}}}}}
    """,
    "Export": """
    {"type":"object","required":["format","format_version","exported_at","account","collections","favorites","tombstones"],
    "properties":{"format":{"const":"\(ExportReader.format)"},"format_version":{"const":\(ExportReader.formatVersion)},
    "exported_at":{"type":"string","format":"date-time"},"account":{"type":"object"},
    "collections":{"type":"array","items":{"type":"object"}},
    "favorites":{"type":"array","maxItems":\(Favorites.maxCount),"items":{"type":"object","description":"A favorite without what is counted here: no `version`, no `updated_at`."}},
    "tombstones":{"type":"object","properties":{"favorites":{"type":"array","items":{"type":"object"}},
    "collections":{"type":"array","items":{"type":"object"}}}}}}
    """,
    "Import": """
    {"oneOf":[{"$ref":"#/components/schemas/Export"},{"type":"array","maxItems":\(Favorites.maxCount),"items":{"type":"object"}}]}
    """,
    "ImportResult": """
    {"type":"object","required":["favorites","collections","tombstones","version","skipped","skips"],"properties":{
    "favorites":{"type":"integer"},"collections":{"type":"integer"},"tombstones":{"type":"integer"},
    "version":{"type":"integer","format":"int64"},"skipped":{"type":"integer","description":"Entries that are no favorites."},
    "skips":{"type":"array","maxItems":\(ImportReader.maxSkipped),"items":{"type":"object","properties":{
    "place":{"type":"string"},"reason":{"type":"string"}}}}}}
    """,
    "FavoriteFacets": """
    {"type":"object","required":["kinds","tags"],"properties":{
    "kinds":{"type":"array","items":{"type":"object","required":["kind","count"],"properties":{"kind":{"type":"string"},
    "count":{"type":"integer"}}}},
    "tags":{"type":"array","maxItems":\(FavoriteFacets.maxTags),"items":{"type":"object","required":["tag","count"],
    "properties":{"tag":{"type":"string"},"count":{"type":"integer"}}}}}}
    """,
  ]
}
