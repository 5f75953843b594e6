import Magpie

extension OpenAPI {
  private static let conditions = ["prefer", "cacheControl", "ifNoneMatch"]
  private static let answers = [
    Operation.Answer(status: 304, description: "`If-None-Match` names what there is."),
    Operation.Answer(
      status: 202, description: "Nothing is stored yet, and `Prefer: respond-async` would rather have the job.",
      schema: "Accepted", headers: ["Location", "Magpie-Job"]),
  ]
  private static let shownHeaders: [String] = [
    "ETag", "Cache-Status", "Age", "Magpie-Fetched-At", "Magpie-Validated-At", "Magpie-Job", "Server-Timing",
  ]
  private static let listRefusals: [(status: Int, response: String)] = [
    (301, "Moved"), (400, "InvalidCursor"), (404, "NotFound"), (410, "Gone"), (422, "Invalid"), (451, "Gone"),
    (503, "Unavailable"), (504, "NotStored"),
  ]
  private static let repositoryRefusals: [(status: Int, response: String)] = [
    (301, "Moved"), (403, "Blocked"), (404, "NotFound"), (410, "Gone"), (422, "Invalid"), (451, "Blocked"),
    (503, "Unavailable"), (504, "NotStored"),
  ]

  /// Repositories, and lists of repositories, gists and organizations.
  static let repositoryOperations: [Operation] =
    lists("/github/users/{login}", "login", "") + lists("/github/user/{id}", "userID", "ByID")
    + records("/github/repos/{owner}/{repo}", ["owner", "repository"], "")
    + records("/github/repositories/{id}", ["repositoryID"], "ByID")
    + [search]

  private static let search = Operation(
    method: .get, path: "/github/search/repositories", id: "searchRepositories", tag: "github",
    summary: "A page of GitHub's search for repositories.",
    parameters: ["searchText", "repositorySearchSort", "searchOrder", "page", "perPage"] + conditions,
    answers: [
      .init(
        status: 200, description: "The page; `incomplete_results` says that it may not be all.",
        schema: "RepositorySearch", headers: shownHeaders + ["Link"])
    ] + answers,
    refusals: [(422, "Invalid"), (503, "Unavailable"), (504, "NotStored")])

  private static func lists(_ base: String, _ parameter: String, _ suffix: String) -> [Operation] {
    let paging = [parameter, "page", "perPage", "walk", "cursor"]
    let choosing = ["repositoryType", "repositorySort", "direction", "repositoryText", "language"]
    return [
      list(
        "\(base)/repos", "listRepositories\(suffix)", "Repositories",
        "A page of somebody's repositories, in any order of all that is stored, or of those that match.",
        paging + choosing, filters: true),
      list(
        "\(base)/gists", "listGists\(suffix)", "Gists",
        "A page of somebody's public gists, or of those changed of late.",
        paging + ["gistsSince"], filters: true),
      list(
        "\(base)/orgs", "listOrganizations\(suffix)", "Organizations",
        "A page of the organizations in which somebody is seen to be.", paging, filters: false),
    ]
  }

  private static func records(_ base: String, _ parameters: [String], _ suffix: String) -> [Operation] {
    let commits = [
      "commitSHA", "commitPath", "commitAuthor", "commitCommitter", "commitsSince", "commitsUntil", "page", "perPage",
    ]
    return [
      record(
        base, "getRepository\(suffix)", "RepositoryRecord",
        "A repository's record; with `include`, its languages and latest commits in the same answer.",
        parameters + ["include"]),
      record(
        "\(base)/languages", "getLanguages\(suffix)", "Languages", "Bytes of each language of a repository.", parameters
      ),
      record(
        "\(base)/commits", "listCommits\(suffix)", "Commits", "A page of a repository's commits, the newest first.",
        parameters + commits, moreHeaders: ["Link"], moreRefusals: [(409, "EmptyRepository")]),
    ]
  }

