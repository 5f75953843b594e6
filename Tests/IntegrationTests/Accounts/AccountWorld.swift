import HTTP
import HTTPClient
import Testing
import WorldSupport

@testable import Magpie

/// Worlds with accounts that have passwords, and requests that come from many places.
enum AccountWorld {
  static let password = "tr0ubador&3"

  /// A world without a worker, whose server believes the test when it says where a request comes from.
  static func run(
    _ adjust: (inout TestWorld.Options) -> Void = { _ in }, _ body: @escaping @Sendable (TestWorld) async throws -> Void
  ) async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1))
    options.hasWorker = false
    options.trustedProxies = ["127.0.0.1"]
    adjust(&options)
    try await TestWorld.run(options, body)
  }
}

extension TestWorld {
  /// An account with a password, hashed as the servers of a world hash theirs.
  func account(_ username: String, password: String = AccountWorld.password) async throws {
    let hash = PasswordHash(password: Array(password.utf8), parameters: .least)
    try await sql("SELECT admin.create_account(\(username))")
    try await sql("UPDATE magpie.account SET password_hash = \(hash.text) WHERE username = \(username)")
  }

  /// Signs in, or tries to.
  func signIn(
    _ username: String, _ password: String = AccountWorld.password, from address: String = "192.0.2.1",
    _ fields: Fields = [:], path: String = "/v1/sessions", more: String = "", to server: Int = 0
  ) async throws -> Answer {
    var fields = fields
    fields.append(.xForwardedFor, address)
    return try await send(
      .post, path, as: nil, fields, body: #"{"username": "\#(username)", "password": "\#(password)"\#(more)}"#,
      to: server)
  }

  /// The token of somebody who signs in.
  func signedIn(_ username: String, from address: String = "192.0.2.1", more: String = "") async throws -> String {
    try #require(try await signIn(username, from: address, more: more).json["token"]?.string)
  }

  /// A request with just these fields.
  func sendRaw(_ method: Method, _ path: String, _ fields: Fields, body: String?) async throws -> Answer {
    let response = try await client.send(
      HTTPClient.Request(
        method, servers[0].baseURL + path, fields: fields, body: body.map { Array($0.utf8) }, timeout: .seconds(40)))
    return Answer(status: response.status.code, fields: response.fields, body: response.body)
  }
}
