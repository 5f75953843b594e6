import HTTP
import HTTPServer

/// `/_echo`: answers with the body it was sent, for conformance tests. Only there when it was switched on.
enum EchoEndpoint {
  static let maxBody = 1 << 20

  static func answer(_ request: Request) async throws -> Response {
    let body = try await request.body(limit: maxBody)
    return Response(
      .ok, [.contentType: "application/octet-stream", .cacheControl: "no-store", .xContentTypeOptions: "nosniff"],
      .bytes(body))
  }
}
