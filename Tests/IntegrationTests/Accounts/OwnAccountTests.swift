import HTTP
import JSONText
import Magpie
import Postgres
import TestSupport
import Testing
import WorldSupport

/// What people do with their own account.
@Suite struct OwnAccountTests {
  @Test func settingsAreShownAndChanged() async throws {
    try await AccountWorld.run { world async throws in
      let token = try await world.token()
      for path in ["photo/1", "photo/2", "gif/a"] {
        #expect(try await world.send(.put, "/v1/favorites/\(path)", as: token).status == 201)
      }
      #expect(try await world.send(.delete, "/v1/favorites/photo/2", as: token).status == 204)
      let shown = try await world.get("/v1/account", as: token)
      #expect(shown.status == 200)
      let tag = try #require(shown[.etag])
      #expect(try await world.get("/v1/account", as: token, [.ifNoneMatch: tag]).status == 304)
      let account = try shown.json
      #expect(account["username"]?.string == "ann" && account["display_name"]?.isNull == true)
      #expect(account["locale"]?.string == "en" && account["gif_rating"]?.string == "g")
      #expect(account["version"]?.int == 4)
      let counts = try #require(account["counts"])
      #expect(counts["favorites"]?["photo"]?.int == 1 && counts["favorites"]?["gif"]?.int == 1)
      #expect(counts["favorites"]?["github-user"]?.int == 0)
      #expect(counts["tombstones"]?.int == 1 && counts["devices"]?.int == 1)

      let body = #"{"display_name": "Ann é ش", "locale": "pt-BR", "gif_rating": "pg-13"}"#
      let changed = try await world.send(.patch, "/v1/account", as: token, [.ifMatch: tag], body: body)
      #expect(changed.status == 200)
      #expect(try changed.json["display_name"]?.string == "Ann é ش")
      #expect(try changed.json["locale"]?.string == "pt-BR")
      #expect(try changed.json["gif_rating"]?.string == "pg-13")
      #expect(changed[.etag] != tag)
      #expect(try await world.get("/v1/account", as: token).body == changed.body)
      let stale = try await world.send(.patch, "/v1/account", as: token, [.ifMatch: tag], body: #"{"locale": "de"}"#)
      #expect(stale.status == 412 && stale.code == "accounts/changed")
      #expect(try stale.json["server"]?["locale"]?.string == "pt-BR")
      #expect(stale[.etag] == changed[.etag])
      for condition in ["*", "\"other\", \(changed[.etag] ?? "")"] {
        let answer = try await world.send(.patch, "/v1/account", as: token, [.ifMatch: condition], body: "{}")
        #expect(answer.status == 200 && answer.body == changed.body, "\(condition)")
      }
      let cleared = try await world.send(.patch, "/v1/account", as: token, body: #"{"display_name": null}"#)
      #expect(try cleared.json["display_name"]?.isNull == true)
      #expect(try cleared.json["locale"]?.string == "pt-BR")
    }
  }

  @Test func badSettingsAreRefusedWithTheirPlace() async throws {
    try await AccountWorld.run({ $0.allowsSignUp = true }) { world async throws in
      let token = try await world.token()
      let long = String(repeating: "é", count: 101)
      for (body, pointer) in [
        (#"{"display_name": ""}"#, "/display_name"), (#"{"display_name": "\#(long)"}"#, "/display_name"),
        (#"{"display_name": "a\u0000"}"#, "/display_name"), (#"{"display_name": "a\u001bb"}"#, "/display_name"),
        (#"{"display_name": "a\u0085"}"#, "/display_name"), (#"{"display_name": "a\u202ecba"}"#, "/display_name"),
        (#"{"display_name": "\u2067a"}"#, "/display_name"), (#"{"display_name": "a\u2028b"}"#, "/display_name"),
        (#"{"display_name": 1}"#, "/display_name"), (#"{"locale": null}"#, "/locale"),
        (#"{"locale": "EN"}"#, "/locale"),
        (#"{"locale": "e"}"#, "/locale"), (#"{"locale": "en_GB"}"#, "/locale"), (#"{"locale": "en-"}"#, "/locale"),
        (#"{"locale": "de-\#(String(repeating: "abcdefgh-", count: 4))"}"#, "/locale"),
        (#"{"gif_rating": "x"}"#, "/gif_rating"), (#"{"username": "bob"}"#, "/username"),
        (#"{"version": 9}"#, "/version"),
      ] {
        let answer = try await world.send(.patch, "/v1/account", as: token, body: body)
        #expect(answer.status == 422 && answer.pointers == [pointer], "\(body) \(answer.pointers)")
      }
      let longest = String(repeating: "é", count: 100)
      #expect(
        try await world.send(.patch, "/v1/account", as: token, body: #"{"display_name": "\#(longest)"}"#).status == 200)
      #expect(try await world.send(.patch, "/v1/account", as: token, body: "[]").status == 422)
      #expect(try await world.send(.patch, "/v1/account", as: token, body: "{").status == 400)
      #expect(try await world.send(.patch, "/v1/account", as: nil, body: "{}").status == 401)
      // The same rule wherever names come in, and in the database.
      let signUp = #"{"username": "cem", "password": "tr0ubador&3", "display_name": "\u202ea", "device": "\u0007"}"#
      #expect(
        try await world.send(.post, "/v1/accounts", as: nil, body: signUp).pointers.sorted() == [
          "/device", "/display_name",
        ])
      for name in ["a\u{202E}b", "a\nb", "\u{9F}"] {
        await #expect(throws: PostgresError.self) {
          try await world.sql("UPDATE magpie.account SET display_name = \(name)")
        }
        await #expect(throws: PostgresError.self) { try await world.sql("UPDATE magpie.session SET device = \(name)") }
      }
    }
  }

  @Test func passwordIsChanged() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      let mine = try await world.signedIn("ann")
      let other = try await world.signedIn("ann")
      let code: String = try await world.value("SELECT admin.reset_password('ann')")
      func change(_ body: String, as token: String?) async throws -> Answer {
        try await world.send(
          .put, "/v1/account/password", as: token, [.xForwardedFor: "192.0.2.1"], body: body)
      }
      let wrong = try await change(#"{"current": "tr0ubador&4", "new": "brand-new&word"}"#, as: mine)
      #expect(wrong.status == 403 && wrong.code == "auth/wrong-password")
      for (body, pointer) in [
        (#"{"current": "tr0ubador&3", "new": "short"}"#, "/new"),
        (#"{"current": "tr0ubador&3", "new": "ann12345"}"#, "/new"),
        (#"{"current": "tr0ubador&3"}"#, "/new"), (#"{"new": "brand-new&word"}"#, "/current"),
        (#"{"current": "tr0ubador&3", "new": "brand-new&word", "end_other_sessions": 1}"#, "/end_other_sessions"),
        (#"{"current": "tr0ubador&3", "new": "brand-new&word", "more": 1}"#, "/more"),
      ] {
        let answer = try await change(body, as: mine)
        #expect(answer.status == 422 && answer.pointers == [pointer], "\(body)")
      }
      #expect(try await change(#"{"current": "tr0ubador&3", "new": "brand-new&word"}"#, as: mine).status == 204)
      #expect(try await world.get("/v1/account", as: other).status == 200)
      #expect(try await world.signIn("ann").status == 401)
      #expect(try await world.signIn("ann", "brand-new&word").status == 201)
      let redeemed = try await world.send(
        .post, "/v1/invitations/redeem", as: nil, body: #"{"code": "\#(code)", "password": "tr0ubador&3"}"#)
      #expect(redeemed.status == 403)
      let last = #"{"current": "brand-new&word", "new": "third-word&9", "end_other_sessions": true}"#
      #expect(try await change(last, as: mine).status == 204)
      #expect(try await world.get("/v1/account", as: other).status == 401)
      #expect(try await world.get("/v1/account", as: mine).status == 200)
      #expect(try await change(last, as: nil).status == 401)
      #expect(try await change(last, as: other).status == 401)
      #expect(try await world.value("SELECT count(*) >= 2 FROM magpie.audit WHERE action = 'password'") == true)

      // Whoever has found a token cannot guess the password with it.
      for _ in 0..<5 { _ = try await change(#"{"current": "a guess", "new": "brand-new&word"}"#, as: mine) }
      try await world.sql("UPDATE magpie.attempt SET blocked_until = blocked_until + interval '1 hour'")
      let throttled = try await change(#"{"current": "third-word&9", "new": "brand-new&word"}"#, as: mine)
      #expect(throttled.status == 429 && throttled[.retryAfter] != nil)
    }
  }

  @Test func deletionIsTakenBackOrFinal() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      let token = try await world.signedIn("ann")
      #expect(try await world.send(.put, "/v1/favorites/photo/1", as: token).status == 201)
      func delete(_ password: String, as token: String) async throws -> Answer {
        try await world.send(
          .delete, "/v1/account", as: token, [.xForwardedFor: "192.0.2.1"], body: #"{"password": "\#(password)"}"#)
      }
      #expect(try await world.send(.delete, "/v1/account", as: token).status == 400)
      #expect(try await world.send(.delete, "/v1/account", as: token, body: "{}").pointers == ["/password"])
      #expect(try await delete("wrong", as: token).code == "auth/wrong-password")
      #expect(try await world.get("/v1/account", as: token).status == 200)
      #expect(try await delete("tr0ubador&3", as: token).status == 204)
      #expect(try await world.get("/v1/account", as: token).status == 401)
      #expect(try await world.signIn("ann").status == 401)
      #expect(try await world.signIn("ann", "wrong", path: "/v1/account/restore").status == 401)
      let restored = try await world.signIn("ann", path: "/v1/account/restore")
      #expect(restored.status == 201)
      let again = try #require(try restored.json["token"]?.string)
      #expect(try await world.get("/v1/favorites/photo/1", as: again).status == 200)
      // What was signed in stays out; doing it twice is signing in twice.
      #expect(try await world.get("/v1/account", as: token).status == 401)
      #expect(try await world.signIn("ann", path: "/v1/account/restore").status == 201)

      // An administrator's word is not for the owner to take back.
      try await world.sql("SELECT admin.delete_account('ann')")
      #expect(try await world.signIn("ann", path: "/v1/account/restore").status == 401)
      try await world.sql("SELECT admin.enable_account('ann')")
      #expect(try await delete("tr0ubador&3", as: again).status == 204)
      // Nothing is erased before its time.
      #expect(try await world.value("SELECT magpie.erase_account()") == false)
      try await world.sql(
        "UPDATE magpie.account SET deleted_at = now() - interval '30 days', deletion_asked_at = now() - interval '30 days'"
      )
      #expect(try await world.signIn("ann", path: "/v1/account/restore").status == 401)
      _ = try await world.token(of: "bob")
      #expect(try await world.value("SELECT magpie.erase_account()") == true)
      #expect(try await world.value("SELECT magpie.erase_account()") == false)
      #expect(try await world.value("SELECT string_agg(username, ',') FROM magpie.account") == "bob")
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(0))
      #expect(try await world.value("SELECT count(*) FROM magpie.audit u WHERE u::text LIKE '%\"ann\"%'") == Int64(0))
    }
  }
}
