import Magpie

/// Photos, placeholder pictures and GIFs.
extension OpenAPI {
  private static let conditions = ["prefer", "cacheControl", "ifNoneMatch"]
  private static let unchanged = Operation.Answer(status: 304, description: "`If-None-Match` names what there is.")
  private static let shownHeaders = [
    "ETag", "Cache-Status", "Age", "Magpie-Fetched-At", "Magpie-Validated-At", "Magpie-Job", "Server-Timing",
  ]
  private static let missing: [(status: Int, response: String)] = [(503, "Unavailable"), (504, "NotStored")]

  /// All of them.
  static let mediaOperations =
    photoOperations + gifOperations(.gifs, "Gif", "GIFs")
    + gifOperations(.stickers, "Sticker", "stickers") + [placeholder]

  // MARK: Photos

  private static let photoOperations = ["", "/"].flatMap { slash in
    [
      photos(
        "photos\(slash)", "listPhotos", [], "Photos", "All photos, or those that json-server's parameters choose.",
        slash),
      photo("photos/{id}\(slash)", "getPhoto", "Photo", "A photo.", slash),
      photos(
        "albums\(slash)", "listAlbums", [], "Albums", "All albums, or those that json-server's parameters choose.",
        slash),
      photo("albums/{id}\(slash)", "getAlbum", "Album", "An album.", slash),
      photos(
        "albums/{id}/photos\(slash)", "listPhotosOfAlbum", ["mediaID"], "Photos",
        "The photos of an album; of one that is not there, none.", slash),
    ]
  }

  private static func photos(
    _ path: String, _ id: String, _ parameters: [String], _ schema: String, _ summary: String, _ slash: String
  ) -> Operation {
    Operation(
      method: .get, path: "/jsonplaceholder/\(path)", id: id + (slash.isEmpty ? "" : "Slash"), tag: "photos",
      summary: summary,
      parameters: parameters + [
        "serverText", "serverSort", "serverOrder", "serverPage", "serverLimit", "serverStart", "serverEnd", "raw",
      ] + conditions,
      answers: [
        .init(
          status: 200, description: "The items.", schema: schema, headers: shownHeaders + ["Link", "X-Total-Count"]),
        unchanged,
      ], refusals: [(422, "Invalid")] + missing, isPublic: true)
  }

  private static func photo(
    _ path: String, _ id: String, _ schema: String, _ summary: String, _ slash: String
  ) -> Operation {
    Operation(
      method: .get, path: "/jsonplaceholder/\(path)", id: id + (slash.isEmpty ? "" : "Slash"), tag: "photos",
      summary: summary, parameters: ["mediaID", "raw"] + conditions,
      answers: [.init(status: 200, description: "The item.", schema: schema, headers: shownHeaders), unchanged],
      refusals: [(404, "MediaNotFound")] + missing, isPublic: true)
  }

  private static let placeholder = Operation(
    method: .get, path: "/images/placeholder/{size}/{file}", id: "getPlaceholder", tag: "photos",
    summary: "A rectangle of one color; it never changes.",
    parameters: ["placeholderSize", "placeholderFile", "ifNoneMatch"],
    answers: [
      .init(status: 200, description: "The picture.", schema: "Picture", headers: ["ETag"], mediaType: "image/png"),
      unchanged,
    ], refusals: [(422, "Invalid")], isPublic: true)

  // MARK: GIFs

  private static func gifOperations(_ kind: GifQuestion.Kind, _ name: String, _ what: String) -> [Operation] {
    let paging = ["gifLimit", "gifOffset"] + choices
    return [
      gifs(kind, "", "list\(name)sByID", ["gifIDs"], "Some \(what) by id; those that are gone are left out."),
      gifs(kind, "/trending", "listTrending\(name)s", paging, "A page of the \(what) of the day."),
      gifs(kind, "/search", "search\(name)s", ["gifText"] + paging, "A page of the \(what) that GIPHY finds."),
      gifs(kind, "/search/tags", "list\(name)Tags", ["gifText", "gifLimit"], "Words that go on from some letters."),
      gifs(kind, "/random", "getRandom\(name)", ["gifTag"], "One of the \(what), another each time."),
      gifs(kind, "/{id}", "get\(name)", ["gifID"], "One of the \(what).", [(404, "MediaNotFound")]),
    ]
  }

  private static let choices = ["gifLanguage", "gifCountry", "gifRegion", "gifBundle"]

  private static func gifs(
    _ kind: GifQuestion.Kind, _ path: String, _ id: String, _ parameters: [String], _ summary: String,
    _ refusals: [(status: Int, response: String)] = []
  ) -> Operation {
    Operation(
      method: .get, path: "/giphy/v1/\(kind.rawValue)\(path)", id: id, tag: "gifs", summary: summary,
      parameters: parameters + ["gifRating", "gifKey"] + conditions,
      answers: [
        .init(status: 200, description: "GIPHY's answer.", schema: "GifAnswer", headers: shownHeaders), unchanged,
        .init(
          status: 202, description: "Nothing is stored yet, and `Prefer: respond-async` would rather have the job.",
          schema: "Accepted", headers: ["Location", "Magpie-Job"]),
      ], refusals: refusals + [(422, "Invalid"), (503, "GifsUnavailable"), (504, "NotStored")])
  }

  // MARK: Components

  private static let ratings = GifQuestion.ratings.map { "\"\($0)\"" }.joined(separator: ",")
  private static let sides = "\(PlaceholderImage.sides.lowerBound) to \(PlaceholderImage.sides.upperBound)"

