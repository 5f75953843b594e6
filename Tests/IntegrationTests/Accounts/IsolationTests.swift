import HTTP
import JSONText
import Magpie
import Postgres
import Testing
import WorldSupport

@testable import MagpieAPI

/// Every route as somebody else. The table below has a line for each route of the OpenAPI document (which has one for each
/// route of the server); a route without a line fails the test, so whoever adds one says here what it shows of whom.
@Suite struct IsolationTests {
  /// What a route has to do with accounts.
  enum Kind: Sendable {
    /// Asks for no token and knows no account.
    case open
    /// Shows what is everybody's. What another account has done with it must not show.
    case shared
    /// Shows or changes what is the asking account's alone, without naming any of it.
    case own
    /// Shows what is the asking account's alone, and never ends: StreamTests look at it.
    case live
    /// Names something of an account: somebody else's is answered like one that never was. The captures of both.
    case named([String: String], [String: String])
  }

  /// Things of an account, and things of nobody, that look the same.
  struct Belongings: Sendable {
    var session: String
    var job: String
    var collection: String
    static let nobodys = Belongings(
      session: UUID().description, job: "999999999", collection: UUID().description)
  }

  private static func kind(of route: String, _ anns: Belongings) -> Kind? {
    let never = Belongings.nobodys
    // Ann has this photo among her favorites, and nobody has the other.
    let favorite = Kind.named(["kind": "photo", "id": "4711"], ["kind": "photo", "id": "4712"])
    switch route {
    case "POST /v1/accounts", "POST /v1/invitations/redeem", "POST /v1/sessions", "POST /v1/account/restore",
      "GET /v1/config", "GET /v1/version", "GET /problems/{area}/{name}", "GET /openapi.json", "GET /images/{sha256}":
      return .open
    case "GET /v1/sessions", "DELETE /v1/sessions/current", "GET /v1/account", "PATCH /v1/account",
      "DELETE /v1/account",
      "PUT /v1/account/password", "GET /v1/favorites", "GET /v1/collections", "POST /v1/collections",
      "GET /v1/account/export", "POST /v1/account/import", "POST /v1/activity", "GET /v1/widget", "GET /v1/sync",
      "POST /v1/sync", "GET /v1/sync/checksum":
      return .own
    case "GET /v1/stream": return .live
    case "DELETE /v1/sessions/{id}": return .named(["id": anns.session], ["id": never.session])
    case "GET /v1/favorites/{kind}/{id}", "PUT /v1/favorites/{kind}/{id}", "DELETE /v1/favorites/{kind}/{id}",
      "PATCH /v1/favorites/{kind}/{id}", "POST /v1/favorites/{kind}/{id}/restore":
      return favorite
    case "GET /v1/collections/{id}", "PATCH /v1/collections/{id}", "DELETE /v1/collections/{id}":
      return .named(["id": anns.collection], ["id": never.collection])
    case "GET /v1/jobs/{id}", "DELETE /v1/jobs/{id}": return .named(["id": anns.job], ["id": never.job])
    default:
      if route.contains(" /jsonplaceholder/") || route.contains(" /images/placeholder/") { return .open }
      return route.contains(" /github/") || route.contains(" /giphy/") ? .shared : nil
    }
  }

  /// Routes that end what the test works with; they are asked last, and with a token of their own.
  private static let endings: Set<String> = ["DELETE /v1/sessions/current", "DELETE /v1/account"]
  private static let canary = "canary-of-ann"

