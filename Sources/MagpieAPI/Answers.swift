import HTTP
import HTTPServer

/// The shapes that answers have in common.
enum Answers {
  /// A JSON answer to a GET: strong `ETag`, and 304 when the client has the same.
  ///
  /// - Parameter extra: fields other than the ones that are the same for all documents.
  static func document(
    _ bytes: [UInt8], for request: Request, tag: EntityTag? = nil, _ extra: Fields = Fields(capacity: 6)
  ) -> Response {
    document(.bytes(bytes), for: request, tag: tag ?? EntityTag(hashing: bytes), extra)
  }

  /// The same of a body whose tag is known.
  static func document(_ body: Response.Body, for request: Request, tag: EntityTag, _ extra: Fields) -> Response {
    var fields = extra
    // Constants and a tag need no looking at; this is every answer's way.
    fields.append(checked: .etag, tag.description)
    fields.append(checked: .cacheControl, "private, no-cache")
    fields.append(checked: .vary, "Authorization, Cookie")
    fields.append(checked: .xContentTypeOptions, "nosniff")
    if let condition = request[joined: .ifNoneMatch],
      case .notModified = Conditional.evaluate([.ifNoneMatch: condition], etag: tag, method: request.method)
    {
      return Response(.notModified, fields)
    }
    fields.append(checked: .contentType, "application/json; charset=utf-8")
    return Response(.ok, fields, body)
  }

  /// A JSON answer that is not to be kept, such as one with a token in it.
  static func unstored(_ bytes: [UInt8], status: Status = .ok) -> Response {
    Response(
      status,
      [
        .contentType: "application/json; charset=utf-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
      ], .bytes(bytes))
  }
}
