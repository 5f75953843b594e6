import HTTP
import Magpie
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// Ways to get a token, and ways to lose it.
@Suite struct AccountTests {
  private static func run(
    open: Bool = false, _ body: @escaping @Sendable (TestWorld) async throws -> Void
  ) async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    options.allowsSignUp = open
    try await TestWorld.run(options, body)
  }

  private static func redeem(_ world: TestWorld, _ code: String, _ password: String = "tr0ubador&3") async throws
    -> Answer
  {
    try await world.send(
      .post, "/v1/invitations/redeem", as: nil,
      body: #"{"code": "\#(code)", "password": "\#(password)", "device": "phone"}"#)
  }

  private static func signIn(_ world: TestWorld, _ username: String, _ password: String) async throws -> Answer {
    try await world.send(
      .post, "/v1/sessions", as: nil, ["X-Request-Id": "same"],
      body: #"{"username": "\#(username)", "password": "\#(password)"}"#)
  }

  @Test func codeIsGoodOnce() async throws {
    try await Self.run { world async throws in
      let code: String = try await world.value("SELECT admin.create_account('Ann', 'Ann B.')")
      #expect(Secret(code, kind: .invitation) != nil)
      let first = try await Self.redeem(world, code)
      #expect(first.status == 201)
      #expect(first[.cacheControl] == "no-store")
      #expect(try first.json["account"]?["username"]?.string == "ann")
      #expect(try first.json["account"]?["display_name"]?.string == "Ann B.")
      let token = try #require(try first.json["token"]?.string)
      #expect(Secret(token, kind: .token) != nil)
      #expect(try await world.get("/v1/favorites", as: token).status == 200)
      let second = try await Self.redeem(world, code, "another&word9")
      #expect(second.status == 403)
      #expect(second.code == "accounts/invalid-code")
      // The first password stands, and the second device is another session.
      #expect(try await Self.signIn(world, "ann", "another&word9").status == 401)
      let third = try await Self.signIn(world, "ANN", "tr0ubador&3")
      #expect(third.status == 201)
      #expect(try third.json["session"]?["id"]?.string != first.json["session"]?["id"]?.string)
      #expect(try await world.value("SELECT count(*) FROM magpie.session") == Int64(2))
      let stored: String = try await world.value("SELECT string_agg(s::text, '') FROM magpie.session s")
      #expect(!stored.contains(token.dropFirst(4).prefix(30)))
    }
  }

  @Test func codesThatAreNoGoodAreOneAnswer() async throws {
    try await Self.run { world async throws in
      let expired: String = try await world.value("SELECT admin.create_account('expired')")
      try await world.sql("UPDATE magpie.invitation SET expires_at = now()")
      let disabled: String = try await world.value("SELECT admin.create_account('disabled')")
      try await world.sql("SELECT admin.disable_account('disabled', 'test')")
      let unknown = Secret(random: .invitation).text
      var bodies: Set<String> = []
      for code in [expired, disabled, unknown, "mgi_short", "", unknown.replacing("mgi_", with: "mgp_"), "x\u{301}"] {
        let answer = try await world.send(
          .post, "/v1/invitations/redeem", as: nil, ["X-Request-Id": "same"],
          body: #"{"code": "\#(code)", "password": "tr0ubador&3"}"#)
        #expect(answer.status == 403, "\(code)")
        bodies.insert(answer.text)
      }
      #expect(bodies.count == 1)
      // Let in again, the owner can still use the code.
      try await world.sql("SELECT admin.enable_account('disabled')")
      #expect(try await Self.redeem(world, disabled).status == 201)
    }
  }

  @Test func newPasswordEndsWhatTheOldOneOpened() async throws {
    try await Self.run { world async throws in
      let code: String = try await world.value("SELECT admin.create_account('ann')")
      let token = try #require(try await Self.redeem(world, code).json["token"]?.string)
      let reset: String = try await world.value("SELECT admin.reset_password('ann')")
      let other: String = try await world.value("SELECT admin.reset_password('ann')")
      #expect(try await world.get("/v1/favorites", as: token).status == 200)
      #expect(try await Self.signIn(world, "ann", "tr0ubador&3").status == 201)
      #expect(try await Self.redeem(world, reset, "brand-new&word").status == 201)
      #expect(try await world.get("/v1/favorites", as: token).status == 401)
      #expect(try await Self.signIn(world, "ann", "tr0ubador&3").status == 401)
      #expect(try await Self.redeem(world, other).status == 403)
      #expect(try await Self.signIn(world, "ann", "brand-new&word").status == 201)
    }
  }

  @Test func wrongPasswordAndUnknownNameAreOneAnswer() async throws {
    try await Self.run { world async throws in
      let code: String = try await world.value("SELECT admin.create_account('ann')")
      try await world.sql("SELECT admin.create_account('invited')")
      #expect(try await Self.redeem(world, code).status == 201)
      let wrong = try await Self.signIn(world, "ann", "tr0ubador&4")
      #expect(wrong.status == 401 && wrong.code == "auth/wrong-password")
      #expect(wrong[.wwwAuthenticate] == "Bearer realm=\"magpie\"")
      for (name, password) in [
        ("nobody", "tr0ubador&3"), ("invited", ""), ("", ""), ("ann", String(repeating: "a", count: 1_025)),
      ] {
        let answer = try await Self.signIn(world, name, password)
        #expect(answer.status == 401 && answer.body == wrong.body, "\(name)")
        #expect(answer.fields.map(\.name.description) == wrong.fields.map(\.name.description))
      }
      for body in [
        "{}", #"{"username": "ann"}"#, #"{"username": 1, "password": "x"}"#,
        #"{"username": "a\u0000", "password": "x"}"#,
      ] {
        #expect(try await world.send(.post, "/v1/sessions", as: nil, body: body).status == 422, "\(body)")
      }
    }
  }

  @Test func signingUpIsClosedUnlessOpened() async throws {
    let body = #"{"username": "Ann_-1", "password": "tr0ubador&3", "display_name": "A"}"#
    try await Self.run { world async throws in
      let answer = try await world.send(.post, "/v1/accounts", as: nil, body: body)
      #expect(answer.status == 403 && answer.code == "accounts/signup-closed")
      #expect(try await world.value("SELECT count(*) FROM magpie.account") == Int64(0))
    }
    try await Self.run(open: true) { world async throws in
      let answer = try await world.send(.post, "/v1/accounts", as: nil, body: body)
      #expect(answer.status == 201)
      #expect(try answer.json["account"]?["username"]?.string == "ann_-1")
      let token = try #require(try answer.json["token"]?.string)
      #expect(try await world.send(.put, "/v1/favorites/photo/1", as: token).status == 201)
      let taken = try await world.send(.post, "/v1/accounts", as: nil, body: body.replacing("Ann", with: "aNN"))
      #expect(taken.status == 409 && taken.code == "accounts/username-taken")
      for (name, password, pointer) in [
        ("ab", "tr0ubador&3", "/username"), (String(repeating: "a", count: 40), "tr0ubador&3", "/username"),
        ("a b", "tr0ubador&3", "/username"), ("añn", "tr0ubador&3", "/username"), ("bob", "1234567", "/password"),
        ("bob", "password1", "/password"), ("bob", String(repeating: "ab&3", count: 257), "/password"),
      ] {
        let refused = try await world.send(
          .post, "/v1/accounts", as: nil, body: #"{"username": "\#(name)", "password": "\#(password)"}"#)
        #expect(refused.status == 422 && refused.pointers == [pointer], "\(name) \(password.prefix(20))")
      }
      let longest = String(repeating: "a", count: 39)
      let password = String(repeating: "ab&3", count: 256)
      let good = try await world.send(
        .post, "/v1/accounts", as: nil, body: #"{"username": "\#(longest)", "password": "\#(password)"}"#)
      #expect(good.status == 201)
      #expect(try await Self.signIn(world, longest, password).status == 201)
    }
  }

  @Test func tokensEndAtOnce() async throws {
    try await Self.run { world async throws in
      let end: [(String, Query)] = [
        ("disabled", "SELECT admin.disable_account('disabled', 'test')"),
        ("deleted", "SELECT admin.delete_account('deleted')"),
        ("revoked", "SELECT admin.revoke_tokens('revoked')"),
        ("expired", "UPDATE magpie.session SET expires_at = now() WHERE account_id = admin.account_id('expired')"),
      ]
      for (name, statement) in end {
        let token = try await world.token(of: name)
        #expect(try await world.get("/v1/favorites", as: token).status == 200)
        try await world.sql(statement)
        for (method, path) in [
          (Method.get, "/v1/favorites"), (.get, "/github/users/octocat"), (.get, "/github/users/octocat/followers"),
          (.get, "/github/users/octocat/followers?q=a"), (.put, "/v1/favorites/photo/1"),
          (.delete, "/v1/favorites/photo/1"),
          (.get, "/v1/favorites/photo/1"), (.get, "/v1/jobs/1"), (.put, "/v1/favorites/github-user/@octocat"),
        ] {
          let answer = try await world.send(method, path, as: token)
          #expect(answer.status == 401 && answer.code == "auth/invalid-token", "\(name) \(path)")
          #expect(answer[.wwwAuthenticate] == "Bearer realm=\"magpie\", error=\"invalid_token\"")
        }
      }
      try await world.sql("SELECT admin.enable_account('disabled')")
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(0))
    }
  }

  @Test func scopesAreKept() async throws {
    try await Self.run { world async throws in
      let reader = try await world.token(scopes: ["read"])
      #expect(try await world.get("/v1/favorites", as: reader).status == 200)
      for method in [Method.put, .delete] {
        let answer = try await world.send(method, "/v1/favorites/photo/1", as: reader)
        #expect(answer.status == 403 && answer.code == "auth/insufficient-scope")
        #expect(answer[.wwwAuthenticate]?.hasSuffix("scope=\"write\"") == true)
      }
      let writer = try await world.token(scopes: ["write"])
      #expect(try await world.send(.put, "/v1/favorites/photo/1", as: writer).status == 201)
      let answer = try await world.get("/v1/favorites", as: writer)
      #expect(answer.status == 403)
      #expect(answer[.wwwAuthenticate]?.hasSuffix("scope=\"read\"") == true)
    }
  }

  @Test func tokensOfTheWrongShapeNeverReachTheDatabase() async throws {
    try await Self.run { world async throws in
      let token = try await world.token()
      await world.servers[0].database.stop()
      let shapes = [
        "", "x", "mgp_", String(token.dropLast()), token + "0", token.replacing("mgp_", with: "mgi_"),
        token.uppercased(),
        String(token.dropLast()) + (token.hasSuffix("0") ? "1" : "0"), Secret(random: .invitation).text,
        "mgp_" + String(repeating: "é", count: 18),
      ]
      for shape in shapes {
        for path in ["/v1/favorites", "/github/users/octocat", "/v1/jobs/1"] {
          #expect(try await world.get(path, as: shape).status == 401, "\(shape)")
        }
      }
      let missing = try await world.get("/v1/favorites", as: nil)
      #expect(missing.status == 401 && missing.code == "auth/missing")
      #expect(missing[.wwwAuthenticate] == "Bearer realm=\"magpie\"")
      #expect(try await world.get("/v1/favorites", as: nil, [.authorization: "token \(token)"]).status == 401)
      #expect(try await world.get("/github/users/octocat", as: nil).json["message"]?.string == "Bad credentials")
      // A good one does, and the database is away.
      for value in ["token \(token)", "BEARER \(token)"] {
        let answer = try await world.get("/github/users/octocat", as: nil, [.authorization: value])
        #expect(answer.status == 503 && answer.code == "server/database-unavailable")
        #expect(answer[.retryAfter] == "2")
      }
    }
  }

  /// The note of when a device was last seen may be lost; what somebody writes may not.
  @Test(arguments: [("read", "off"), ("write", "on")])
  func onlyReadsNoteTheDeviceWithoutTheDisk(scope: String, expected: String) async throws {
    try await TestWorld.run(TestWorld.Options(.init("octocat", followers: 1))) { world async throws in
      let token = try #require(Secret(try await world.token(), kind: .token))
      try await world.owner.query("UPDATE magpie.session SET last_seen_at = now() - interval '1 hour'")
      let setting = try await world.owner.transaction { transaction in
        _ = try await transaction.query("SET LOCAL synchronous_commit = on")
        _ = try await transaction.query("SELECT magpie.authenticate(\(token.hash), \(scope))")
        return try await transaction.query("SELECT current_setting('synchronous_commit')")[0].decode(String.self)
      }
      #expect(setting == expected)
      #expect(
        try await world.value("SELECT max(now() - last_seen_at) < interval '1 minute' FROM magpie.session") == true)
    }
  }
}
