import Magpie

extension OpenAPI {
  private static let tagged = ["ETag", "Cache-Control"]
  private static let notModified = Operation.Answer(status: 304, description: "`If-None-Match` names what there is.")

  static let ownAccountOperations = [
    Operation(
      method: .post, path: "/v1/account/restore", id: "restoreAccount", tag: "accounts",
      summary: "Signs in to an account that its owner deleted less than 30 days ago, and takes that back.",
      parameters: ["csrf"], body: "Credentials",
      answers: [signedIn],
      refusals: [
        (400, "InvalidJSON"), (401, "WrongPassword"), (403, "CrossSite"), (413, "TooLarge"), (422, "Invalid"),
        (429, "Throttled"), (503, "Unavailable"),
      ],
      isPublic: true),
    Operation(
      method: .get, path: "/v1/sessions", id: "listSessions", tag: "accounts",
      summary: "The account's devices that are signed in, the newest first.",
      parameters: ["sessionLimit", "cursor", "ifNoneMatch"],
      answers: [.init(status: 200, description: "The devices.", schema: "SessionPage", headers: tagged), notModified],
      refusals: [(400, "InvalidCursor"), (422, "Invalid"), (503, "Unavailable")]),
    Operation(
      method: .delete, path: "/v1/sessions/current", id: "signOut", tag: "accounts",
      summary: "Signs the asking device out at once; a browser forgets its cookie.", parameters: ["csrf"],
      answers: [.init(status: 204, description: "Signed out.")],
      refusals: [(403, "InsufficientScope"), (503, "Unavailable")]),
    Operation(
      method: .delete, path: "/v1/sessions/{id}", id: "revokeSession", tag: "accounts",
      summary: "Signs a device out at once, its open streams included.", parameters: ["sessionID", "csrf"],
      answers: [.init(status: 204, description: "Signed out.")],
      refusals: [(403, "InsufficientScope"), (404, "NotFound"), (503, "Unavailable")]),
    Operation(
      method: .get, path: "/v1/account", id: "getAccount", tag: "accounts", summary: "The account and its settings.",
      parameters: ["ifNoneMatch"],
      answers: [.init(status: 200, description: "The account.", schema: "Account", headers: tagged), notModified],
      refusals: [(503, "Unavailable")]),
    Operation(
      method: .patch, path: "/v1/account", id: "changeAccount", tag: "accounts",
      summary: "Changes the settings that the body names.", parameters: ["ifMatch", "csrf"], body: "AccountChange",
      answers: [.init(status: 200, description: "The account now.", schema: "Account", headers: tagged)],
      refusals: [
        (400, "InvalidJSON"), (403, "InsufficientScope"), (412, "AccountChanged"), (413, "TooLarge"),
        (422, "Invalid"), (503, "Unavailable"),
      ]),
    Operation(
      method: .delete, path: "/v1/account", id: "deleteAccount", tag: "accounts",
      summary:
        "Deletes the account: all devices are signed out at once, and all it has is erased after 30 days, unless it is "
        + "restored.",
      parameters: ["csrf"], body: "Confirmation",
      answers: [.init(status: 204, description: "Deleted.")],
      refusals: [
        (400, "InvalidJSON"), (403, "WrongCurrentPassword"), (413, "TooLarge"), (422, "Invalid"), (429, "Throttled"),
        (503, "Unavailable"),
      ]),
    Operation(
      method: .put, path: "/v1/account/password", id: "changePassword", tag: "accounts",
      summary: "Sets a new password; codes that were given out before are void.", parameters: ["csrf"],
      body: "PasswordChange",
      answers: [.init(status: 204, description: "Changed.")],
      refusals: [
        (400, "InvalidJSON"), (403, "WrongCurrentPassword"), (413, "TooLarge"), (422, "Invalid"), (429, "Throttled"),
        (503, "Unavailable"),
      ]),
  ]

  static let signedIn = Operation.Answer(
    status: 201,
    description: "Signed in. The token is shown this once; with `cookie` it is in `Set-Cookie` and not in the body.",
    schema: "SignIn", headers: ["Set-Cookie"])

