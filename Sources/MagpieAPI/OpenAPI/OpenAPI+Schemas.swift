import Magpie

extension OpenAPI {
  private static let device = """
    "device":{"type":"string","minLength":1,"maxLength":\(Accounts.Device.maxLength)},
    "app":{"type":"string","minLength":1,"maxLength":\(Accounts.Device.maxLength)},
    "cookie":{"type":"boolean","default":false,"description":"For browsers: the token goes into a cookie that scripts cannot read, and the session ends after 30 days, or 7 without use."}
    """
  private static let newPassword = """
    {"type":"string","description":"Counted in bytes of UTF-8. Common ones are refused.",
    "minLength":\(PasswordPolicy.length.lowerBound),"maxLength":\(PasswordPolicy.length.upperBound)}
    """
  private static let kind =
    "{\"type\":\"string\",\"enum\":[" + Favorite.Kind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
    + "]}"

  static let schemas: KeyValuePairs<String, String> = [
    "Problem": """
    {"type":"object","required":["type","title","status","code","request_id"],"properties":{
    "type":{"type":"string","description":"`/problems/` and the code."},"title":{"type":"string"},
    "status":{"type":"integer"},"detail":{"type":"string"},"code":{"type":"string","description":"Stable."},
    "request_id":{"type":"string"},"retry_after":{"type":"integer","description":"Seconds."},
    "errors":{"type":"array","items":{"type":"object","required":["pointer","detail"],"properties":{
    "pointer":{"type":"string","description":"RFC 6901; for parameters a slash and the name."},"detail":{"type":"string"}}}},
    "upstream":{"type":"object","properties":{"status":{"type":"integer"},"limit":{"type":"integer"},
    "remaining":{"type":"integer"},"reset":{"type":"integer","description":"Seconds since 1970."}}},
    "message":{"type":"string","description":"Under /github: GitHub's own words for the same case."},
    "documentation_url":{"type":"string"},"server":{"description":"With 412: the server's copy, or null."}}}
    """,
    "SignUp": """
    {"type":"object","required":["username","password"],"additionalProperties":false,"properties":{
    "username":{"type":"string","pattern":"^[A-Za-z0-9_-]{3,39}$"},"password":\(newPassword),
    "display_name":{"type":"string","minLength":1,"maxLength":100},\(device)}}
    """,
    "Redemption": """
    {"type":"object","required":["code","password"],"additionalProperties":false,"properties":{
    "code":{"type":"string"},"password":\(newPassword),\(device)}}
    """,
    "Credentials": """
    {"type":"object","required":["username","password"],"additionalProperties":false,"properties":{
    "username":{"type":"string"},"password":{"type":"string"},\(device)}}
    """,
    "SignIn": """
    {"type":"object","required":["account","session"],"properties":{
    "account":{"type":"object","required":["username","display_name","created_at","version"],"properties":{
    "username":{"type":"string"},"display_name":{"type":["string","null"]},
    "created_at":{"type":"string","format":"date-time"},"version":{"type":"integer","format":"int64"}}},
    "token":{"type":"string","pattern":"^mgp_[0-9A-Za-z]+$","description":"Left out with `cookie`."},
    "session":{"type":"object","required":["id","created_at"],"properties":{
    "id":{"type":"string","format":"uuid"},"created_at":{"type":"string","format":"date-time"}}}}}
    """,
    "FavoriteChange": """
    {"type":"object","additionalProperties":false,"properties":{
    "note":{"type":"string","description":"At most \(FavoriteBody.maxNote) bytes."},
    "tags":{"type":"array","maxItems":\(FavoriteBody.maxTags),"items":{"type":"string","minLength":1,
    "maxLength":\(FavoriteBody.maxTag)}},
    "collections":{"type":"array","maxItems":\(FavoriteBody.maxCollections),"items":{"type":"string","format":"uuid"},
    "description":"Of the account's own."},
    "rank":{"type":"string","maxLength":\(FavoriteBody.maxRank),"pattern":"^[!-~]*$",
    "description":"Place in the manual order, compared byte by byte."},
    "added_at":{"type":"string","format":"date-time","description":"An earlier one that is stored stays."},
    "snapshot":{"type":"object","description":"What the app knows of it, at most \(FavoriteBody.maxSnapshot) bytes and \
    \(FavoriteBody.maxSnapshotDepth) levels; other members are kept.",
    "properties":{"title":{"type":"string","maxLength":\(FavoriteBody.maxText)},
    "subtitle":{"type":"string","maxLength":\(FavoriteBody.maxText)},
    "url":{"type":"string","maxLength":\(FavoriteBody.maxAddress)},
    "image":{"type":"string","maxLength":\(FavoriteBody.maxAddress)}}}}}
    """,
    "Favorite": """
    {"type":"object","required":["kind","id","title","subtitle","url","image","state","note","tags","collections","rank",
    "added_at","updated_at","version","snapshot"],"properties":{
    "kind":\(kind),"id":{"type":"string"},"title":{"type":"string"},"subtitle":{"type":"string"},"url":{"type":"string"},
    "image":{"type":"string"},"state":{"type":"string","enum":["ok","pending","renamed","gone","restricted"],
    "description":"`pending`: its id is not known yet. `renamed`: it has another name than in the snapshot. `gone` and `restricted`: the source no longer shows it."},
    "note":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
    "collections":{"type":"array","items":{"type":"string"}},"rank":{"type":"string"},
    "added_at":{"type":"string","format":"date-time"},"updated_at":{"type":"string","format":"date-time"},
    "version":{"type":"integer","format":"int64","description":"The account's version at the last change."},
    "snapshot":{"type":["object","null"]}}}
    """,
    "FavoritePage": """
    {"type":"object","required":["items","next"],"properties":{
    "items":{"type":"array","items":{"$ref":"#/components/schemas/Favorite"}},
    "next":{"type":["string","null"],"description":"The cursor of the next page."},
    "facets":{"$ref":"#/components/schemas/FavoriteFacets"}}}
    """,
    "Person": """
    {"type":"object","description":"As GitHub has it, with one member more.","required":["id","login","magpie"],"properties":{
    "id":{"type":"integer","format":"int64"},"login":{"type":"string"},"type":{"type":"string"},"url":{"type":"string"},
    "html_url":{"type":"string"},"avatar_url":{"type":"string"},
    "magpie":{"type":"object","required":["favorite","tags"],"properties":{"favorite":{"type":"boolean"},
    "tags":{"type":"array","items":{"type":"string"}},"first_seen_at":{"type":"string","format":"date-time"}}}}}
    """,
    "Profile": """
    {"allOf":[{"$ref":"#/components/schemas/Person"}],"type":"object","properties":{"name":{"type":["string","null"]},
    "company":{"type":["string","null"]},"blog":{"type":["string","null"]},"location":{"type":["string","null"]},
    "bio":{"type":["string","null"]},"public_repos":{"type":"integer"},"public_gists":{"type":"integer"},
    "followers":{"type":"integer"},"following":{"type":"integer"},"created_at":{"type":"string","format":"date-time"},
    "updated_at":{"type":"string","format":"date-time"}}}
    """,
    "People": """
    {"type":"array","maxItems":\(PageRequest.maxPageSize),"items":{"$ref":"#/components/schemas/Person"}}
    """,
    "RefreshOrder": """
    {"type":"object","required":["what"],"additionalProperties":false,"properties":{"what":{"type":"array","minItems":1,
    "items":{"type":"string","enum":[\(RefreshPlan.Part.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]}}}}
    """,
    "RefreshJobs": """
    {"type":"object","required":["jobs"],"properties":{"jobs":{"type":"array","items":{"type":"object",
    "required":["what","job","url"],"properties":{"what":{"type":"string"},"job":{"type":"integer","format":"int64"},
    "url":{"type":"string"}}}}}}
    """,
    "RefreshForecast": """
    {"type":"object","required":["what","requests","budget","seconds"],"properties":{
    "what":{"type":"array","items":{"type":"object","required":["what","requests"],"properties":{"what":{"type":"string"},
    "requests":{"type":["integer","null"],"description":"At most; unchanged pages cost nothing. Null: nobody knows how long it is."}}}},
    "requests":{"type":["integer","null"]},
    "budget":{"type":"object","required":["resource","class","limit","remaining","after","reset"],"properties":{
    "resource":{"type":"string"},"class":{"type":"string"},"limit":{"type":"integer"},"remaining":{"type":"integer"},
    "after":{"type":["integer","null"]},"reset":{"type":"integer"}}},
    "seconds":{"type":["integer","null"],"description":"Until all is done, waits for GitHub's next window included."}}}
    """,
    "Cards": """
    {"type":"object","required":["items"],"properties":{"items":{"type":"array","maxItems":\(StoredCards.maxCount),
    "items":{"type":"object","required":["status"],"properties":{"id":{"type":"integer","format":"int64"},
    "login":{"type":"string"},"status":{"type":"string","enum":["ok","stale","partial","pending","moved","gone","not_found"],
    "description":"`partial`: only a list has shown them so far. `pending`: nothing is stored yet. `gone`: what was last known."},
    "user":{"$ref":"#/components/schemas/Person"},"moved_to":{"type":"string"},
    "job":{"type":"string","description":"The job that fetches the profile."}}}}}}
    """,
    "UserSearch": """
    {"type":"object","required":["total_count","incomplete_results","items"],"properties":{
    "total_count":{"type":"integer"},"incomplete_results":{"type":"boolean"},
    "items":{"type":"array","maxItems":\(PageRequest.maxPageSize),"items":{"$ref":"#/components/schemas/Person"}}}}
    """,
    "RateLimit": """
    {"type":"object","required":["limit","used","remaining","reset"],"properties":{"limit":{"type":"integer"},
    "used":{"type":"integer"},"remaining":{"type":"integer"},
    "reset":{"type":"integer","description":"Seconds since 1970 at which more can be asked."}}}
    """,
    "RateLimits": """
    {"type":"object","required":["resources","rate"],"properties":{"resources":{"type":"object",
    "required":["core","search"],"additionalProperties":{"$ref":"#/components/schemas/RateLimit"}},
    "rate":{"$ref":"#/components/schemas/RateLimit"}}}
    """,
    "FollowerChanges": """
    {"type":"object","required":["baseline_at","checking","items","next"],"properties":{
    "baseline_at":{"type":["string","null"],"format":"date-time","description":"When the list was first seen whole."},
    "checking":{"type":"integer","description":"Members who are missing and not told of yet, since each is looked at singly first."},
    "items":{"type":"array","maxItems":\(ChangesEndpoint.maxPageSize),"items":{"type":"object",
    "required":["id","event","reason","observed_between","recorded_at","login","user"],"properties":{
    "id":{"type":"integer","format":"int64"},"event":{"type":"string","enum":["followed","unfollowed"]},
    "reason":{"type":["string","null"],"enum":["unfollowed","renamed","deleted_or_suspended","restricted","returned",null],
    "description":"Why one has left: `renamed` follows under neither name, `restricted` has a private profile now. `returned` came back after no doing of their own."},
    "observed_between":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"string","format":"date-time"},
    "description":"The look before and the look after; when it was between them nobody knows."},
    "recorded_at":{"type":"string","format":"date-time"},
    "login":{"type":"string","description":"When last seen in the list."},
    "user":{"oneOf":[{"$ref":"#/components/schemas/Person"},{"type":"null"}]}}}},
    "next":{"type":["string","null"],"description":"The cursor of the next page."}}}
    """,
    "Relations": """
    {"type":"object","required":["set","count","followers","following","items","next"],"properties":{
    "set":{"type":"string"},"count":{"type":["integer","null"],"description":"Null when `q` makes it too long to count."},
    "followers":{"$ref":"#/components/schemas/Coverage"},"following":{"$ref":"#/components/schemas/Coverage"},
    "items":{"$ref":"#/components/schemas/People"},
    "next":{"type":["string","null"],"description":"The cursor of the next page."}}}
    """,
    "Coverage": """
    {"type":"object","required":["stored","expected"],"properties":{"stored":{"type":"integer"},
    "expected":{"type":"integer"}}}
    """,
    "FollowerHistory": """
    {"type":"object","required":["from","to","days"],"properties":{"from":{"type":"string","format":"date"},
    "to":{"type":"string","format":"date"},"days":{"type":"array","maxItems":\(FollowerHistory.maxDays),"items":{
    "type":"object","required":["date","count","gained","lost"],"properties":{"date":{"type":"string","format":"date"},
    "count":{"type":"integer","description":"At the last look of the day; days without one are left out."},
    "gained":{"type":"integer"},"lost":{"type":"integer"}}}}}}
    """,
    "Accepted": """
    {"type":"object","required":["job","url"],"properties":{"job":{"type":"integer","format":"int64"},
    "url":{"type":"string"}}}
    """,
    "Job": """
    {"type":"object","required":["id","kind","state","pages_done","pages_expected","attempt","created_at","started_at",
    "finished_at","eta_seconds","error"],"properties":{"id":{"type":"integer","format":"int64"},"kind":{"type":"string"},
    "state":{"type":"string","enum":[\(Job.State.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]},
    "pages_done":{"type":"integer"},"pages_expected":{"type":["integer","null"]},"attempt":{"type":"integer"},
    "created_at":{"type":"string","format":"date-time"},"started_at":{"type":["string","null"],"format":"date-time"},
    "finished_at":{"type":["string","null"],"format":"date-time"},
    "eta_seconds":{"type":["integer","null"],"description":"Until its end, as far as the pace so far tells."},
    "budget":{"type":"object","description":"What it may still ask of the upstream; while it is not finished.",
    "required":["resource","limit","remaining","reset"],"properties":{"resource":{"type":"string"},
    "limit":{"type":"integer"},"remaining":{"type":"integer"},
    "reset":{"type":"integer","description":"Seconds since 1970 at which more can be asked."}}},
    "error":{"type":["string","null"],"description":"What stopped it the last time: a problem's code."}}}
    """,
    "Config": """
    {"type":"object","required":["kinds","signup","limits"],"properties":{
    "kinds":{"type":"array","items":{"type":"string"}},"signup":{"type":"boolean"},
    "limits":{"type":"object","additionalProperties":{"type":"integer"}}}}
    """,
    "Version": """
    {"type":"object","required":["name","version"],"properties":{"name":{"const":"magpie"},"version":{"type":"string"}}}
    """,
    "Picture": #"{"type":"string","contentEncoding":"binary"}"#,
    "Text": #"{"type":"string"}"#,
    "Document": #"{"type":"object"}"#,
  ]
}
