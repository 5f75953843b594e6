import HTTP
import Magpie
import Testing
import WorldSupport

@testable import MagpieAPI

/// Browsers: tokens in cookies, and requests that other sites might have sent.
@Suite struct BrowserTests {
  /// What a page of ours sends along.
  private static let ours: Fields = ["Sec-Fetch-Site": "same-origin", "X-Magpie-CSRF": "1"]

  private static func cookie(_ answer: Answer) throws -> String {
    let line = try #require(answer[.setCookie])
    return String(line.prefix { $0 != ";" })
  }

  @Test func tokenGoesIntoACookie() async throws {
    try await AccountWorld.run({ $0.allowsSignUp = true }) { world async throws in
      try await world.account("ann")
      let answer = try await world.signIn("ann", Self.ours, cookie: true)
      #expect(answer.status == 201)
      #expect(try answer.json["token"] == nil && answer.json["session"] != nil)
      let line = try #require(answer[.setCookie])
      #expect(line.hasPrefix("mgp=mgp_") && line.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"))
      #expect(!answer.text.contains("mgp_"))
      let cookie = try Self.cookie(answer)
      let shown = try await world.get("/v1/account", as: nil, ["Cookie": "a=b; \(cookie)"])
      #expect(shown.status == 200 && shown["Vary"]?.contains("Cookie") == true)
      let listed = try await world.get("/v1/sessions", as: nil, ["Cookie": cookie]).json
      for session in try #require(listed["items"]).elements {
        #expect(session["browser"]?.bool == true && session["expires_at"]?.string != nil)
      }
      // A token goes before the cookie, also one that is no good; the name must be ours; two are one too many.
      let bob = try await world.token(of: "bob")
      let both = try await world.get("/v1/account", as: bob, ["Cookie": cookie])
      #expect(try both.json["username"]?.string == "bob")
      #expect(try await world.get("/v1/account", as: "nonsense", ["Cookie": cookie]).status == 401)
      for cookies in ["__Host-\(cookie)", "x\(cookie)", "mgp=", "mgp=mgp_x", "\(cookie); mgp=\(bob)", "mgp=\(cookie)"] {
        #expect(try await world.get("/v1/account", as: nil, ["Cookie": cookies]).status == 401, "\(cookies.prefix(12))")
      }
      #expect(try await world.get("/github/rate_limit", as: nil, ["Cookie": cookie]).status == 200)
      // Idle for seven days, or thirty days old.
      try await world.sql(
        "UPDATE magpie.session SET last_seen_at = now() - interval '6 days' WHERE idle_timeout IS NOT NULL")
      #expect(try await world.get("/v1/account", as: nil, ["Cookie": cookie]).status == 200)
      try await world.sql(
        "UPDATE magpie.session SET last_seen_at = now() - interval '7 days' WHERE idle_timeout IS NOT NULL")
      #expect(try await world.get("/v1/account", as: nil, ["Cookie": cookie]).status == 401)
      #expect(
        try await world.value(
          "SELECT expires_at = created_at + interval '30 days' FROM magpie.session WHERE idle_timeout IS NOT NULL")
          == true)

