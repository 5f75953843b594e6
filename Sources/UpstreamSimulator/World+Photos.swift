import HTTP
import JSONText

/// Answers as the photo service gives them, behind a network that keeps copies.
extension World {
  mutating func photos(_ ask: Ask, _ route: MediaRoute, _ fault: Fault.Effect?) -> Reply {
    if let fault, let refusal = refusal(fault) { return refusal }
    let body: [UInt8]? =
      switch route {
      case .photos: library.photos()
      case .albums: library.albums()
      case .photo(let id): library.item(photo: id)
      case .album(let id): library.item(album: id)
      case .photosOfAlbum(let id): library.photosOfAlbum(id)
      default: nil
      }
    guard let body else { return Reply(.notFound, [.contentType: Reply.json], body: Array("{}".utf8)) }
    let tag = EntityTag(opaque: "\(String(body.count, radix: 16))-\(EntityTag(hashing: body).opaque)", isWeak: true)
    var reply = Reply(
      .ok,
      [
        .contentType: Reply.json, .cacheControl: "max-age=43200", .etag: tag?.description ?? "", "Expires": "-1",
        "Pragma": "no-cache", .vary: "Origin, Accept-Encoding", .age: "20096", "x-ratelimit-limit": "1000",
        "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1", "cf-cache-status": "HIT",
      ], body: body)
    if Conditional.evaluate(ask.fields, etag: tag, lastModified: nil, method: ask.method) == .notModified {
      reply.status = .notModified
      reply.body = []
      reply.fields.remove(.contentType)
    }
    if let fault { distort(&reply, fault) }
    return reply
  }
}
