import HTTP
import Magpie

extension OpenAPI {
  private static let tagged = ["ETag", "Cache-Control"]
  static let mirrored = [
    "ETag", "Cache-Status", "Age", "Magpie-Fetched-At", "Magpie-Validated-At", "Magpie-Job", "Server-Timing",
  ]
  private static let notModified = Operation.Answer(status: 304, description: "`If-None-Match` names what there is.")

  static let accountOperations = [
    Operation(
      method: .post, path: "/v1/accounts", id: "signUp", tag: "accounts",
      summary: "Makes an account, where that is open to everybody.", parameters: ["csrf"], body: "SignUp",
      answers: [signedIn],
      refusals: [
        (400, "InvalidJSON"), (403, "SignUpClosed"), (409, "UsernameTaken"), (413, "TooLarge"), (422, "Invalid"),
        (429, "Throttled"), (503, "Unavailable"),
      ],
      isPublic: true),
    Operation(
      method: .post, path: "/v1/invitations/redeem", id: "redeemInvitation", tag: "accounts",
      summary: "Uses up a code that an administrator has given out, and sets the password.", parameters: ["csrf"],
      body: "Redemption",
      answers: [signedIn],
      refusals: [
        (400, "InvalidJSON"), (403, "InvalidCode"), (413, "TooLarge"), (422, "Invalid"), (429, "Throttled"),
        (503, "Unavailable"),
      ],
      isPublic: true),
    Operation(
      method: .post, path: "/v1/sessions", id: "signIn", tag: "accounts", summary: "Signs a device in.",
      parameters: ["csrf"], body: "Credentials",
      answers: [signedIn],
      refusals: [
        (400, "InvalidJSON"), (401, "WrongPassword"), (403, "CrossSite"), (413, "TooLarge"), (422, "Invalid"),
        (429, "Throttled"), (503, "Unavailable"),
      ],
      isPublic: true),
  ]

  static let favoriteOperations = [
    Operation(
      method: .get, path: "/v1/favorites", id: "listFavorites", tag: "favorites",
      summary: "A page of the account's favorites.",
      parameters: [
        "kind", "favoriteText", "tag", "favoriteCollection", "favoriteSort", "facets", "limit", "cursor", "ifNoneMatch",
      ],
      answers: [.init(status: 200, description: "The page.", schema: "FavoritePage", headers: tagged), notModified],
      refusals: [(400, "InvalidCursor"), (422, "Invalid"), (503, "Unavailable")]),
    Operation(
      method: .get, path: "/v1/favorites/{kind}/{id}", id: "getFavorite", tag: "favorites", summary: "One favorite.",
      parameters: ["favoriteKind", "favoriteID", "ifNoneMatch"],
      answers: [.init(status: 200, description: "The item.", schema: "Favorite", headers: tagged), notModified],
      refusals: [(404, "NotFound"), (503, "Unavailable")]),
    Operation(
      method: .put, path: "/v1/favorites/{kind}/{id}", id: "putFavorite", tag: "favorites",
      summary: "Adds a favorite, or changes what the body names. Doing it twice is doing it once.",
      parameters: ["favoriteKind", "favoriteID", "ifMatch", "prefer"], body: "FavoriteChange", bodyIsRequired: false,
      answers: [
        .init(status: 201, description: "It is new.", schema: "Favorite", headers: tagged),
        .init(status: 200, description: "It was there.", schema: "Favorite", headers: tagged),
      ],
      refusals: [
        (400, "InvalidJSON"), (403, "InsufficientScope"), (404, "NotFound"), (412, "VersionConflict"),
        (413, "TooLarge"),
        (422, "Invalid"), (503, "Unavailable"),
      ]),
    Operation(
      method: .delete, path: "/v1/favorites/{kind}/{id}", id: "deleteFavorite", tag: "favorites",
      summary: "Removes a favorite; other devices are told, and note and tags come back if it is added again.",
      parameters: ["favoriteKind", "favoriteID", "ifMatch"],
      answers: [.init(status: 204, description: "It is not there (any more).")],
      refusals: [
        (403, "InsufficientScope"), (404, "NotFound"), (412, "VersionConflict"), (503, "Unavailable"),
      ]),
  ]