  private static func record(
    _ path: String, _ id: String, _ schema: String, _ summary: String, _ parameters: [String],
    moreHeaders: [String] = [], moreRefusals: [(status: Int, response: String)] = []
  ) -> Operation {
    let answer = Operation.Answer(
      status: 200, description: "What is stored of it.", schema: schema, headers: shownHeaders + moreHeaders)
    return Operation(
      method: .get, path: path, id: id, tag: "github", summary: summary, parameters: parameters + conditions,
      answers: [answer] + answers, refusals: repositoryRefusals + moreRefusals)
  }

  private static func list(
    _ path: String, _ id: String, _ schema: String, _ summary: String, _ parameters: [String], filters: Bool
  ) -> Operation {
    let answer = Operation.Answer(
      status: 200, description: "The page.", schema: schema,
      headers: shownHeaders + ["Link", "Magpie-Coverage"] + (filters ? ["Magpie-Matches"] : []))
    return Operation(
      method: .get, path: path, id: id, tag: "github", summary: summary, parameters: parameters + conditions,
      answers: [answer] + answers, refusals: listRefusals)
  }

  // MARK: Components

  private static func path(_ name: String, _ schema: String, _ description: String) -> String {
    "{\"name\":\"\(name)\",\"in\":\"path\",\"required\":true,\"description\":\"\(description)\",\"schema\":\(schema)}"
  }

  private static func query(_ name: String, _ schema: String, _ description: String) -> String {
    "{\"name\":\"\(name)\",\"in\":\"query\",\"description\":\"\(description)\",\"schema\":\(schema)}"
  }

  private static func choice<Choice: CaseIterable & RawRepresentable>(
    _ type: Choice.Type, default standard: String? = nil
  ) -> String where Choice.RawValue == String {
    let values = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
    return "{\"type\":\"string\",\"enum\":[\(values)]" + (standard.map { ",\"default\":\"\($0)\"" } ?? "") + "}"
  }

