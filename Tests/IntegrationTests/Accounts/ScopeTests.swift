import HTTP
import Testing
import WorldSupport

@testable import MagpieAPI

/// What a token that may only read cannot do: taken from the route table, so that no route is forgotten.
@Suite struct ScopeTests {
  /// Routes that change something and ask for no token.
  private static let open: Set<String> = [
    "POST /v1/accounts", "POST /v1/invitations/redeem", "POST /v1/sessions", "POST /v1/account/restore",
  ]

  /// Bodies that go through, where an empty one is refused before the token is looked at.
  static let bodies = [
    "PUT /v1/account/password": #"{"current": "tr0ubador&3", "new": "brand-new&word"}"#,
    "DELETE /v1/account": #"{"password": "tr0ubador&3"}"#,
    "POST /github/users/{login}/refresh": #"{"what": ["profile"]}"#,
    "POST /github/user/{id}/refresh": #"{"what": ["profile"]}"#,
  ]

  @Test func readersChangeNothing() async throws {
    try await AccountWorld.run { world async throws in
      let reader = try await world.token(scopes: ["read"])
      var writes = 0
      for operation in OpenAPI.operations where !operation.method.isSafe {
        let name = "\(operation.method) \(operation.path)"
        if Self.open.contains(name) {
          #expect(operation.isPublic, "\(name)")
          continue
        }
        writes += 1
        let path = Exemplar.path(operation.path)
        let answer = try await world.send(
          operation.method, path, as: reader, body: Self.bodies[name] ?? Exemplar.bodies[name])
        #expect(
          answer.status == 403 && answer.code == "auth/insufficient-scope", "\(name): \(answer.status) \(answer.text)")
        #expect(answer[.wwwAuthenticate]?.hasSuffix("scope=\"write\"") == true, "\(name)")
        // The document says so, too.
        #expect(operation.refusals.contains { $0.status == 403 }, "\(name) does not tell of 403")
      }
      #expect(writes >= 8)
      #expect(try await world.get("/v1/account", as: reader).status == 200)
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(0))
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
    }
  }
}

/// Requests that fit the shape of a route.
enum Exemplar {
  /// Bodies by method and pattern, for routes that do not take an empty one.
  static let bodies = [
    "PATCH /v1/account": #"{"locale": "de"}"#, "POST /v1/collections": #"{"name": "things"}"#,
    "PATCH /v1/collections/{id}": #"{"name": "things"}"#,
    "POST /v1/sync": #"{"since": 0, "changes": [{"op": "put", "kind": "photo", "id": "1"}]}"#,
    "POST /v1/activity": #"{"kind": "opened", "subject": "gif:a"}"#,
    "PATCH /v1/favorites/{kind}/{id}": #"{"note": "n"}"#, "POST /v1/account/import": "[]",
  ]

  /// What a route asks for in its query.
  static let queries = [
    "/github/users": "?logins=octocat", "/github/search/users": "?q=octo", "/github/search/repositories": "?q=octo",
    "/github/users/{login}/relations": "?set=mutual", "/github/user/{id}/relations": "?set=mutual",
  ]

  /// A pattern with something fitting in the places of its captures.
  static func path(_ pattern: String, _ captures: [String: String] = [:]) -> String {
    let defaults = [
      "kind": "photo", "login": "octocat", "owner": "octocat", "repo": "hello", "area": "auth", "name": "x",
    ]
    let path = pattern.split(separator: "/").map { part in
      guard part.hasPrefix("{") else { return "/" + part }
      let name = String(part.dropFirst().dropLast())
      let fallback =
        name == "id" && pattern.contains("sessions") || pattern.contains("collections")
        ? "01234567-89ab-4cde-8f01-23456789abcd" : "1"
      return "/" + (captures[name] ?? defaults[name] ?? fallback)
    }.joined()
    return path + (queries[pattern] ?? "")
  }
}
