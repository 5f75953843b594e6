import Magpie

extension OpenAPI {
  private static let unchanged = Operation.Answer(status: 304, description: "`If-None-Match` names what there is.")

  private static func syncQuery(_ name: String, _ schema: String, _ description: String) -> String {
    "{\"name\":\"\(name)\",\"in\":\"query\",\"schema\":\(schema),\"description\":\"\(description)\"}"
  }

  /// Devices in step.
  static let syncOperations = [
    Operation(
      method: .get, path: "/v1/sync", id: "pullChanges", tag: "sync",
      summary: "What has changed since a version, deletions included, in the order of versions.",
      parameters: ["syncSince", "syncUntil", "syncLimit", "ifNoneMatch"],
      answers: [
        .init(status: 200, description: "The changes.", schema: "SyncPage", headers: ["ETag", "Cache-Control"]),
        unchanged,
      ],
      refusals: [(400, "UnknownVersion"), (410, "CursorExpired"), (422, "Invalid"), (503, "Unavailable")]),
    Operation(
      method: .post, path: "/v1/sync", id: "pushChanges", tag: "sync",
      summary: "Applies what a device has done, in order and in one transaction, and tells what has changed since.",
      parameters: ["idempotencyKey"], body: "SyncPush",
      answers: [
        .init(status: 200, description: "What became of each operation, and the changes.", schema: "SyncAnswer")
      ],
      refusals: [
        (400, "UnknownVersion"), (403, "InsufficientScope"), (410, "CursorExpired"), (413, "TooLarge"),
        (422, "Invalid"),
        (503, "Unavailable"),
      ]),
    Operation(
      method: .get, path: "/v1/sync/checksum", id: "getChecksum", tag: "sync",
      summary: "Counts and hashes of all there is at the present version, for a device to compare with what it has.",
      parameters: ["ifNoneMatch"],
      answers: [
        .init(status: 200, description: "The checksum.", schema: "Checksum", headers: ["ETag", "Cache-Control"]),
        unchanged,
      ],
      refusals: [(503, "Unavailable")]),
    Operation(
      method: .get, path: "/v1/stream", id: "openStream", tag: "sync",
      summary:
        "Changes as they happen. Events: favorites (id is the version, data one entry of a delta), job (data as of "
        + "/v1/jobs/{id}), resync, ping.",
      parameters: ["lastEventID", "lastEventIDField"],
      answers: [
        .init(
          status: 200, description: "Events, until somebody ends it.", schema: "Text", mediaType: "text/event-stream")
      ],
      refusals: [(422, "Invalid"), (429, "TooManyStreams"), (503, "Unavailable")]),
  ]

  static let syncParameters: KeyValuePairs<String, String> = [
    "syncSince": syncQuery(
      "since", #"{"type":"integer","format":"int64","minimum":0,"default":0}"#,
      "The version the device has; 0 reads everything."),
    "syncUntil": syncQuery(
      "until", #"{"type":"integer","format":"int64","minimum":0}"#,
      "Where a read in pages ends: as the first page said, so that all pages end at one version."),
    "syncLimit": syncQuery(
      "limit", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":\(Sync.maxPage),\"default\":\(Sync.defaultPage)}",
      "Entries a page; more than the maximum counts as the maximum."),
    "lastEventID": syncQuery(
      "last_event_id", #"{"type":"integer","format":"int64","minimum":0}"#,
      "For a first connection: the version the device has. What came after it is sent first."),
    "lastEventIDField":
      #"{"name":"Last-Event-ID","in":"header","schema":{"type":"integer","format":"int64"},"description":"The same, as browsers send it when they connect again; goes before the parameter."}"#,
  ]

