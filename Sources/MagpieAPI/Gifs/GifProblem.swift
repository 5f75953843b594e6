import HTTP
import HTTPServer
import JSONText

/// What can be wrong with a question to GIPHY.
enum GifProblem {
  /// GIPHY's name in what people read.
  static let service = "GIPHY"

  static let notFound = APIError(.notFound, "giphy/not-found", "GIPHY has no such GIF, or shows it no more.")

  static let relayOff = APIError(
    .serviceUnavailable, "giphy/relay-off",
    "This server relays nothing of GIPHY, which forbids it without its consent. An operator who has that sets "
      + "MAGPIE_GIPHY_KEY for the worker. Favorites of kind gif work without it: send a snapshot with them.")

  /// A problem as GIPHY's clients read it: the envelope of an answer without data, with the problem's own members beside.
  static func response(_ problem: Problem) -> Response {
    var response = Response(problem)
    var writer = JSONWriter(capacity: 512)
    problem.bytes.withUnsafeBytes { bytes in
      writer.rawObject(bytes) { writer in
        writer.key("data")
        writer.raw("[]")
        writer.key("meta")
        writer.beginObject()
        writer.key("status")
        writer.int(problem.status.code)
        writer.key("msg")
        writer.string(problem.status == .unauthorized ? "Unauthorized" : problem.detail ?? problem.title)
        writer.key("response_id")
        writer.string("")
        writer.endObject()
      }
    }
    response.body = .bytes(writer.bytes)
    return response
  }
}