  @Test func somebodyElsesIsLikeNobodys() async throws {
    try await AccountWorld.run { world async throws in
      let (ann, anns) = try await Self.settle(world)
      let annBefore = try await Self.state(world)
      for operation in OpenAPI.operations {
        let route = "\(operation.method) \(operation.path)"
        guard let kind = Self.kind(of: route, anns) else {
          Issue.record("\(route) has no line in the table of this test")
          continue
        }
        if case .open = kind {
          #expect(operation.isPublic, "\(route)")
          continue
        }
        #expect(!operation.isPublic, "\(route)")
        if case .live = kind { continue }
        let bob = try await world.token(of: Self.endings.contains(route) ? "bob-\(operation.id.lowercased())" : "bob")
        let body = ScopeTests.bodies[route] ?? Exemplar.bodies[route]
        switch kind {
        case .open, .live: break
        case .named(let foreign, let never):
          for _ in 0..<2 {  // what the first request has done must not show in the second
            let answers = [
              try await Self.ask(world, operation, foreign, as: bob, body),
              try await Self.ask(world, operation, never, as: bob, body),
            ]
            #expect(
              Self.essence(answers[0], without: foreign) == Self.essence(answers[1], without: never), "\(route)")
            if operation.method.isSafe { #expect(answers[0].status == 404, "\(route)") }
          }
        case .own, .shared:
          let answer = try await Self.ask(world, operation, [:], as: bob, body)
          #expect(!answer.text.contains(Self.canary), "\(route)")
          // A cookie of Ann's changes nothing: the token goes first.
          if operation.method.isSafe {
            let both = try await Self.ask(world, operation, [:], as: bob, body, ["Cookie": "mgp=\(ann)"])
            #expect(Self.essence(both, without: [:]) == Self.essence(answer, without: [:]), "\(route)")
          }
        }
        // Without a token, and with one of nobody, nothing at all.
        for token in [nil, Secret(random: .token).text] {
          let answer = try await Self.ask(world, operation, [:], as: token, body)
          #expect(answer.status == 401, "\(route)")
        }
      }
      // And nothing of Ann's has changed meanwhile.
      #expect(try await Self.state(world) == annBefore)
      #expect(try await world.get("/v1/account", as: ann).status == 200)
    }
  }

  /// A place in Ann's list is no place in Bob's, nor is a key of hers one of his.
  @Test func cursorsAndKeysAreOnesOwn() async throws {
    try await AccountWorld.run { world async throws in
      let (ann, _) = try await Self.settle(world)
      let bob = try await world.token(of: "bob")
      _ = try await world.token()
      let lists = OpenAPI.operations.filter {
        $0.method == .get && $0.path.hasPrefix("/v1/") && $0.parameters.contains("cursor")
      }
      #expect(lists.count >= 2)
      for list in lists {
        let page = try await world.get("\(Exemplar.path(list.path))?limit=1", as: ann)
        let cursor = try #require(try page.json["next"]?.string, "\(list.path) has no second page")
        #expect(try await world.get("\(Exemplar.path(list.path))?limit=1&cursor=\(cursor)", as: ann).status == 200)
        let same: Fields = ["X-Request-Id": "same"]
        let foreign = try await world.get("\(Exemplar.path(list.path))?limit=1&cursor=\(cursor)", as: bob, same)
        let never = try await world.get("\(Exemplar.path(list.path))?limit=1&cursor=abcdef", as: bob, same)
        #expect(foreign.status == 400 && foreign.body == never.body, "\(list.path)")
      }
      for operation in OpenAPI.operations where operation.parameters.contains("idempotencyKey") {
        let route = "\(operation.method) \(operation.path)"
        let body = ScopeTests.bodies[route] ?? Exemplar.bodies[route]
        let mine = try await Self.ask(world, operation, [:], as: ann, body, [.idempotencyKey: "anns-key"])
        let again = try await Self.ask(world, operation, [:], as: ann, body, [.idempotencyKey: "anns-key"])
        #expect(again["Idempotency-Replayed"] == "true" && again.body == mine.body, "\(route)")
        let foreign = try await Self.ask(world, operation, [:], as: bob, body, [.idempotencyKey: "anns-key"])
        #expect(foreign["Idempotency-Replayed"] == nil, "\(route)")
      }
    }
  }