      // Signing up and redeeming can do the same.
      let body = #"{"username": "cem", "password": "tr0ubador&3", "cookie": true}"#
      let signedUp = try await world.send(.post, "/v1/accounts", as: nil, Self.ours, body: body)
      #expect(signedUp.status == 201 && signedUp[.setCookie] != nil && !signedUp.text.contains("mgp_"))
      let code: String = try await world.value("SELECT admin.create_account('dan')")
      let redeemed = try await world.send(
        .post, "/v1/invitations/redeem", as: nil, Self.ours,
        body: #"{"code": "\#(code)", "password": "tr0ubador&3", "cookie": true}"#)
      #expect(redeemed.status == 201 && redeemed[.setCookie] != nil)
    }
  }

  @Test func otherSitesChangeNothing() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      let cookie = try Self.cookie(try await world.signIn("ann", Self.ours, cookie: true))
      let origin = world.servers[0].baseURL
      func put(_ fields: Fields, body: String? = "{}", type: String = "application/json") async throws -> Answer {
        var fields = fields
        fields.append("Cookie", cookie)
        if body != nil { fields.append(.contentType, type) }
        return try await world.sendRaw(.put, "/v1/favorites/photo/1", fields, body: body)
      }
      for fields: Fields in [
        Self.ours, ["Origin": origin, "X-Magpie-CSRF": "1"],
        ["Origin": "https://elsewhere.example", "Sec-Fetch-Site": "same-origin", "X-Magpie-CSRF": "1"],
      ] {
        #expect((200...201).contains(try await put(fields).status), "\(fields.map(\.name))")
      }
      #expect(try await put(Self.ours, type: "Application/JSON; charset=utf-8").status == 200)
      for fields: Fields in [
        [:], ["X-Magpie-CSRF": "1"], ["Sec-Fetch-Site": "same-origin"],
        ["Sec-Fetch-Site": "same-origin", "X-Magpie-CSRF": "0"],
        ["Sec-Fetch-Site": "same-site", "X-Magpie-CSRF": "1"], ["Sec-Fetch-Site": "cross-site", "X-Magpie-CSRF": "1"],
        ["Sec-Fetch-Site": "none", "X-Magpie-CSRF": "1"], ["Origin": "null", "X-Magpie-CSRF": "1"],
        ["Origin": "https://elsewhere.example", "X-Magpie-CSRF": "1"],
        ["Origin": "\(origin).elsewhere.example", "X-Magpie-CSRF": "1"],
        ["Sec-Fetch-Site": "cross-site", "Origin": origin, "X-Magpie-CSRF": "1"],
      ] {
        let answer = try await put(fields)
        #expect(answer.status == 403 && answer.code == "auth/cross-site", "\(fields.map(\.value))")
        // Signing in is a change, too.
        #expect(try await world.signIn("ann", fields, cookie: true).code == "auth/cross-site")
      }
      #expect(try await put(Self.ours, type: "text/plain").status == 403)
      #expect(try await put(Self.ours, body: nil).status == 200)
      // With a token nobody asks for all this.
      let token = try await world.token()
      #expect(
        try await world.send(
          .put, "/v1/favorites/photo/1", as: token, ["Cookie": cookie, "Sec-Fetch-Site": "cross-site"]
        ).status == 200)

      var leaving = Self.ours
      leaving.append("Cookie", cookie)
      let left = try await world.send(.delete, "/v1/sessions/current", as: nil, leaving)
      #expect(left.status == 204)
      #expect(left[.setCookie] == "mgp=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0")
      #expect(try await world.get("/v1/account", as: nil, ["Cookie": cookie]).status == 401)
    }
  }

  @Test func cookieIsBoundToItsHostWhereThereIsTLS() async throws {
    try await AccountWorld.run({ $0.publicURL = "https://Magpie.example:443/base" }) { world async throws in
      try await world.account("ann")
      let fields: Fields = ["Origin": "https://magpie.example", "X-Magpie-CSRF": "1"]
      let answer = try await world.signIn("ann", fields, cookie: true)
      let line = try #require(answer[.setCookie])
      #expect(line.hasPrefix("__Host-mgp=mgp_"))
      #expect(line.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=2592000"))
      let cookie = try Self.cookie(answer)
      #expect(try await world.get("/v1/account", as: nil, ["Cookie": cookie]).status == 200)
      // Anybody on a neighboring host could set this one.
      #expect(try await world.get("/v1/account", as: nil, ["Cookie": String(cookie.dropFirst(7))]).status == 401)

      // Pages come from elsewhere than this server listens, so they may read what a token may read.
      let token = try await world.token()
      let shown = try await world.get("/v1/account", as: token, ["Origin": "https://magpie.example"])
      #expect(shown["Access-Control-Allow-Origin"] == "https://magpie.example")
      #expect(shown["Access-Control-Allow-Credentials"] == nil)
      #expect(shown["Vary"] == "Authorization, Cookie, Origin")
      #expect(shown["Access-Control-Expose-Headers"]?.contains("ETag") == true)
      for path in ["/v1/account", "/nowhere"] {
        for origin in ["https://magpie.example.elsewhere", "null", "http://magpie.example"] {
          let answer = try await world.get(path, as: token, ["Origin": origin])
          #expect(answer["Access-Control-Allow-Origin"] == nil && answer["Vary"]?.hasSuffix("Origin") == true)
          #expect(answer.status == (path == "/nowhere" ? 404 : 200))
        }
      }
      let wrong = try await world.get("/v1/account", as: nil, ["Origin": "https://magpie.example"])
      #expect(wrong.status == 401 && wrong["Access-Control-Allow-Origin"] == "https://magpie.example")
      let asked: Fields = [
        "Origin": "https://magpie.example", "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization",
      ]
      let preflight = try await world.send(.options, "/v1/favorites/photo/1", as: nil, asked)
      #expect(preflight.status == 204)
      #expect(preflight["Access-Control-Allow-Methods"]?.contains("PUT") == true)
      #expect(preflight["Access-Control-Allow-Headers"]?.contains("Authorization") == true)
      #expect(preflight["Access-Control-Max-Age"] == "600")
    }
  }

  @Test func nothingIsSharedUnlessAskedFor() async throws {
    try await AccountWorld.run { world async throws in
      let token = try await world.token()
      for origin in [world.servers[0].baseURL, "https://elsewhere.example"] {
        let answer = try await world.get("/v1/account", as: token, ["Origin": origin])
        #expect(answer.status == 200 && answer["Access-Control-Allow-Origin"] == nil)
        #expect(answer["Vary"] == "Authorization, Cookie")
      }
    }
  }

  @Test func originsAreAsBrowsersWriteThem() {
    for (url, origin) in [
      ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("HTTPS://A.example:443/x?y", "https://a.example"),
      ("http://a.example:80", "http://a.example"), ("http://[::1]:8080/", "http://[::1]:8080"),
    ] {
      #expect(WebOrigin.of(url) == origin)
    }
    for url in ["", "a.example", "ftp://a.example", "https:///x"] { #expect(WebOrigin.of(url) == nil) }
    for (url, isSecure) in [
      ("http://127.0.0.1:8080", false), ("http://localhost", false), ("http://localhost:1", false),
      ("http://[::1]:1", false),
      ("https://localhost", true), ("http://localhost.example", true), ("http://192.0.2.1", true),
      ("http://a.example", true),
    ] {
      #expect(BrowserSessions(publicURL: url).isSecure == isSecure, "\(url)")
    }
  }
}

extension TestWorld {
  fileprivate func signIn(_ username: String, _ fields: Fields, cookie: Bool) async throws -> Answer {
    try await signIn(username, AccountWorld.password, fields, more: #", "cookie": \#(cookie)"#)
  }
}
