import HTTP
import HTTPServer
import JSONText

/// What of a request matters to the simulator.
struct Ask: Sendable {
  let method: Method
  let target: Target
  let fields: Fields
}

/// An answer in the making.
struct Reply: Sendable {
  /// How the body ends.
  enum Ending: Sendable {
    case whole
    /// In the middle, by closing the connection.
    case cut
    /// Before it begins, by closing the connection.
    case reset
  }

  var status: Status
  var fields: Fields
  var body: [UInt8]
  var links: [Link] = []
  /// The page's own address in the form of the links; empty for what is no page.
  var address = ""
  var ending = Ending.whole

  init(_ status: Status, _ fields: Fields = [:], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// An error in GitHub's shape.
  static func message(
    _ status: Status, _ message: String, documentation: String = "https://docs.github.com/rest",
    adding: (inout JSONWriter) -> Void = { _ in }
  ) -> Reply {
    var json = JSONWriter()
    json.beginObject()
    json.key("message")
    json.string(message)
    adding(&json)
    json.key("documentation_url")
    json.string(documentation)
    json.key("status")
    json.string(String(status.code))
    json.endObject()
    return Reply(status, [.contentType: Reply.json], body: json.bytes)
  }

  static let json = "application/json; charset=utf-8"

  /// For the log: a broken connection has no status.
  var loggedStatus: Int { ending == .whole ? status.code : 0 }

  var response: Response {
    var fields = fields
    if !links.isEmpty { fields.set(.link, links.fieldValue) }
    switch ending {
    case .whole:
      return Response(status, fields, status.forbidsBody ? .none : .bytes(body))
    case .cut:
      let half = Array(body[..<(body.count / 2)])
      return Response(
        status, fields,
        .stream { stream in
          try await stream.write(half)
          throw BrokenOff()
        })
    case .reset:
      return Response(status, fields, .stream { _ in throw BrokenOff() })
    }
  }

  private struct BrokenOff: Error {}
}