  static let repositoryParameters: KeyValuePairs<String, String> = [
    "owner": path(
      "owner", #"{"type":"string","pattern":"^[A-Za-z0-9_-]{1,60}(\\[bot\\])?$"}"#,
      "Whose it is; capitals make no difference."),
    "repository": path(
      "repo", #"{"type":"string","pattern":"^[A-Za-z0-9_.-]{1,100}$"}"#,
      "Its name; capitals make no difference. An old one leads to `/repositories/{id}`."),
    "repositoryID": path("id", #"{"type":"integer","format":"int64","minimum":1}"#, "GitHub's numeric id."),
    "repositoryType": query(
      "type", choice(ItemListEndpoint.RepositoryType.self, default: "owner"),
      "Their own, those of others in which they take part, or both."),
    "repositorySort": query(
      "sort", choice(RepositoryOrder.Sort.self, default: "full_name"), "`stars` and `name` are not GitHub's own."),
    "repositorySearchSort": query(
      "sort",
      "{\"type\":\"string\",\"enum\":["
        + SearchQuery.Kind.repositories.sorts.map { "\"\($0)\"" }.joined(separator: ",") + "]}",
      "Another order than the best match first."),
    "direction": query(
      "direction", choice(RepositoryOrder.Direction.self), "`asc` for names and `desc` for all else unless said."),
    "repositoryText": query(
      "q", #"{"type":"string","maxLength":200}"#,
      "Only repositories whose name or description contains this, whatever the case and accents."),
    "language": query("language", #"{"type":"string","maxLength":200}"#, "Only those of this main language."),
    "include": query(
      "include", #"{"type":"string"}"#,
      "`languages`, `commits` or both with a comma: adds them, and `state` (`ok`, `empty`, `blocked`, `gone`)."),
    "commitSHA": query("sha", #"{"type":"string"}"#, "A branch, tag or commit to begin at."),
    "commitPath": query("path", #"{"type":"string"}"#, "Only commits that touch this."),
    "commitAuthor": query("author", #"{"type":"string"}"#, "Only commits by this login or e-mail address."),
    "commitCommitter": query(
      "committer", #"{"type":"string"}"#, "Only commits committed by this login or e-mail address."),
    "gistsSince": query(
      "since", #"{"type":"string","format":"date-time"}"#, "Only gists that were changed at this time or later."),
    "commitsSince": query("since", #"{"type":"string","format":"date-time"}"#, "Only commits after this."),
    "commitsUntil": query("until", #"{"type":"string","format":"date-time"}"#, "Only commits before this."),
  ]

  static let repositoryResponses: KeyValuePairs<String, String> = [
    "Blocked": problem(
      "`github/repository-blocked`, `github/unavailable-for-legal-reasons`: GitHub shows it to nobody; `reason` is its word for why."
    ),
    "EmptyRepository": problem("`github/repository-empty`: there is no commit, in GitHub's own words."),
  ]

  private static let favorite = """
    "magpie":{"type":"object","required":["favorite","tags"],"properties":{"favorite":{"type":"boolean"},
    "tags":{"type":"array","items":{"type":"string"}},"first_seen_at":{"type":"string","format":"date-time"}}}
    """

  static let repositorySchemas: KeyValuePairs<String, String> = [
    "Repository": """
    {"type":"object","description":"As GitHub has it, with one member more.","required":["id","name","full_name","magpie"],
    "properties":{"id":{"type":"integer","format":"int64"},"name":{"type":"string"},"full_name":{"type":"string"},
    "description":{"type":["string","null"]},"language":{"type":["string","null"]},"fork":{"type":"boolean"},
    "stargazers_count":{"type":"integer"},"updated_at":{"type":["string","null"]},"pushed_at":{"type":["string","null"]},
    "html_url":{"type":"string"},\(favorite)}}
    """,
    "Repositories": """
    {"type":"array","maxItems":\(PageRequest.maxPageSize),"items":{"$ref":"#/components/schemas/Repository"}}
    """,
    "RepositorySearch": """
    {"type":"object","required":["total_count","incomplete_results","items"],"properties":{
    "total_count":{"type":"integer"},"incomplete_results":{"type":"boolean"},
    "items":{"type":"array","maxItems":\(PageRequest.maxPageSize),"items":{"$ref":"#/components/schemas/Repository"}}}}
    """,
    "RepositoryRecord": """
    {"allOf":[{"$ref":"#/components/schemas/Repository"}],"type":"object","properties":{
    "state":{"type":"string","enum":["ok","empty","blocked","gone"],"description":"With `include`."},
    "languages":{"type":"array","description":"With `include`; the largest first.","items":{"type":"object",
    "required":["name","bytes","percent"],"properties":{"name":{"type":"string"},
    "bytes":{"type":"integer","format":"int64"},"percent":{"type":"number"}}}},
    "commits":{"type":"array","maxItems":5,"description":"With `include`; the newest first.","items":{"type":"object",
    "required":["sha","author_name","subject","message","date","author"],"properties":{"sha":{"type":"string"},
    "author_name":{"type":["string","null"]},"subject":{"type":"string"},"message":{"type":"string"},
    "date":{"type":["string","null"],"description":"As Git has it, which may be any year."},
    "author":{"type":["object","null"]}}}}}}
    """,
    "Languages": #"{"type":"object","additionalProperties":{"type":"integer","format":"int64"}}"#,
    "Commits": """
    {"type":"array","maxItems":\(PageRequest.maxPageSize),"items":{"type":"object","description":"As GitHub has it.",
    "required":["sha"],"properties":{"sha":{"type":"string"},"commit":{"type":"object"},"author":{"type":["object","null"]}}}}
    """,
    "Gists": """
    {"type":"array","maxItems":\(PageRequest.maxPageSize),"items":{"type":"object","required":["id","magpie"],"properties":{
    "id":{"type":"string","description":"Hexadecimal digits."},"description":{"type":["string","null"]},
    "files":{"type":"object"},"owner":{"type":"object","description":"Missing when nobody knows whose it is."},\(favorite)}}}
    """,
    "Organizations": """
    {"type":"array","maxItems":\(PageRequest.maxPageSize),"items":{"type":"object","required":["id","login","magpie"],
    "properties":{"id":{"type":"integer","format":"int64"},"login":{"type":"string"},"avatar_url":{"type":"string"},
    "description":{"type":["string","null"]},\(favorite)}}}
    """,
  ]
}
