import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/v1/activity` and `/v1/widget`: what apps count, and what a home screen shows.
struct ActivityEndpoints: Sendable {
  static let maxBody = 4 << 10
  static let maxSubject = 220
  /// Bytes of the widget's answer at most.
  static let maxWidget = 2_000
  let services: Services

  private var activity: Activity { services.favorites.activity }

  /// `POST /v1/activity`: counts that something was copied, shared or opened.
  func record(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let bytes = try await request.body(limit: ActivityEndpoints.maxBody)
    let (kind, subject) = try JSONObjectReader.read(bytes) { body in
      let kind = body.required("kind", as: String.self).flatMap { text in
        let kind = Activity.Kind(rawValue: text)
        if kind == nil {
          body.refuse("kind", "must be one of \(Activity.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return kind
      }
      let subject = body.required("subject", as: String.self)
      if let subject, !ActivityEndpoints.isSubject(subject) {
        body.refuse("subject", "must be a kind of favorite and an id, as in gif:xT9IgG50Fb7Mi0prBC")
      }
      return (kind ?? .copied, subject ?? "")
    }
    guard let count = try await activity.record(kind, of: subject, token: token) else {
      throw APIError.badCredentials
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("kind")
    writer.string(kind.rawValue)
    writer.key("count")
    writer.int(count)
    writer.endObject()
    return Answers.unstored(writer.bytes)
  }

  /// `GET /v1/widget`: under 2 KB, whatever the newest favorite is called.
  func widget(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let summary = try await activity.summary(token: token) else { throw APIError.badCredentials }
    var bytes = ActivityEndpoints.document(summary, isShort: false)
    // Escapes may make six bytes of one.
    if bytes.count > ActivityEndpoints.maxWidget { bytes = ActivityEndpoints.document(summary, isShort: true) }
    return Answers.document(bytes, for: request)
  }

  static func isSubject(_ text: String) -> Bool {
    guard text.unicodeScalars.count <= maxSubject, let separator = text.firstIndex(where: { $0 == ":" || $0 == "/" }),
      let kind = Favorite.Kind(rawValue: String(text[..<separator]))
    else { return false }
    return FavoriteEndpoints.isPlausible(kind, String(text[text.index(after: separator)...]))
  }

  private static func document(_ summary: Activity.Summary, isShort: Bool) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("favorites")
    writer.int(summary.favorites)
    writer.key("copied")
    writer.int(summary.copied)
    writer.key("latest")
    if let latest = summary.latest {
      writer.beginObject()
      for (name, value) in [("kind", latest.kind), ("id", latest.id), ("title", latest.title)] {
        writer.key(name)
        writer.string(value)
      }
      for (name, value) in [("subtitle", latest.subtitle), ("url", latest.url), ("image", latest.image)] {
        writer.key(name)
        writer.string(isShort ? "" : value)
      }
      writer.key("added_at")
      writer.string(latest.addedAt)
      writer.endObject()
    } else {
      writer.null()
    }
    writer.endObject()
    return writer.bytes
  }
}
