import HTTP
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// Every limit of a favorite, at it and one past it, and bodies that make no sense.
@Suite struct FavoriteLimitTests {
  private static func text(_ count: Int, of character: String = "a") -> String {
    "\"" + String(repeating: character, count: count) + "\""
  }

  private static func tags(_ count: Int) -> String {
    "[" + (0..<count).map { "\"t\($0)\"" }.joined(separator: ",") + "]"
  }

  private static func snapshot(_ bytes: Int, _ filler: String) -> String {
    // {"a":[1,1,…]} grows by half when jsonb writes it.
    let head = #"{"a":["#
    let tail = "]}"
    var list = ""
    while head.utf8.count + list.utf8.count + filler.utf8.count + tail.utf8.count <= bytes { list += filler }
    let missing = bytes - head.utf8.count - list.utf8.count - tail.utf8.count
    return head + list.dropLast() + String(repeating: " ", count: missing + 1) + tail
  }

  static func snapshot(levels: Int) -> String {
    #"{"a":"# + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1) + "}"
  }

  @Test func limitsHoldToTheByte() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      let good = [
        #"{"note": \#(Self.text(10_000))}"#, #"{"note": \#(Self.text(2_500, of: "💥"))}"#,
        #"{"tags": \#(Self.tags(100))}"#,
        #"{"tags": [\#(Self.text(100, of: "💥"))]}"#, #"{"rank": \#(Self.text(100))}"#, #"{"note": null, "tags": null}"#,
        #"{"snapshot": {"title": \#(Self.text(500, of: "é")), "url": \#(Self.text(2_000))}}"#,
        #"{"snapshot": \#(Self.snapshot(20_000, "1,"))}"#, #"{"snapshot": null}"#, "{}",
        #"{"snapshot": \#(Self.snapshot(levels: 60))}"#,
      ]
      for (number, body) in good.enumerated() {
        let answer = try await world.send(.put, "/v1/favorites/photo/\(number + 1)", as: token, body: body)
        #expect(answer.status == 201, "\(body.prefix(60)): \(answer.text.prefix(300))")
      }
      let bad: [(String, [String])] = [
        (#"{"note": \#(Self.text(10_001))}"#, ["/note"]), (#"{"note": \#(Self.text(2_501, of: "💥"))}"#, ["/note"]),
        (#"{"tags": \#(Self.tags(101))}"#, ["/tags"]), (#"{"tags": [\#(Self.text(101))]}"#, ["/tags"]),
        (#"{"tags": [""]}"#, ["/tags"]), (#"{"tags": [1]}"#, ["/tags/0"]), (#"{"tags": "a"}"#, ["/tags"]),
        (#"{"rank": \#(Self.text(101))}"#, ["/rank"]), (#"{"note": 1}"#, ["/note"]),
        (#"{"note": "a\u0000b"}"#, ["/note"]),
        (#"{"note": "\ud800"}"#, ["/note"]), (#"{"tags": ["\udc00x"]}"#, ["/tags/0"]),
        (#"{"color": "red"}"#, ["/color"]),
        (#"{"note": 1, "color": 1}"#, ["/note", "/color"]), (#"{"added_at": "yesterday"}"#, ["/added_at"]),
        (#"{"added_at": 5}"#, ["/added_at"]), (#"{"snapshot": []}"#, ["/snapshot"]),
        (#"{"snapshot": "x"}"#, ["/snapshot"]),
        (#"{"snapshot": {"title": 5}}"#, ["/snapshot"]),
        (#"{"snapshot": {"url": {}, "image": []}}"#, ["/snapshot", "/snapshot"]),
        (#"{"snapshot": {"title": \#(Self.text(501))}}"#, ["/snapshot"]),
        (#"{"snapshot": \#(Self.snapshot(20_001, "1,"))}"#, ["/snapshot"]),
        (#"{"snapshot": \#(Self.snapshot(levels: 61))}"#, ["/snapshot"]),
        (#"{"snapshot": {"deep": "\u0000"}}"#, ["/snapshot/deep"]), ("[]", [""]), ("5", [""]),
      ]
      for (body, pointers) in bad {
        let answer = try await world.send(.put, "/v1/favorites/photo/99", as: token, body: body)
        #expect(answer.status == 422, "\(body.prefix(60)): \(answer.text.prefix(300))")
        #expect(answer.code == "request/invalid-body", "\(body.prefix(60))")
        #expect(answer.pointers == pointers, "\(body.prefix(60))")
      }
      // Short numbers that PostgreSQL would write out in full.
      let numbers = String(repeating: "1e999,", count: 50)
      let long = try await world.send(
        .put, "/v1/favorites/photo/99", as: token, body: #"{"snapshot": {"n": [\#(numbers)1]}}"#)
      #expect(long.status == 422)
      #expect(long.code == "request/invalid-value")
      let deep = #"{"snapshot": {"a": "# + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}}"
      // Two thousand of them would be 260 MB, and keep a connection that others share busy for seconds.
      let endless = #"{"snapshot": {"n": ["# + String(repeating: "1e130000,", count: 2000) + "1]}}"
      for body in ["{", "{'a': 1}", "\u{FEFF}x", #"{"note": "#, deep, #"{"snapshot": {"n": 1e1000}}"#, endless] {
        let answer = try await world.send(.put, "/v1/favorites/photo/99", as: token, body: body)
        #expect(answer.status == 400, "\(body.prefix(20))")
        #expect(answer.code == "request/invalid-json")
      }
      let huge = try await world.send(.put, "/v1/favorites/photo/99", as: token, body: Self.text(65_537))
      #expect(huge.status == 413)
      #expect(try await world.get("/v1/favorites/photo/99", as: token).status == 404)
      #expect(try await world.value("SELECT a.version FROM magpie.account a") == Int64(good.count))
      #expect(world.servers[0].failures.entries.isEmpty)
    }
  }

  @Test func timesThatCannotBeWrittenAreRefusedFromAppsAndByHand() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      for (number, time) in ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"].enumerated() {
        let path = "/v1/favorites/photo/\(number + 1)"
        let answer = try await world.send(.put, path, as: token, body: #"{"added_at": "\#(time)"}"#)
        #expect(answer.status == 201)
        #expect(try answer.json["added_at"]?.string?.prefix(19) == time.prefix(19))
      }
      for time in ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"] {
        let answer = try await world.send(.put, "/v1/favorites/photo/9", as: token, body: #"{"added_at": "\#(time)"}"#)
        #expect(answer.status == 422, "\(time)")
        #expect(answer.code == "request/invalid-body" && answer.pointers == ["/added_at"], "\(time)")
      }
      // PostgreSQL itself takes offsets below 16 hours only.
      for (number, offset) in ["+16:00", "-23:59"].enumerated() {
        let body = #"{"added_at": "2026-01-01T00:00:00.5\#(offset)"}"#
        let operation = #"{"op": "put", "kind": "photo", "id": "\#(number + 5)", "# + body.dropFirst()
        #expect(try await world.send(.put, "/v1/favorites/photo/\(number + 3)", as: token, body: body).status == 201)
        let sync = try await world.send(
          .post, "/v1/sync", as: token, body: #"{"since": 0, "changes": [\#(operation)]}"#)
        #expect(try sync.json["results"]?.elements.map { $0["status"]?.string } == ["ok"])
        for id in [number + 3, number + 5] {
          #expect(
            try await world.get("/v1/favorites/photo/\(id)", as: token).json["added_at"]?.string
              == (number == 0 ? "2025-12-31T08:00:00.500000Z" : "2026-01-01T23:59:00.500000Z"))
        }
      }
      for time in ["infinity", "-infinity", "0001-12-31 BC", "10000-01-01"] {
        let error = await #expect(throws: PostgresError.self) {
          try await world.sql(
            """
            INSERT INTO magpie.favorite (account_id, kind, subject_id, added_at)
            SELECT a.id, 'photo', '9', \(time)::text::timestamptz FROM magpie.account a
            """)
        }
        #expect(error?.constraint == "favorite_added_at_check", "\(time)")
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(6))
    }
  }

  @Test func idsThatCannotBeAreNotThere() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      for path in [
        "github-user/0", "github-user/007", "github-user/-5", "github-user/1234567890123456789", "github-user/abc",
        "github-user/%D9%A3", "github-user/1.0", "photo/01", "photo/1e3", "github-repo/x", "gif/a%20b", "gif/caf%C3%A9",
        "gif/\(String(repeating: "a", count: 201))", "movie/1", "Photo/1", "github-user/@", "github-user/@a%2Fb",
      ] {
        for method in [Method.get, .put, .delete] {
          let answer = try await world.send(method, "/v1/favorites/\(path)", as: token)
          #expect(answer.status == 404, "\(method) \(path)")
        }
      }
      for path in [
        "gif/\(String(repeating: "a", count: 200))", "gif/a%2Fb", "photo/123456789012345678", "github-user/7",
      ] {
        #expect(try await world.send(.put, "/v1/favorites/\(path)", as: token).status == 201, "\(path)")
        #expect(try await world.get("/v1/favorites/\(path)", as: token).status == 200, "\(path)")
      }
      #expect(world.simulator.requestCount == 0)
    }
  }
}
