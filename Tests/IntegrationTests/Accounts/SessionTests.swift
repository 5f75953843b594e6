import HTTP
import Magpie
import Postgres
import TestSupport
import Testing
import WorldSupport

/// The list of devices, and their end.
@Suite struct SessionTests {
  @Test func devicesAreListed() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      try await world.account("bob")
      let phone = try await world.signedIn("ann", more: #", "device": "phone", "app": "Followers 2.1""#)
      let tablet = try await world.signedIn("ann", more: #", "device": "tablet""#)
      _ = try await world.signedIn("bob")
      try await world.sql(
        """
        UPDATE magpie.session SET expires_at = '2099-01-01T00:00:00Z', scopes = '{read}', sync_version = 0 WHERE device = 'phone'
        """)
      #expect(try await world.send(.put, "/v1/favorites/photo/1", as: tablet).status == 201)
      let answer = try await world.get("/v1/sessions", as: phone)
      #expect(answer.status == 200 && answer[.cacheControl] == "private, no-cache")
      #expect(try await world.get("/v1/sessions", as: phone, [.ifNoneMatch: answer[.etag] ?? ""]).status == 304)
      let items = Array(try #require(try answer.json["items"]).elements)
      #expect(items.map { $0["device"]?.string } == ["tablet", "phone"])
      #expect(items.map { $0["current"]?.bool } == [false, true])
      #expect(items.map { $0["lag"]?.int } == [nil, 1])
      #expect(items.map { $0["sync_version"]?.int } == [nil, 0])
      #expect(items[1]["app"]?.string == "Followers 2.1")
      #expect(items[1]["scopes"]?.elements.compactMap(\.string) == ["read"])
      #expect(items[1]["hint"]?.string == String(phone.suffix(4)))
      #expect(items[1]["expires_at"]?.string == "2099-01-01T00:00:00Z")
      #expect(items[0]["expires_at"]?.isNull == true && items[0]["browser"]?.bool == false)
      #expect(try answer.json["next"]?.isNull == true)
      #expect(!answer.text.contains(String(phone.dropLast(4))))
      // Page by page; a cursor is its reader's own.
      let first = try await world.get("/v1/sessions?limit=1", as: phone)
      let cursor = try #require(try first.json["next"]?.string)
      let second = try await world.get("/v1/sessions?limit=1&cursor=\(cursor)", as: phone)
      #expect(try second.json["items"]?.elements.map { $0["device"]?.string } == ["phone"])
      #expect(try second.json["next"]?.isNull == true)
      #expect(try await world.get("/v1/sessions?limit=1&cursor=\(cursor)", as: tablet).status == 400)
      #expect(try await world.get("/v1/sessions?limit=0", as: phone).status == 422)
      #expect(try await world.get("/v1/sessions", as: nil).status == 401)
    }
  }

  @Test func endlessTokensAreListed() async throws {
    try await AccountWorld.run { world async throws in
      let token = try await world.token()
      let bot: String = try await world.value("SELECT admin.issue_token('ann', 'bot', NULL, 'infinity')")
      #expect(
        try await world.value("SELECT s.expires_at IS NULL FROM magpie.session s WHERE s.device = 'bot'") == true)
      // By hand.
      for end in ["infinity", "10000-01-01T00:00:00Z"] {
        try await world.sql("UPDATE magpie.session SET expires_at = \(end)::text::timestamptz WHERE device = 'bot'")
        let answer = try await world.get("/v1/sessions", as: token)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.json["items"]?.elements.map { $0["expires_at"]?.isNull } == [true, true], "\(end)")
        #expect(try await world.get("/v1/sessions", as: bot).status == 200)
      }
      #expect(world.servers[0].failures.entries.isEmpty)
    }
  }

  @Test func revokingWorksAtOnceAndIsTold() async throws {
    try await AccountWorld.run { world async throws in
      let heard = Record<String>()
      let notices = Notices(database: world.owner)
      notices.on("magpie_sessions") { heard.add($0 ?? "listening") }
      notices.start()
      try await eventually { !heard.entries.isEmpty }
      let ann = try await world.token()
      let other = try await world.token()
      let bob = try await world.token(of: "bob")
      func id(_ token: String) async throws -> String {
        let items = Array(try #require(try await world.get("/v1/sessions", as: token).json["items"]).elements)
        return try #require(items.first { $0["current"]?.bool == true }?["id"]?.string)
      }
      let (annID, otherID, bobID) = (try await id(ann), try await id(other), try await id(bob))
      // Somebody else's, nobody's, and what is no id: one answer.
      let same: Fields = ["X-Request-Id": "same"]
      let foreign = try await world.send(.delete, "/v1/sessions/\(bobID)", as: ann, same)
      let never = try await world.send(.delete, "/v1/sessions/\(UUID())", as: ann, same)
      let nonsense = try await world.send(.delete, "/v1/sessions/x", as: ann, same)
      #expect(foreign.status == 404 && foreign.code == "sessions/not-found")
      #expect(foreign.body == never.body && never.body == nonsense.body)
      #expect(try await world.get("/v1/sessions", as: bob).status == 200)

      #expect(try await world.send(.delete, "/v1/sessions/\(otherID)", as: ann).status == 204)
      #expect(try await world.get("/v1/sessions", as: other).status == 401)
      try await eventually { heard.entries.contains("s:\(otherID)") }
      #expect(try await world.send(.delete, "/v1/sessions/\(otherID)", as: ann).status == 404)
      let out = try await world.send(.delete, "/v1/sessions/current", as: ann)
      #expect(out.status == 204 && out[.setCookie] == nil)
      try await eventually { heard.entries.contains("s:\(annID)") }
      #expect(try await world.send(.delete, "/v1/sessions/current", as: ann).status == 401)
      #expect(try await world.send(.delete, "/v1/sessions/current", as: nil).status == 401)

      // By hand as well, and by time.
      try await world.sql("SELECT admin.disable_account('bob', 'test')")
      let bobAccount: Int64 = try await world.value("SELECT id FROM magpie.account WHERE username = 'bob'")
      try await eventually { heard.entries.contains("a:\(bobAccount)") }
      let late = try await world.token()
      let lateID = try await id(late)
      let idle = try await world.token()
      let idleID = try await id(idle)
      try await world.sql("UPDATE magpie.session SET expires_at = now() + interval '1 hour' WHERE id = \(UUID(lateID))")
      try await world.sql(
        """
        UPDATE magpie.session SET idle_timeout = interval '7 days', last_seen_at = now() - interval '7 days' WHERE id = \(UUID(idleID))
        """)
      #expect(try await world.get("/v1/sessions", as: idle).status == 401)
      #expect(try await world.get("/v1/sessions", as: late).status == 200)
      #expect(try await world.value("SELECT magpie.sweep_sessions()") == Int32(1))
      try await eventually { heard.entries.contains("s:\(idleID)") }
      try await world.sql("UPDATE magpie.session SET expires_at = now() WHERE id = \(UUID(lateID))")
      try await eventually { heard.entries.contains("s:\(lateID)") }
      #expect(try await world.get("/v1/sessions", as: late).status == 401)
      #expect(
        Set(heard.entries).isSubset(of: [
          "listening", "s:\(annID)", "s:\(otherID)", "s:\(lateID)", "s:\(idleID)", "a:\(bobAccount)",
        ]))
    }
  }
}