  static let mediaParameters: KeyValuePairs<String, String> = [
    "mediaID": place("path", "id", #"{"type":"integer","minimum":1}"#, "The service's number."),
    "serverText": place("query", "q", #"{"type":"string","maxLength":200}"#, "Only items with this in any value."),
    "serverSort": place(
      "query", "_sort", #"{"type":"string"}"#, "Members to order by, with commas between. Unknown ones change nothing."),
    "serverOrder": place("query", "_order", #"{"type":"string"}"#, "`asc` or `desc` for each of them."),
    "serverPage": place("query", "_page", #"{"type":"string"}"#, "A page, from 1, of `_limit` items or 10."),
    "serverLimit": place("query", "_limit", #"{"type":"string"}"#, "How many items."),
    "serverStart": place("query", "_start", #"{"type":"string"}"#, "Items to leave out at the front."),
    "serverEnd": place("query", "_end", #"{"type":"string"}"#, "Where to end, this place not included."),
    "raw": place(
      "query", "raw", #"{"type":"string","enum":["1"]}"#,
      "`1`: addresses of pictures as the service has them, which lead nowhere. Any member's name is a filter, too, also with "
        + "`_gte`, `_lte`, `_ne` and `_like` behind it."),
    "placeholderSize": place(
      "path", "size", #"{"type":"string","pattern":"^[1-9][0-9]{0,3}(x[1-9][0-9]{0,3})?$"}"#,
      "Pixels of a side, or of width and height; each \(sides)."),
    "placeholderFile": place(
      "path", "file", #"{"type":"string","pattern":"^[0-9a-fA-F]{6}\\.png$"}"#, "Red, green and blue."),
    "gifID": place("path", "id", #"{"type":"string","pattern":"^[A-Za-z0-9]{1,64}$"}"#, "GIPHY's id."),
    "gifIDs": place(
      "query", "ids", #"{"type":"string"}"#, "GIPHY's ids with commas between, \(GifQuestion.maxIDs) at most."),
    "gifText": place(
      "query", "q", "{\"type\":\"string\",\"minLength\":1,\"maxLength\":\(GifQuestion.maxQuery)}", "As it was typed."),
    "gifTag": place(
      "query", "tag", "{\"type\":\"string\",\"maxLength\":\(GifQuestion.maxQuery)}", "What it should be about."),
    "gifLimit": place(
      "query", "limit", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":\(GifQuestion.maxLimit)}",
      "Items a page; brought into these bounds."),
    "gifOffset": place(
      "query", "offset", #"{"type":"integer","minimum":0,"default":0}"#,
      "Where to begin; nothing is shown from \(GifQuestion.cap) on."),
    "gifRating": place(
      "query", "rating", "{\"type\":\"string\",\"enum\":[\(ratings)]}",
      "Nothing beyond this; the account's own by default."),
    "gifLanguage": place("query", "lang", #"{"type":"string","maxLength":8}"#, "As in `en` or `zh-TW`."),
    "gifCountry": place("query", "country_code", #"{"type":"string","maxLength":2}"#, "As in `FR`."),
    "gifRegion": place("query", "region", #"{"type":"string","maxLength":2}"#, "As in `FR`."),
    "gifBundle": place("query", "bundle", #"{"type":"string","maxLength":64}"#, "GIPHY's name for fewer renditions."),
    "gifKey": place(
      "query", "api_key", #"{"type":"string"}"#,
      "The account's token, where a client can send it in no other place. Better in `Authorization`."),
  ]

  static let mediaHeaders: KeyValuePairs<String, String> = [
    "X-Total-Count":
      #"{"description":"How many items match, if a part of them was asked for.","schema":{"type":"integer"}}"#
  ]

  static let mediaResponses: KeyValuePairs<String, String> = [
    "MediaNotFound": problem("`photos/not-found`, `giphy/not-found`."),
    "GifsUnavailable": problem(
      "`giphy/relay-off`: the operator has set no key. `upstream/rate-limited`: the key's hour is used up. Others as "
        + "everywhere. Beside the problem stands GIPHY's own `meta`.", ["Retry-After", "Magpie-Job"]),
  ]

  private static let favorite = #""magpie":{"type":"object","properties":{"favorite":{"type":"boolean"}}}"#

  static let mediaSchemas: KeyValuePairs<String, String> = [
    "Photo":
      #"{"type":"object","required":["albumId","id","title","url","thumbnailUrl"],"properties":{"albumId":{"type":"integer"},"#
      + #""id":{"type":"integer"},"title":{"type":"string"},"url":{"type":"string"},"thumbnailUrl":{"type":"string"},\#(favorite)}}"#,
    "Photos": ##"{"type":"array","items":{"$ref":"#/components/schemas/Photo"}}"##,
    "Album":
      #"{"type":"object","required":["userId","id","title"],"properties":{"userId":{"type":"integer"},"id":{"type":"integer"},"title":{"type":"string"}}}"#,
    "Albums": ##"{"type":"array","items":{"$ref":"#/components/schemas/Album"}}"##,
    "GifAnswer":
      #"{"type":"object","required":["data","meta","attribution"],"properties":{"data":{"description":"GIPHY's objects; each has a member magpie more."},"#
      + #""pagination":{"type":"object"},"meta":{"type":"object"},"attribution":{"type":"string"}}}"#,
  ]

  private static func place(_ place: String, _ name: String, _ schema: String, _ description: String) -> String {
    let isRequired = place == "path" ? "\"required\":true," : ""
    return
      "{\"name\":\"\(name)\",\"in\":\"\(place)\",\(isRequired)\"description\":\"\(description)\",\"schema\":\(schema)}"
  }
}
