import HTTP
import HTTPServer
import Magpie

/// Pictures on their way out. Whatever a picture turns out to be for a browser, it can do nothing there.
enum PictureAnswer {
  /// A stored picture. Its name is the hash of its bytes, so its tag never lies and never ends.
  static func stored(_ image: StoredImage, for request: Request, cacheControl: String, _ extra: Fields = [:])
    -> Response
  {
    answer(
      image.bytes, image.mediaType, name: String(image.name.prefix(8)), tag: EntityTag(opaque: image.name),
      for: request, cacheControl: cacheControl, extra)
  }

  /// Initials, drawn for the occasion.
  static func drawn(_ bytes: [UInt8], for request: Request, cacheControl: String, _ extra: Fields = [:]) -> Response {
    let tag = EntityTag(hashing: bytes)
    return answer(
      bytes, "image/svg+xml", name: "initials", tag: tag, for: request, cacheControl: cacheControl, extra)
  }

  /// One color, drawn for the occasion. Pages of any origin may show it: it is nobody's.
  static func placeholder(_ bytes: [UInt8], for request: Request) -> Response {
    let tag = EntityTag(hashing: bytes)
    return answer(
      bytes, "image/png", name: "placeholder", tag: tag, for: request,
      cacheControl: "public, max-age=31536000, immutable", [:], readers: "cross-origin")
  }

  private static func answer(
    _ bytes: [UInt8], _ type: String, name: String, tag: EntityTag?, for request: Request, cacheControl: String,
    _ extra: Fields, readers: String = "same-origin"
  ) -> Response {
    var fields = extra
    if let tag { fields.append(.etag, tag.description) }
    fields.append(.cacheControl, cacheControl)
    fields.append(.xContentTypeOptions, "nosniff")
    fields.append(.contentSecurityPolicy, "default-src 'none'; sandbox; frame-ancestors 'none'")
    fields.append(.crossOriginResourcePolicy, readers)
    fields.append(.referrerPolicy, "no-referrer")
    if let tag, let condition = request[joined: .ifNoneMatch],
      case .notModified = Conditional.evaluate([.ifNoneMatch: condition], etag: tag, method: request.method)
    {
      return Response(.notModified, fields)
    }
    fields.append(.contentType, type)
    fields.append(.contentDisposition, "inline; filename=\"\(name).\(suffix(of: type))\"")
    return Response(.ok, fields, .bytes(bytes))
  }

  private static func suffix(of type: String) -> Substring {
    switch type {
    case "image/jpeg": "jpg"
    case "image/svg+xml": "svg"
    default: type.dropFirst("image/".count)
    }
  }
}