  static let gitHubOperations =
    [
      profile("/github/users/{login}", id: "getUser", "login"),
      profile("/github/user/{id}", id: "getUserByID", "userID"),
      Operation(
        method: .get, path: "/github/users", id: "getUsers", tag: "github",
        summary:
          "Up to \(StoredCards.maxCount) people in the order asked, each as far as known. What is missing is ordered; "
          + "with `Prefer: wait=N` the answer waits for it.",
        parameters: ["userIDs", "userLogins"] + mirrorParameters,
        answers: [
          .init(status: 200, description: "The people.", schema: "Cards", headers: tagged + ["Server-Timing"]),
          notModified,
        ],
        refusals: [(422, "Invalid"), (503, "Unavailable")]),
      refresh("/github/users/{login}/refresh", id: "refreshUser", "login"),
      refresh("/github/user/{id}/refresh", id: "refreshUserByID", "userID"),
      Operation(
        method: .get, path: "/github/rate_limit", id: "getRateLimit", tag: "github",
        summary: "What this server may still ask GitHub for somebody who waits, by GitHub's resources; asks nobody.",
        answers: [.init(status: 200, description: "The budgets.", schema: "RateLimits", headers: ["Cache-Control"])],
        refusals: [(503, "Unavailable")]),
      Operation(
        method: .get, path: "/github/avatars/{id}", id: "getAvatar", tag: "github",
        summary: "Somebody's picture, or initials when there is none.",
        parameters: ["userID", "avatarSize"] + mirrorParameters,
        answers: [
          .init(
            status: 200, description: "The picture: PNG, JPEG, GIF or WebP, and SVG for initials.", schema: "Picture",
            headers: ["ETag", "Cache-Control", "Cache-Status", "Magpie-Job", "Content-Location"], mediaType: "image/*"),
          notModified,
        ],
        refusals: [(404, "NotFound"), (422, "Invalid"), (503, "Unavailable"), (504, "NotStored")]),
      Operation(
        method: .get, path: "/github/search/users", id: "searchUsers", tag: "github",
        summary:
          "A page of GitHub's search. With `Prefer: wait=0`, who is stored and begins with the text, until GitHub "
          + "has answered.",
        parameters: ["searchText", "userSearchSort", "searchOrder", "page", "perPage"] + mirrorParameters,
        answers: [
          .init(
            status: 200, description: "The page; `incomplete_results` says that it may not be all.",
            schema: "UserSearch", headers: mirrored + ["Link"])
        ] + mirrorAnswers,
        refusals: [(422, "Invalid"), (503, "Unavailable"), (504, "NotStored")]),
    ]
    + [("followers", "Followers", "who follows somebody"), ("following", "Following", "whom somebody follows")].flatMap
  {
    (part, name, meaning) in
    [
      list("/github/users/{login}/\(part)", id: "list\(name)", "login", meaning),
      list("/github/user/{id}/\(part)", id: "list\(name)ByID", "userID", meaning),
    ]
  }

  static let mirrorParameters = ["prefer", "cacheControl", "ifNoneMatch"]
  static let mirrorAnswers = [
    notModified,
    Operation.Answer(
      status: 202, description: "Nothing is stored yet, and `Prefer: respond-async` would rather have the job.",
      schema: "Accepted", headers: ["Location", "Magpie-Job"]),
  ]
  static let mirrorRefusals: [(status: Int, response: String)] = [
    (301, "Moved"), (404, "NotFound"), (410, "Gone"), (422, "Invalid"), (451, "Gone"), (503, "Unavailable"),
    (504, "NotStored"),
  ]

  private static func profile(_ path: String, id: String, _ parameter: String) -> Operation {
    Operation(
      method: .get, path: path, id: id, tag: "github", summary: "A user or organization, as GitHub shows it.",
      parameters: [parameter] + mirrorParameters,
      answers: [.init(status: 200, description: "The profile.", schema: "Profile", headers: mirrored)] + mirrorAnswers,
      refusals: mirrorRefusals)
  }

