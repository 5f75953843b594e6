import HTTP
import JSONText

/// Answers as GIPHY gives them.
extension World {
  mutating func gifs(_ ask: Ask, _ route: MediaRoute, _ fault: Fault.Effect?) -> Reply {
    let query = ask.target.query
    let key = query["api_key"] ?? ""
    if let fault, let refusal = giphyRefusal(fault) { return refusal }
    guard !key.isEmpty, gifLibrary.keys?.contains(key) ?? true else { return .giphy(.unauthorized, "Unauthorized") }
    guard gifLibrary.charge(key, now: clock.now) else {
      refusals.primary += 1
      return .giphy(.tooManyRequests, "API rate limit exceeded")
    }
    if fault == .synthetic { return .giphy(.ok, "OK") }
    guard case .gifs(let what, let isSticker) = route else { return .giphy(.notFound, "Not Found") }
    var reply = giphyAnswer(what, isSticker, query, key, fault)
    if fault == .echoQuery {
      reply.body.removeLast()
      reply.body += Array(#","debug":"\#(ask.target.rawQuery ?? "")"}"#.utf8)
    }
    if let fault { distort(&reply, fault) }
    return reply
  }

  private func giphyRefusal(_ fault: Fault.Effect) -> Reply? {
    switch fault {
    case .giphyError(let code): .giphy(Status(code), code == 429 ? "API rate limit exceeded" : "Forbidden")
    case .gatewayError(let code):
      Reply(
        Status(code), [.contentType: Reply.json],
        body: Array(
          #"{"message":"\#(code == 429 ? "API rate limit exceeded" : "Invalid authentication credentials")"}"#.utf8))
    case .redirect(let path): .moved(to: base + path)
    default: nil
    }
  }

  private mutating func giphyAnswer(
    _ what: MediaRoute.Gifs, _ isSticker: Bool, _ query: Target.Query, _ key: String, _ fault: Fault.Effect?
  ) -> Reply {
    let answer = gifLibrary.beginAnswer()
    // Eight digits that say whose key it is, and the answer's own.
    let call = String(Seed.number(of: key) >> 32, radix: 16) + String(Seed.mix(answer), radix: 16)
    let kind = isSticker ? "stickers" : "gifs"
    func page(_ topic: String, _ total: Int) -> Reply {
      let offset = max(0, query["offset"].flatMap { Int($0) } ?? 0)
      let limit = max(0, min(50, query["limit"].flatMap { Int($0) } ?? 25))
      let isBeyond = offset >= GifLibrary.cap || total == 0
      let places = isBeyond ? 0..<0 : offset..<min(offset + limit, GifLibrary.cap, total)
      let numbers = places.map { gifLibrary.number(at: $0, of: topic) }
      return giphyList(
        numbers.map { ($0, isSticker) }, call, "v1_\(kind)_\(topic.isEmpty ? "trending" : "search")", fault,
        pagination: (isBeyond ? 0 : total + Int(answer % 7), places.count, isBeyond ? 0 : offset))
    }
    switch what {
    case .trending: return page("", GifLibrary.found)
    case .search:
      guard let text = query["q"] else { return .giphy(.badRequest, "Bad Request") }
      guard text.unicodeScalars.count <= 50 else { return .giphy(Status(414), "Request-URI Too Long") }
      return page(text.lowercased(), text.contains("nothing") ? 0 : GifLibrary.found)
    case .tags:
      let text = query["q"] ?? ""
      let count = max(0, min(50, query["limit"].flatMap { Int($0) } ?? 5))
      return giphyReply(call, pagination: (count, count, 0)) { json in
        json.beginArray()
        for number in 0..<count {
          json.beginObject()
          json.member("name", number == 0 ? text : "\(text) \(number)")
          json.member("analytics_response_payload", "e=\(call)")
          json.endObject()
        }
        json.endArray()
      }
    case .several:
      // In another order, and without those that are gone.
      let found = (query["ids"] ?? "").split(separator: ",").prefix(100).compactMap {
        gifLibrary.number(of: String($0))
      }
      return giphyList(found.reversed(), call, "v1_gifs_gifId", fault, pagination: (found.count, found.count, 0))
    case .random:
      let isEmpty = fault == .emptyData || query["tag"]?.contains("nothing") == true
      return giphyReply(call, pagination: nil) { json in
        if isEmpty { return json.raw("[]") }
        GifRenderer(call: call, endpoint: "v1_\(kind)_random").write(
          gifLibrary.random(answer), isSticker: isSticker, to: &json)
      }
    case .one(let id):
      guard let (number, isSticker) = gifLibrary.number(of: id) else { return .giphy(.notFound, "Not Found") }
      return giphyReply(call, pagination: nil) { json in
        GifRenderer(call: call, endpoint: "v1_gifs_gifId").write(number, isSticker: isSticker, to: &json)
      }
    }
  }

  private func giphyList(
    _ gifs: [(Int, isSticker: Bool)], _ call: String, _ endpoint: String, _ fault: Fault.Effect?,
    pagination: (total: Int, count: Int, offset: Int)
  ) -> Reply {
    giphyReply(call, pagination: fault == .noPagination ? nil : pagination) { json in
      json.beginArray()
      let renderer = GifRenderer(call: call, endpoint: endpoint)
      for gif in gifs { renderer.write(gif.0, isSticker: gif.isSticker, to: &json) }
      json.endArray()
    }
  }

  private func giphyReply(
    _ call: String, pagination: (total: Int, count: Int, offset: Int)?, _ data: (inout JSONWriter) -> Void
  ) -> Reply {
    var json = JSONWriter(capacity: 4_096)
    json.beginObject()
    json.key("data")
    data(&json)
    if let pagination {
      json.key("pagination")
      json.beginObject()
      json.member("total_count", pagination.total)
      json.member("count", pagination.count)
      json.member("offset", pagination.offset)
      json.endObject()
    }
    json.key("meta")
    json.beginObject()
    json.member("status", 200)
    json.member("msg", "OK")
    json.member("response_id", call)
    json.endObject()
    json.endObject()
    return Reply(
      .ok, [.contentType: "application/json", .cacheControl: "max-age=30", .retryAfter: "0"], body: json.bytes)
  }
}

extension Reply {
  /// An error in GIPHY's shape; with 200 the answer it makes up when it cannot answer.
  static func giphy(_ status: Status, _ message: String) -> Reply {
    Reply(
      status, [.contentType: "application/json"],
      body: Array(
        #"{"data":[],"meta":{"status":\#(status.code),"msg":"\#(message)","response_id":""}}"#.utf8))
  }
}
