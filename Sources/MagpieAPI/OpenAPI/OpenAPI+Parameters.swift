import Magpie

extension OpenAPI {
  private static let kinds = Favorite.Kind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
  private static let favoriteSorts = Favorite.Sort.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
  private static let relations = ListFilter.Relation.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
  private static let sets = RelationsEndpoint.Set.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
  private static let listSorts = ListFilter.Sort.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")

  private static let avatarSizes = AvatarRequest.Size.allCases.map { String($0.rawValue) }.joined(separator: ",")
  private static let userSearchSorts = SearchQuery.Kind.users.sorts.map { "\"\($0)\"" }.joined(separator: ",")

  static let parameters: KeyValuePairs<String, String> = [
    "login": path(
      "login", #"{"type":"string","pattern":"^[A-Za-z0-9_-]{1,60}(\\[bot\\])?$"}"#,
      "A GitHub login; capitals make no difference. An old one leads to the present one when that is known."),
    "userID": path("id", #"{"type":"integer","format":"int64","minimum":1}"#, "GitHub's numeric id."),
    "jobID": path("id", #"{"type":"integer","format":"int64","minimum":1}"#, "As `Magpie-Job` names it."),
    "favoriteKind": path("kind", "{\"type\":\"string\",\"enum\":[\(kinds)]}", "What kind of thing it is."),
    "favoriteID": path(
      "id", #"{"type":"string","minLength":1,"maxLength":200}"#,
      "The upstream's id. For `github-user` it may be `@login`, for `github-repo` `@owner/repo` (URL-encoded): what cannot be looked up now is kept by that name, with the state `pending`, until its id is known."
    ),
    "problemArea": path("area", #"{"type":"string","pattern":"^[a-z0-9-]+$"}"#, "The code's part before the slash."),
    "problemName": path("name", #"{"type":"string","pattern":"^[a-z0-9-]+$"}"#, "The code's part after the slash."),

    "kind": query("kind", "{\"type\":\"string\",\"enum\":[\(kinds)]}", "Only this kind."),
    "favoriteText": query(
      "q", #"{"type":"string","maxLength":200}"#,
      "Only what contains this in title, subtitle, URL, note or tags, whatever case and accents."),
    "tag": query("tag", #"{"type":"string","maxLength":400}"#, "Only what has this tag."),
    "favoriteSort": query(
      "sort", "{\"type\":\"string\",\"enum\":[\(favoriteSorts)],\"default\":\"\(Favorite.Sort.newestFirst.rawValue)\"}",
      "The order; a minus turns it round."),
    "limit": query(
      "limit",
      "{\"type\":\"integer\",\"minimum\":1,\"maximum\":\(FavoriteEndpoints.maxPageSize),\"default\":50}",
      "Items a page; more than the maximum counts as the maximum."),
    "cursor": query(
      "cursor", "{\"type\":\"string\",\"maxLength\":\(CursorCodec.maxLength)}",
      "Where to go on, as the page before said. Empty where `page` is the usual way: begin, and give cursors."),
    "page": query("page", #"{"type":"integer","minimum":1,"default":1}"#, "The page's number."),
    "perPage": query(
      "per_page",
      "{\"type\":\"integer\",\"minimum\":1,\"maximum\":\(PageRequest.maxPageSize),\"default\":30}",
      "Members a page; more than the maximum counts as the maximum."),
    "walk": query(
      "walk", #"{"type":"integer","format":"int64","minimum":1}"#,
      "Stands in `Link`, so that a reader who follows it sees one list although it is refreshed meanwhile."),
    "listText": query(
      "q", #"{"type":"string","maxLength":200}"#,
      "Only members whose login or name contains this, whatever the case and accents."),
    "listSort": query("sort", "{\"type\":\"string\",\"enum\":[\(listSorts)]}", "Another order than GitHub's."),
    "listRelation": query(
      "relation", "{\"type\":\"string\",\"enum\":[\(relations)]}",
      "Only members who are in the owner's other list, too (`mutual`), or are not (`not_back`). Both lists must be whole."
    ),
    "relationSet": query(
      "set", "{\"type\":\"string\",\"enum\":[\(sets)]}",
      "`mutual`: both follow. `not_following_back`: followed without following. `not_followed_back`: the other way round."
    ),
    "changesSince": query(
      "since", #"{"type":"string","maxLength":200}"#,
      "Only what came after: the `id` of an event, or a time as in `recorded_at`."),
    "from": query(
      "from", #"{"type":"string","format":"date"}"#, "The first day, in UTC; without it, a year before the last."),
    "to": query("to", #"{"type":"string","format":"date"}"#, "The last day; without it, today."),

    "userIDs": query(
      "ids", #"{"type":"string","pattern":"^[0-9]+(,[0-9]+)*$"}"#,
      "GitHub's numeric ids, \(StoredCards.maxCount) at most. Not together with `logins`."),
    "userLogins": query(
      "logins", #"{"type":"string"}"#, "Logins with commas between, \(StoredCards.maxCount) at most."),
    "avatarSize": query(
      "s", "{\"type\":\"integer\",\"enum\":[\(avatarSizes)],\"default\":80}", "The length of a side in pixels."),
    "imageName": path("sha256", #"{"type":"string","pattern":"^[0-9a-f]{64}$"}"#, "Of the bytes, in hexadecimal."),
    "dryRun": query("dry_run", #"{"type":"boolean","default":false}"#, "Order nothing, and say what it would cost."),
    "searchText": query(
      "q", "{\"type\":\"string\",\"minLength\":1,\"maxLength\":\(SearchProblem.maxBytes)}",
      "Words and GitHub's qualifiers; the words together have at most \(SearchQuery.maxLength) characters."),
    "userSearchSort": query(
      "sort", "{\"type\":\"string\",\"enum\":[\(userSearchSorts)]}", "Another order than the best match first."),
    "searchOrder": query(
      "order", #"{"type":"string","enum":["desc","asc"],"default":"desc"}"#, "Its direction; nothing without `sort`."),

    "ifNoneMatch": header("If-None-Match", "Tags the client has; the answer is 304 if one of them is current."),
    "ifMatch": header(
      "If-Match", "The item's tag as the client has seen it: 412 if it has changed since; `*`: 412 unless it is there."),
    "prefer": header(
      "Prefer",
      "`wait=N`, 0 to \(Wish.maxWait): seconds to wait for data that is not there (default \(Wish.defaultWait)) or not "
        + "fresh (default 0). `respond-async`: rather 202 with a job than a wait."),
    "cacheControl": header(
      "Cache-Control", "`no-cache`: refresh now. `max-age=N`: no older than this. `only-if-cached`: never ask GitHub."),
  ]

  private static func path(_ name: String, _ schema: String, _ description: String) -> String {
    "{\"name\":\"\(name)\",\"in\":\"path\",\"required\":true,\"description\":\"\(description)\",\"schema\":\(schema)}"
  }

  private static func query(_ name: String, _ schema: String, _ description: String) -> String {
    "{\"name\":\"\(name)\",\"in\":\"query\",\"description\":\"\(description)\",\"schema\":\(schema)}"
  }

  private static func header(_ name: String, _ description: String) -> String {
    "{\"name\":\"\(name)\",\"in\":\"header\",\"description\":\"\(description)\",\"schema\":{\"type\":\"string\"}}"
  }

  static let headers: KeyValuePairs<String, String> = [
    "ETag": field("The validator of this representation, strong."),
    "Cache-Control": field("`private, no-cache`: keep it, and ask before each use."),
    "Cache-Status": field("RFC 9211: `magpie; hit`, or `magpie; fwd=miss|stale|request` with a `detail`."),
    "Age": field("Seconds since GitHub last confirmed the data.", "integer"),
    "Magpie-Fetched-At": field("When the content last changed, RFC 3339."),
    "Magpie-Validated-At": field("When GitHub last confirmed it, RFC 3339."),
    "Magpie-Coverage": field("Members stored and members expected, such as `300/1240`."),
    "Magpie-Other-Coverage": field("With `relation`: the same of the owner's other list."),
    "Magpie-Matches": field(
      "How many members of the stored list the filter lets through; left out when the list is too long to count them.",
      "integer"),
    "Magpie-Job": field("Path of the job that is fetching a fresher state."),
    "Server-Timing": field("Milliseconds spent in the database, and waiting for the job."),
    "Link": field("RFC 8288: `first`, `prev`, `next` and `last`, as far as they exist."),
    "Content-Location": field("Where the same picture is for ever."),
    "Set-Cookie": field("With `cookie`: the token, for 30 days."),
    "Location": field("Where to look instead, or next."),
    "Retry-After": field("Seconds after which another try makes sense.", "integer"),
    "WWW-Authenticate": field("RFC 6750: what is wrong with the token."),
  ]

  private static func field(_ description: String, _ type: String = "string") -> String {
    "{\"description\":\"\(description)\",\"schema\":{\"type\":\"\(type)\"}}"
  }
}