  static let syncResponses: KeyValuePairs<String, String> = [
    "CursorExpired": problem(
      "`sync/cursor-expired`: deletions since then are forgotten after \(Sync.horizonDays) days. `resync_url` reads everything."
    ),
    "UnknownVersion": problem(
      "`sync/unknown-cursor`: the account has no such version yet; also `request/invalid-json`. `resync_url` reads everything."
    ),
    "TooManyStreams": problem("`sync/too-many-streams`: of this account.", ["Retry-After"]),
  ]

  private static let kindEnum = SyncEndpoints.kinds.map { "\"\($0)\"" }.joined(separator: ",")
  private static let page = """
    "changes":{"type":"array","items":{"oneOf":[{"$ref":"#/components/schemas/Favorite"},{"$ref":"#/components/schemas/Deleted"}]}},
    "version":{"type":"integer","format":"int64","description":"What the device has now: the next `since`."},
    "until":{"type":"integer","format":"int64","description":"Where this read ends."},
    "has_more":{"type":"boolean","description":"Whether there is more up to `until`."}
    """

  static let syncSchemas: KeyValuePairs<String, String> = [
    "Deleted": """
    {"type":"object","required":["kind","id","deleted","version"],"properties":{
    "kind":{"type":"string","enum":[\(kindEnum)]},"id":{"type":"string"},"deleted":{"const":true},
    "version":{"type":"integer","format":"int64"}}}
    """,
    "SyncPage": """
    {"type":"object","required":["changes","version","until","has_more"],"properties":{\(page)}}
    """,
    "SyncPush": """
    {"type":"object","required":["since"],"additionalProperties":false,"properties":{
    "since":{"type":"integer","format":"int64","minimum":0},"until":{"type":"integer","format":"int64"},
    "limit":{"type":"integer","minimum":1},"atomic":{"type":"boolean","default":false,
    "description":"All or nothing: when one operation is not ok, nothing is applied."},
    "changes":{"type":"array","maxItems":\(Sync.maxOperations),"items":{"$ref":"#/components/schemas/SyncOperation"}}}}
    """,
    "SyncOperation": """
    {"type":"object","required":["op","kind","id"],"description":"`put` has the members of a FavoriteChange, too; `tags` has `add` and `remove`.",
    "properties":{"op":{"type":"string","enum":["put","delete","tags"]},"kind":{"type":"string","enum":[\(kindEnum)]},
    "id":{"type":"string"},"base_version":{"type":"integer","format":"int64","minimum":0,
    "description":"The version of the item that the edit was made on, or the device's cursor then. What others did since is merged."},
    "add":{"type":"array","items":{"type":"string"}},"remove":{"type":"array","items":{"type":"string"}}}}
    """,
    "SyncAnswer": """
    {"type":"object","required":["results","changes","version","until","has_more"],"properties":{
    "results":{"type":"array","description":"One for each operation, in order.","items":{"type":"object","required":["status"],"properties":{
    "status":{"type":"string","enum":["ok","conflict","invalid"]},
    "version":{"type":"integer","format":"int64","description":"The item's after it."},
    "server":{"description":"With conflict: the server's copy, a Favorite or a Deleted, or null."},
    "ancestor":{"description":"With conflict: note, tags and rank as they were at base_version, or null when that is not kept."},
    "errors":{"type":"array","items":{"type":"object","required":["pointer","detail"],"properties":{
    "pointer":{"type":"string","description":"RFC 6901, within the body."},"detail":{"type":"string"}}}}}}},\(page)}}
    """,
    "Checksum": """
    {"type":"object","required":["version","kinds"],"properties":{"version":{"type":"integer","format":"int64"},
    "kinds":{"type":"object","description":"By kind. The hash is the exclusive or, in 64 hexadecimal digits, of the SHA-256 of each item's text: kind, id and version in decimal digits, with a line feed (0A) between them and none at the end, in UTF-8. No items: all zeros.",
    "additionalProperties":{"type":"object","required":["count","hash"],"properties":{"count":{"type":"integer"},
    "hash":{"type":"string","pattern":"^[0-9a-f]{64}$"}}}}}}
    """,
  ]
}
