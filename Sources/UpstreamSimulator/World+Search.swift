import HTTP
import JSONText

/// Who is found by which words. Searching four million made-up people takes a while, so what was found is kept.
struct SearchIndex: Sendable {
  /// People of the population that are looked at.
  static let depth = 20_000
  private static let maxQueries = 64

  private var found: [String: [Int64]] = [:]
  private var version = -1

  /// Ids of whoever's login has the text in it, named people first.
  mutating func people(_ text: String, in network: Network) -> [Int64] {
    if version != network.version || found.count >= SearchIndex.maxQueries { found = [:] }
    version = network.version
    if let people = found[text] { return people }
    let people = network.people(whoseLoginContains: text, depth: SearchIndex.depth)
    found[text] = people
    return people
  }
}

/// `GET /search/users`, with the refusals of the real one.
extension World {
  /// Results beyond this are counted and not shown.
  static let searchCap = 1_000

  mutating func search(_ target: Target, _ fault: Fault.Effect?) -> Reply {
    let query = target.query
    guard let text = query["q"], text.contains(where: { $0 != " " }) else {
      return World.invalidSearch("missing", nil)
    }
    let counted = text.split(separator: " ").filter { !$0.contains(":") }.joined(separator: " ")
    guard counted.unicodeScalars.count <= 256 else {
      return World.invalidSearch("invalid", "The search is longer than 256 characters.")
    }
    for word in text.split(separator: " ") where word.hasPrefix("user:") || word.hasPrefix("org:") {
      let login = String(word.drop { $0 != ":" }.dropFirst())
      guard network.visibleID(ofLogin: login) != nil else {
        return World.invalidSearch(
          "invalid",
          "The listed users cannot be searched either because the users do not exist or you do not have permission to view "
            + "the users.")
      }
    }
    var people = searches.people(counted.lowercased(), in: network)
    if query["sort"] != nil, query["order"] == "asc" { people.reverse() }
    let page = Page(query, count: min(people.count, World.searchCap))
    guard (page.number - 1) * page.size < World.searchCap else {
      return .message(.unprocessableContent, "Only the first 1000 search results are available")
    }
    var shown = page.positions.map { people[$0] }
    if fault == .unstableSearch, page.positions.lowerBound > 0 {
      shown = page.positions.map { people[$0 - 1] }
    }
    if fault == .incompleteSearch { shown = Array(shown.prefix(shown.count / 2)) }
    let body = renderer.search(
      shown.compactMap { network.card($0) }, total: people.count, isIncomplete: fault == .incompleteSearch)
    var reply = Reply(.ok, [.contentType: Reply.json, .cacheControl: "no-cache"], body: body)
    reply.links = page.links("\(base)/search/users", query)
    return reply
  }

  static func invalidSearch(_ code: StaticString, _ message: String?) -> Reply {
    .message(.unprocessableContent, "Validation Failed") { json in
      json.key("errors")
      json.beginArray()
      json.beginObject()
      if let message {
        json.key("message")
        json.string(message)
      }
      json.key("resource")
      json.string("Search")
      json.key("field")
      json.string("q")
      json.key("code")
      json.string("\(code)")
      json.endObject()
      json.endArray()
    }
  }

  /// A picture of one pixel, in a color of the person's own. Not part of the API: no budget, no credentials.
  func avatar(_ id: Int64, _ ask: Ask, _ fault: Fault.Effect?) -> Reply {
    guard network.isVisible(id) else {
      return Reply(.notFound, [.contentType: "text/plain"], body: Array("404\n".utf8))
    }
    let color = Seed.number(of: String(id))
    let bytes =
      Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0]
      + [
        UInt8(truncatingIfNeeded: color), UInt8(truncatingIfNeeded: color >> 8), UInt8(truncatingIfNeeded: color >> 16),
      ]
      + [0xFF, 0xFF, 0xFF, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B]
    let tag = EntityTag(hashing: bytes)
    var reply = Reply(
      .ok, [.contentType: "image/gif", .etag: tag.description, .cacheControl: "max-age=300"], body: bytes)
    if Conditional.evaluate(ask.fields, etag: tag, method: ask.method) == .notModified {
      reply.status = .notModified
      reply.body = []
      reply.fields.remove(.contentType)
    }
    if let fault { distort(&reply, fault) }
    return reply
  }
}

extension UserRenderer {
  /// A page of a search: list items with a score.
  func search(_ cards: [Card], total: Int, isIncomplete: Bool) -> [UInt8] {
    var json = JSONWriter(capacity: 1_100 * cards.count + 64)
    json.beginObject()
    json.key("total_count")
    json.int(total)
    json.key("incomplete_results")
    json.bool(isIncomplete)
    json.key("items")
    json.beginArray()
    for card in cards {
      var simple: [UInt8] = []
      append(card, to: &simple)
      simple.withUnsafeBytes { bytes in
        json.rawObject(bytes) { json in
          json.key("score")
          json.raw("1.0")
        }
      }
    }
    json.endArray()
    json.endObject()
    return json.bytes
  }
}
