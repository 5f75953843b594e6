import EventLoop
import FoundationEssentials
import Glibc
import HTTP
import HTTPClient
import JSONText
import Testing

/// The composed containers under test, as `.ci/stack-test` describes them in the environment.
struct Stack {
  /// Base URL of the API.
  let url: String
  /// Tokens of two accounts that exist for these tests.
  let tokens: [String]
  /// A one-time code of a third account.
  let invitation: String
  /// Whether somebody outside stops and starts containers meanwhile and waits for what `announce` says.
  let hasOperator: Bool

  /// `nil` when there is no stack to test.
  static let present: Stack? = {
    let environment = ProcessInfo.processInfo.environment
    guard let url = environment["MAGPIE_STACK_URL"], !url.isEmpty else { return nil }
    return Stack(
      url: url,
      tokens: (environment["MAGPIE_STACK_TOKENS"] ?? "").split(separator: ",").map(String.init),
      invitation: environment["MAGPIE_STACK_INVITATION"] ?? "",
      hasOperator: environment["MAGPIE_STACK_OPERATOR"] == "1")
  }()

  static let absence: Comment = "MAGPIE_STACK_URL is not set: `make stack-test` starts the containers and sets it"
}

/// One account's way to the stack: a client on a loop of its own.
struct Visitor {
  let stack: Stack
  let loop: EventLoop
  let client: HTTPClient
  var token: String?

  /// Lends a visitor with the token of one of the stack's accounts.
  static func with<R: Sendable>(
    account: Int = 0, _ body: @escaping @Sendable (Visitor) async throws -> R
  ) async throws -> R {
    let stack = try #require(Stack.present)
    try #require(stack.tokens.count > account, "MAGPIE_STACK_TOKENS must hold two tokens")
    let origin = try #require(HTTPClient.Origin(stack.url))
    let group = try EventLoopGroup(count: 1, name: "stack-tests")
    let client = HTTPClient(
      loop: group.loops[0], configuration: .init(userAgent: "magpie-stack-tests", trustedOrigins: [origin]))
    defer {
      client.stop()
      group.stop()
    }
    let visitor = Visitor(stack: stack, loop: group.loops[0], client: client, token: stack.tokens[account])
    return try await group.loops[0].run { try await body(visitor) }
  }

  /// The same client with another token, or with none.
  func with(token: String?) -> Visitor {
    var copy = self
    copy.token = token
    return copy
  }

  /// Sends a request to a path below the API's base, or to an absolute link.
  func send(_ method: Method, _ path: String, _ fields: Fields = [:], body: String? = nil) async throws -> Answer {
    var fields = fields
    if let token { fields.set(.authorization, "Bearer \(token)") }
    if body != nil { fields.set(.contentType, "application/json") }
    let request = HTTPClient.Request(
      method, path.hasPrefix("http") ? path : stack.url + path, fields: fields, body: body.map { Array($0.utf8) },
      timeout: .seconds(40))
    let response = try await client.send(request)
    return Answer(status: response.status.code, fields: response.fields, body: response.body)
  }

  func get(_ path: String, _ fields: Fields = [:]) async throws -> Answer { try await send(.get, path, fields) }
}

/// What came back.
struct Answer {
  let status: Int
  let fields: Fields
  let body: [UInt8]

  var json: JSONView {
    get throws { try JSONView(body) }
  }

  /// Target of the `Link` with a relation.
  func link(_ relation: String) -> String? {
    fields[joined: "Link"].flatMap { Link.first(relation, in: $0)?.target }
  }
}

/// Tells whoever runs the containers how far a test is. Unbuffered, since it is read while the test runs.
func announce(_ event: String) {
  let line = Array("stack: \(event)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
}