  private static func refresh(_ path: String, id: String, _ parameter: String) -> Operation {
    Operation(
      method: .post, path: path, id: id, tag: "github",
      summary: "Orders fresh data of a person; with `dry_run=true` only says what that would cost.",
      parameters: [parameter, "dryRun", "idempotencyKey"], body: "RefreshOrder",
      answers: [
        .init(status: 202, description: "Ordered; each job can be watched.", schema: "RefreshJobs"),
        .init(status: 200, description: "What it would cost.", schema: "RefreshForecast"),
      ],
      refusals: [
        (400, "InvalidJSON"), (403, "InsufficientScope"), (404, "NotFound"), (410, "Gone"), (413, "TooLarge"),
        (422, "Invalid"), (451, "Gone"),
        (503, "Unavailable"),
      ])
  }

  private static func list(_ path: String, id: String, _ parameter: String, _ meaning: String) -> Operation {
    Operation(
      method: .get, path: path, id: id, tag: "github",
      summary: "A page of the list of \(meaning); with `q`, `sort` or `relation`, of all of it that is stored.",
      parameters: [parameter, "page", "perPage", "walk", "cursor", "listText", "listSort", "listRelation"]
        + mirrorParameters,
      answers: [
        .init(
          status: 200, description: "The page.", schema: "People",
          headers: mirrored + ["Link", "Magpie-Coverage", "Magpie-Other-Coverage", "Magpie-Matches"])
      ] + mirrorAnswers,
      refusals: [(400, "InvalidCursor")] + mirrorRefusals)
  }

  static let aboutOperations = [
    Operation(
      method: .get, path: "/v1/jobs/{id}", id: "getJob", tag: "jobs",
      summary: "How a refresh goes on, for the accounts that asked for it.", parameters: ["jobID", "ifNoneMatch"],
      answers: [.init(status: 200, description: "The job.", schema: "Job", headers: tagged), notModified],
      refusals: [(404, "NotFound"), (503, "Unavailable")]),
    Operation(
      method: .delete, path: "/v1/jobs/{id}", id: "withdrawFromJob", tag: "jobs",
      summary:
        "Gives a refresh up. It ends, at its next page, when no other account wants it; what it has stored stays.",
      parameters: ["jobID"], answers: [.init(status: 204, description: "The account has given it up.")],
      refusals: [(403, "InsufficientScope"), (404, "NotFound"), (503, "Unavailable")]),
    Operation(
      method: .get, path: "/v1/config", id: "getConfig", tag: "about", summary: "Limits and kinds.",
      answers: [.init(status: 200, description: "The limits.", schema: "Config", headers: tagged), notModified],
      isPublic: true),
    Operation(
      method: .get, path: "/v1/version", id: "getVersion", tag: "about", summary: "The server's name and version.",
      answers: [.init(status: 200, description: "The version.", schema: "Version", headers: tagged), notModified],
      isPublic: true),
    Operation(
      method: .get, path: "/images/{sha256}", id: "getImage", tag: "about",
      summary: "A stored picture by the SHA-256 of its bytes; it never changes.",
      parameters: ["imageName", "ifNoneMatch"],
      answers: [
        .init(status: 200, description: "The picture.", schema: "Picture", headers: tagged, mediaType: "image/*"),
        notModified,
      ],
      refusals: [(404, "NotFound"), (503, "Unavailable")], isPublic: true),
    Operation(
      method: .get, path: "/problems/{area}/{name}", id: "getProblem", tag: "about",
      summary: "A few words for people about a problem's `type`.", parameters: ["problemArea", "problemName"],
      answers: [.init(status: 200, description: "The words.", schema: "Text", mediaType: "text/plain")],
      refusals: [(404, "NotFound")], isPublic: true),
    Operation(
      method: .get, path: "/openapi.json", id: "getOpenAPI", tag: "about", summary: "This document.",
      answers: [.init(status: 200, description: "The document.", schema: "Document", headers: tagged), notModified],
      isPublic: true),
  ]
}
