import EventLoop
import HTTP
import HTTPClient
import JSONText

/// A server of ours, seen by a client.
final class Peer: Sendable {
  /// Base of its URLs.
  let url: String
  private let client: HTTPClient

  init(_ url: String, on loop: EventLoop) {
    self.url = url
    var configuration = HTTPClient.Configuration(userAgent: "magpie-tests")
    configuration.trustedOrigins = HTTPClient.Origin(url).map { [$0] } ?? []
    configuration.maxTransfers = 64
    configuration.maxIdleConnections = 64
    client = HTTPClient(loop: loop, configuration: configuration)
  }

  deinit { client.stop() }

  /// An account's way in: its token with every request.
  func account(_ token: String?) -> Visitor { Visitor(peer: self, token: token) }

  /// Sends a request to a path below the base, or to an absolute link.
  @discardableResult
  func send(
    _ method: Method, _ path: String, _ fields: Fields = [:], body: String? = nil, timeout: Duration = .seconds(40)
  ) async throws -> Answer {
    let request = HTTPClient.Request(
      method, path.hasPrefix("http") ? path : url + path, fields: fields, body: body.map { Array($0.utf8) },
      timeout: timeout)
    let start = System.monotonicNanoseconds()
    let response = try await client.send(request)
    return Answer(
      status: response.status.code, fields: response.fields, body: response.body,
      seconds: Double(System.monotonicNanoseconds() - start) / 1e9)
  }

  func get(_ path: String, _ fields: Fields = [:], timeout: Duration = .seconds(40)) async throws -> Answer {
    try await send(.get, path, fields, timeout: timeout)
  }
}

/// Requests of one account.
struct Visitor: Sendable {
  let peer: Peer
  let token: String?

  @discardableResult
  func send(
    _ method: Method, _ path: String, _ fields: Fields = [:], body: String? = nil, timeout: Duration = .seconds(40)
  ) async throws -> Answer {
    var fields = fields
    if let token { fields.set(.authorization, "Bearer \(token)") }
    if body != nil { fields.set(.contentType, "application/json") }
    return try await peer.send(method, path, fields, body: body, timeout: timeout)
  }

  func get(_ path: String, _ fields: Fields = [:], timeout: Duration = .seconds(40)) async throws -> Answer {
    try await send(.get, path, fields, timeout: timeout)
  }

  /// Ids of all members of a list, by following `next` from its first page.
  func ids(of path: String) async throws -> [Int64] {
    var ids: [Int64] = []
    var page: String? = path
    // Far more pages than any list here has: a circle of links must not go on for ever.
    for _ in 0..<100 {
      guard let next = page else { return ids }
      let answer = try await get(next)
      guard answer.status == 200 else { throw Answer.Unexpected(answer: answer) }
      ids += try answer.ids
      page = answer.link("next")
    }
    throw NoEnd()
  }

  /// Ids of the account's favorites.
  func favorites() async throws -> [String] {
    let answer = try await get("/v1/favorites")
    guard answer.status == 200, let items = try answer.json["items"] else { throw Answer.Unexpected(answer: answer) }
    return items.elements.compactMap { $0["id"]?.string }
  }

  struct NoEnd: Error {}
}

/// What came back.
struct Answer: Sendable {
  let status: Int
  let fields: Fields
  let body: [UInt8]
  /// From the request to the last byte.
  let seconds: Double

  var text: String { String(decoding: body, as: UTF8.self) }

  var json: JSONView {
    get throws { try JSONView(body) }
  }

  /// The items' ids, if it is a list.
  var ids: [Int64] {
    get throws { try json.elements.compactMap { $0["id"]?.int } }
  }

  /// Whether it is from a list that is whole, with so many members. Its last page is there a moment before that.
  func isOfWholeList(_ count: Int) -> Bool {
    fields["Magpie-Coverage"] == "\(count)/\(count)" && fields["Cache-Status"]?.hasSuffix("partial") == false
  }

  /// Whether each item of the list is a favorite of the account that asked.
  var favoriteFlags: [Bool] {
    get throws { try json.elements.compactMap { $0["magpie"]?["favorite"]?.bool } }
  }

  /// Logins of the items, if it is a list of people.
  var logins: [String] {
    get throws { try json.elements.compactMap { $0["login"]?.string } }
  }

  /// The problem's stable code.
  var code: String? { (try? json)?["code"]?.string }

  /// Target of the `Link` with a relation.
  func link(_ relation: String) -> String? {
    fields[joined: "Link"].flatMap { Link.first(relation, in: $0)?.target }
  }

  /// An answer that ends a test.
  struct Unexpected: Error, CustomStringConvertible {
    let answer: Answer
    var description: String { "\(answer.status): \(answer.text.prefix(400))" }
  }
}