  /// Every POST with a token can be repeated under a key, and the document says so.
  @Test func everyPostTakesAKey() {
    for operation in OpenAPI.operations where operation.method == .post {
      #expect(
        operation.parameters.contains("idempotencyKey") == !IdempotencyMiddleware.withoutKeys.contains(operation.path),
        "\(operation.path)")
    }
  }

  // MARK: Ann

  /// Ann, who has one of everything.
  private static func settle(_ world: TestWorld) async throws -> (String, Belongings) {
    let ann = try await world.token()
    let body = #"{"note": "\#(canary)", "tags": ["\#(canary)"]}"#
    for path in ["photo/4711", "photo/4713", "github-user/1"] {
      #expect(try await world.send(.put, "/v1/favorites/\(path)", as: ann, body: body).status == 201)
    }
    for name in [canary, "b"] {
      let answer = try await world.send(.post, "/v1/collections", as: ann, body: #"{"name": "\#(name)"}"#)
      #expect(answer.status == 201)
    }
    let collections = Array(try #require(try await world.get("/v1/collections", as: ann).json["items"]).elements)
    #expect(
      try await world.send(.patch, "/v1/account", as: ann, body: #"{"display_name": "\#(canary)"}"#).status == 200)
    let order = try await world.send(
      .post, "/github/users/\(canary)/refresh", as: ann, [.idempotencyKey: "settling"], body: #"{"what": ["profile"]}"#)
    let orders = Array(try #require(try order.json["jobs"]).elements)
    let sessions = Array(try #require(try await world.get("/v1/sessions", as: ann).json["items"]).elements)
    let job = try #require(orders[0]["job"]?.int)
    let session = try #require(sessions[0]["id"]?.string)
    let collection = try #require(collections[0]["id"]?.string)
    return (ann, Belongings(session: session, job: String(job), collection: collection))
  }

  /// All that is Ann's, as text.
  private static func state(_ world: TestWorld) async throws -> [String] {
    try await world.owner.query(
      """
      SELECT f::text FROM magpie.favorite f JOIN magpie.account a ON a.id = f.account_id WHERE a.username = 'ann'
      UNION ALL SELECT c::text FROM magpie.collection c JOIN magpie.account a ON a.id = c.account_id WHERE a.username = 'ann'
      UNION ALL SELECT v::text FROM magpie.activity v JOIN magpie.account a ON a.id = v.account_id WHERE a.username = 'ann'
      UNION ALL SELECT (s.id, s.revoked_at, s.device, s.scopes)::text FROM magpie.session s
        JOIN magpie.account a ON a.id = s.account_id WHERE a.username = 'ann'
      UNION ALL SELECT a::text FROM magpie.account a WHERE a.username = 'ann'
      UNION ALL SELECT k::text FROM magpie.idempotency_key k JOIN magpie.account a ON a.id = k.account_id WHERE a.username = 'ann'
      UNION ALL SELECT j::text FROM magpie.job_asker j JOIN magpie.account a ON a.id = j.account_id WHERE a.username = 'ann'
      ORDER BY 1
      """
    ).decode(String.self)
  }

  // MARK: Requests

  private static func ask(
    _ world: TestWorld, _ operation: OpenAPI.Operation, _ captures: [String: String], as token: String?,
    _ body: String?,
    _ more: Fields = [:]
  ) async throws -> Answer {
    var fields: Fields = ["X-Request-Id": "same", "Prefer": "wait=0"]
    for field in more { fields.append(field.name, field.value) }
    return try await world.send(
      operation.method, Exemplar.path(operation.path, captures), as: token, fields, body: body)
  }

  /// What an answer says, apart from when it says it and from the names that were in the question.
  private static func essence(_ answer: Answer, without captures: [String: String]) -> [String] {
    var texts = [String(answer.status), answer.text]
    for field in answer.fields where !["Date", "Server-Timing", "ETag", "Magpie-Job", "Age"].contains(field.name) {
      texts.append("\(field.name): \(field.value)")
    }
    let times = /\d{4}-\d\d-\d\dT[0-9:.]+Z/
    return texts.map { text in
      let named = captures.values.reduce(text) { $0.replacing("/\($1)", with: "/*").replacing("\"\($1)\"", with: "*") }
      // A list of devices tells to a minute when each was seen, and a version counts one's own changes.
      return named.replacing(times, with: "*").replacing(/"version":\d+/, with: "").replacing(
        /"(job|id)":\d+/, with: ""
      )
      .replacing(/"url":"\/v1\/jobs\/\d+"/, with: "")
      // A window of nobody's ends from now on.
      .replacing(/(reset":|-Reset: )\d+/, with: "")
    }
  }
}