  static let accountParameters: KeyValuePairs<String, String> = [
    "sessionID": """
    {"name":"id","in":"path","required":true,"description":"As the list of devices has it.",
    "schema":{"type":"string","format":"uuid"}}
    """,
    "sessionLimit": """
    {"name":"limit","in":"query","description":"Devices a page; more than the maximum counts as the maximum.",
    "schema":{"type":"integer","minimum":1,"maximum":\(SessionEndpoints.maxPageSize),"default":50}}
    """,
    "csrf": """
    {"name":"X-Magpie-CSRF","in":"header","description":"`1`, where the token is in a cookie or goes into one. Such requests \
    must also come from the server's own pages, and a body must say `Content-Type: application/json`.",
    "schema":{"const":"1"}}
    """,
    "idempotencyKey": """
    {"name":"Idempotency-Key","in":"header","description":"1 to \(Idempotency.Key.maxLength) visible ASCII characters, bare or \
    in quotes. The same request under the same key gets the same answer for 24 hours, with `Idempotency-Replayed: true`; \
    another request 422; the first still running 409. Answers of 401, 403, 408, 409, 429 and 5xx are not kept. Requests that \
    hand out tokens (signing up, in, redeeming, restoring) take no notice of it.",
    "schema":{"type":"string"}}
    """,
  ]

  static let accountResponses: KeyValuePairs<String, String> = [
    "Throttled": problem(
      "`auth/throttled`: too many passwords or codes were tried; nothing was looked at.", ["Retry-After"]),
    "CrossSite": problem("`auth/cross-site`: `cookie` was asked for, and not by one of the server's own pages."),
    "WrongCurrentPassword": problem("`auth/wrong-password`, `auth/insufficient-scope`, `auth/cross-site`."),
    "AccountChanged": problem("`accounts/changed`; `server` is the server's copy.", ["ETag"]),
  ]

  private static let time = #"{"type":"string","format":"date-time"}"#
  private static let settings = """
    "display_name":{"type":["string","null"],"minLength":1,"maxLength":\(AccountEndpoints.maxNameLength),
    "description":"No control characters, and none that change the direction of text."},
    "locale":{"type":"string","pattern":"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$","maxLength":\(Accounts.maxLocaleLength)},
    "gif_rating":{"type":"string","enum":[\(Accounts.gifRatings.map { "\"\($0)\"" }.joined(separator: ","))]}
    """

  static let accountSchemas: KeyValuePairs<String, String> = [
    "Account": """
    {"type":"object","required":["username","display_name","locale","gif_rating","created_at","version","counts"],"properties":{
    "username":{"type":"string"},\(settings),"created_at":\(time),"version":{"type":"integer","format":"int64"},
    "counts":{"type":"object","required":["favorites","tombstones","devices"],"properties":{
    "favorites":{"type":"object","additionalProperties":{"type":"integer"},"description":"By kind."},
    "tombstones":{"type":"integer"},"devices":{"type":"integer","description":"Those that are signed in."}}}}}
    """,
    "AccountChange": """
    {"type":"object","additionalProperties":false,"properties":{\(settings)}}
    """,
    "Confirmation": """
    {"type":"object","required":["password"],"additionalProperties":false,"properties":{"password":{"type":"string"}}}
    """,
    "PasswordChange": """
    {"type":"object","required":["current","new"],"additionalProperties":false,"properties":{"current":{"type":"string"},
    "new":{"type":"string","minLength":\(PasswordPolicy.length.lowerBound),"maxLength":\(PasswordPolicy.length.upperBound),
    "description":"Counted in bytes of UTF-8. Common ones are refused."},
    "end_other_sessions":{"type":"boolean","default":false}}}
    """,
    "Session": """
    {"type":"object","required":["id","device","app","hint","browser","current","scopes","created_at","last_seen_at",
    "expires_at","sync_version","lag"],"properties":{"id":{"type":"string","format":"uuid"},"device":{"type":"string"},
    "app":{"type":"string"},"hint":{"type":"string","description":"The token's last four characters."},
    "browser":{"type":"boolean","description":"Whether its token is in a cookie."},
    "current":{"type":"boolean","description":"Whether it is the device that asks."},
    "scopes":{"type":"array","items":{"type":"string","enum":["read","write"]}},"created_at":\(time),
    "last_seen_at":{"type":"string","format":"date-time","description":"To a minute."},
    "expires_at":{"type":["string","null"],"format":"date-time","description":"When it ends if it is not used until then."},
    "sync_version":{"type":["integer","null"],"format":"int64","description":"How far it has synced, as far as it has said."},
    "lag":{"type":["integer","null"],"format":"int64","description":"How many changes it is behind."}}}
    """,
    "SessionPage": """
    {"type":"object","required":["items","next"],"properties":{
    "items":{"type":"array","items":{"$ref":"#/components/schemas/Session"}},
    "next":{"type":["string","null"],"description":"The cursor of the next page."}}}
    """,
  ]
}
