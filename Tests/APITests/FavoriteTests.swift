import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// One favorite: put, shown, changed, removed, restored; and nobody else's.
@Suite struct FavoriteTests {
  private static let options = TestWorld.Options(.init("octocat", followers: 40))

  private static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await TestWorld.run(options) { world in try await body(world, try await world.token()) }
  }

  private static func version(_ world: TestWorld, of username: String = "ann") async throws -> Int64 {
    try await world.value("SELECT a.version FROM magpie.account a WHERE a.username = \(username)")
  }

  @Test func puttingTwiceIsPuttingOnce() async throws {
    try await Self.run { world, token async throws in
      let path = "/v1/favorites/github-user/583231"
      let first = try await world.send(.put, path, as: token)
      #expect(first.status == 201)
      #expect(first[.etag] == "\"v1\"")
      #expect(try first.json["version"]?.int == 1)
      #expect(try first.json["id"]?.string == "583231")
      #expect(try first.json["kind"]?.string == "github-user")
      #expect(try first.json["state"]?.string == "ok")
      let second = try await world.send(.put, path, as: token, body: "{}")
      #expect(second.status == 200)
      #expect(second.body == first.body)
      #expect(second[.etag] == "\"v1\"")
      #expect(try await Self.version(world) == 1)
      let shown = try await world.get(path, as: token)
      #expect(shown.status == 200 && shown.body == first.body && shown[.etag] == "\"v1\"")

      let changed = try await world.send(.put, path, as: token, body: #"{"note": "n", "tags": ["b", "a", "b"]}"#)
      #expect(changed.status == 200)
      #expect(try changed.json["version"]?.int == 2)
      #expect(try changed.json["tags"]?.elements.compactMap(\.string) == ["a", "b"])
      let again = try await world.send(.put, path, as: token, body: #"{"tags": ["a", "b"]}"#)
      #expect(again.body == changed.body)
      // What a body does not name stays.
      #expect(try await world.send(.put, path, as: token, body: #"{"rank": "k"}"#).json["note"]?.string == "n")
      #expect(try await Self.version(world) == 3)
    }
  }

  @Test func accountsDoNotSeeEachOthers() async throws {
    try await Self.run { world, ann in
      let bob = try await world.token(of: "bob")
      let body = #"{"note": "ann's", "tags": ["mine"]}"#
      #expect(try await world.send(.put, "/v1/favorites/photo/7", as: ann, body: body).status == 201)
      for (method, tail) in [(Method.get, ""), (.get, "?x=1")] {
        let foreign = try await world.send(method, "/v1/favorites/photo/7\(tail)", as: bob, ["X-Request-Id": "same"])
        let never = try await world.send(method, "/v1/favorites/photo/8\(tail)", as: bob, ["X-Request-Id": "same"])
        #expect(foreign.status == 404)
        #expect(foreign.body == never.body)
        #expect(foreign.fields.map(\.name.description) == never.fields.map(\.name.description))
      }
      #expect(try await world.send(.delete, "/v1/favorites/photo/7", as: bob).status == 204)
      #expect(try await world.send(.delete, "/v1/favorites/photo/8", as: bob).status == 204)
      let guess: Fields = [.ifMatch: "\"v1\"", "X-Request-Id": "same"]
      let foreign = try await world.send(.put, "/v1/favorites/photo/7", as: bob, guess, body: "{}")
      let never = try await world.send(.put, "/v1/favorites/photo/8", as: bob, guess, body: "{}")
      #expect(foreign.status == 412 && foreign.body == never.body)
      #expect(try await world.get("/v1/favorites", as: bob).text == #"{"items":[],"next":null}"#)
      #expect(try await world.get("/v1/favorites/photo/7", as: ann).json["note"]?.string == "ann's")
      #expect(try await world.send(.put, "/v1/favorites/photo/7", as: bob, body: #"{"note": "bob's"}"#).status == 201)
      #expect(try await world.get("/v1/favorites/photo/7", as: ann).json["note"]?.string == "ann's")
      #expect(try await Self.version(world, of: "ann") == 1)
      #expect(try await Self.version(world, of: "bob") == 1)
    }
  }

  @Test func favoritesShowOnListsAndProfiles() async throws {
    try await Self.run { world, ann in
      let bob = try await world.token(of: "bob")
      let list = "/github/users/octocat/followers?per_page=40"
      let ids = try await world.get(list, as: ann).ids
      let star = ids[17]
      let login = try #require(world.simulator.login(of: star))
      let body = #"{"tags": ["x\"y", "a"]}"#
      #expect(try await world.send(.put, "/v1/favorites/github-user/\(star)", as: ann, body: body).status == 201)
      func starred(_ path: String, _ token: String) async throws -> [Int64] {
        try await world.get(path, as: token).json.elements.compactMap { item in
          let magpie = try #require(item["magpie"])
          let tags = try #require(magpie["tags"]).elements.compactMap(\.string)
          let isFavorite = magpie["favorite"]?.bool == true
          #expect(magpie["favorite"]?.bool != nil)
          #expect(tags == (isFavorite ? ["a", "x\"y"] : []))
          return isFavorite ? item["id"]?.int : nil
        }
      }
      for path in [list, "\(list)&q=\(PercentEncoding.encode(login))", "\(list)&sort=-login", "\(list)&cursor="] {
        #expect(try await starred(path, ann) == [star], "\(path)")
        #expect(try await starred(path, bob) == [], "\(path)")
      }
      let profile = "/github/users/\(PercentEncoding.encode(login))"
      #expect(try await world.get(profile, as: ann).json["magpie"]?["favorite"]?.bool == true)
      #expect(try await world.get(profile, as: bob).json["magpie"]?["favorite"]?.bool == false)
      #expect(try await world.get(profile, as: bob).json["magpie"]?["first_seen_at"]?.string?.hasSuffix("Z") == true)
      #expect(try await world.send(.delete, "/v1/favorites/github-user/\(star)", as: ann).status == 204)
      #expect(try await starred(list, ann) == [])
    }
  }

  @Test func removedFavoriteComesBackWithItsNote() async throws {
    try await Self.run { world, token async throws in
      let path = "/v1/favorites/gif/xT9IgG50Fb7Mi0prBC"
      let body = #"{"note": "why", "tags": ["cat"], "rank": "m", "snapshot": {"title": "Cat", "width": 100}}"#
      #expect(try await world.send(.put, path, as: token, body: body).status == 201)
      #expect(try await world.send(.delete, path, as: token).status == 204)
      #expect(try await world.get(path, as: token).status == 404)
      #expect(try await world.get("/v1/favorites", as: token).text == #"{"items":[],"next":null}"#)
      #expect(try await world.value("SELECT t.version FROM magpie.favorite_tombstone t") == Int64(2))
      #expect(try await world.send(.delete, path, as: token).status == 204)
      #expect(try await Self.version(world) == 2)
      let back = try await world.send(.put, path, as: token)
      #expect(back.status == 201)
      #expect(try back.json["note"]?.string == "why")
      #expect(try back.json["tags"]?.elements.compactMap(\.string) == ["cat"])
      #expect(try back.json["rank"]?.string == "m")
      #expect(try back.json["snapshot"]?["width"]?.int == 100)
      #expect(try back.json["version"]?.int == 3)
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite_tombstone") == Int64(0))
    }
  }

  @Test func staleWritesAreToldWhatTheServerHas() async throws {
    try await Self.run { world, token async throws in
      let path = "/v1/favorites/photo/1"
      _ = try await world.send(.put, path, as: token, body: #"{"note": "one"}"#)
      let current = try await world.send(.put, path, as: token, [.ifMatch: "\"v1\""], body: #"{"note": "two"}"#)
      #expect(current.status == 200 && current[.etag] == "\"v2\"")
      for condition in ["\"v1\"", "W/\"v2\"", "\"other\"", "nonsense"] {
        let refused = try await world.send(.put, path, as: token, [.ifMatch: condition], body: #"{"note": "three"}"#)
        #expect(refused.status == 412, "\(condition)")
        #expect(refused.code == "favorites/version-conflict")
        #expect(refused[.contentType] == "application/problem+json")
        #expect(refused[.etag] == "\"v2\"")
        #expect(try refused.json["server"]?["note"]?.string == "two")
        #expect(try refused.json["request_id"]?.string == refused["X-Request-Id"])
        #expect(try await world.send(.delete, path, as: token, [.ifMatch: condition]).status == 412)
      }
      let absent = try await world.send(.put, "/v1/favorites/photo/2", as: token, [.ifMatch: "\"v1\""])
      #expect(absent.status == 412)
      #expect(try absent.json["server"]?.isNull == true)
      // `*` asks for anything that is there (RFC 9110, 13.1.1); no tag of a client's can mean that.
      let star: Fields = [.ifMatch: "*"]
      #expect(try await world.send(.put, "/v1/favorites/photo/2", as: token, star).status == 412)
      #expect(try await world.send(.delete, "/v1/favorites/photo/2", as: token, star).status == 412)
      #expect(try await world.send(.put, path, as: token, [.ifMatch: "\"v0\""]).status == 412)
      #expect(try await world.send(.put, path, as: token, star).status == 200)
      #expect(try await world.send(.delete, path, as: token, star).status == 204)
      #expect(try await world.send(.put, path, as: token).status == 201)
      #expect(try await world.send(.delete, path, as: token, [.ifMatch: "\"v9\", \"v4\""]).status == 204)
      #expect(try await Self.version(world) == 5)
    }
  }

  @Test func loginsAreResolved() async throws {
    try await Self.run { world, token async throws in
      let id = try world.simulator.id(of: "octocat")
      #expect(try await world.get("/v1/favorites/github-user/@octocat", as: token).status == 404)
      #expect(world.simulator.requestCount == 0)
      let created = try await world.send(.put, "/v1/favorites/github-user/@OctoCat", as: token)
      #expect(created.status == 201)
      #expect(try created.json["id"]?.string == "\(id)")
      #expect(try created.json["title"]?.string == "octocat")
      #expect(try created.json["url"]?.string == "https://github.com/octocat")
      #expect(try created.json["snapshot"]?["id"]?.int == id)
      #expect(try await world.get("/v1/favorites/github-user/@octocat", as: token).body == created.body)
      #expect(try await world.send(.put, "/v1/favorites/github-user/\(id)", as: token).body == created.body)
      let unknown = try await world.send(.put, "/v1/favorites/github-user/@nobody-here", as: token)
      #expect(unknown.status == 404 && unknown.code == "github/user-not-found")
      #expect(try await world.send(.delete, "/v1/favorites/github-user/@octocat", as: token).status == 204)
      #expect(try await world.send(.put, "/v1/favorites/github-user/@a.b", as: token).status == 404)
      #expect(world.simulator.requestCount == 2)
    }
  }

  @Test func earlierTimeOfStarringIsKept() async throws {
    try await Self.run { world, token async throws in
      let path = "/v1/favorites/photo/1"
      func put(_ time: String) async throws -> String? {
        try await world.send(.put, path, as: token, body: #"{"added_at": "\#(time)"}"#).json["added_at"]?.string
      }
      #expect(try await put("2024-05-06T07:08:09+02:00") == "2024-05-06T05:08:09.000000Z")
      #expect(try await put("2025-01-01T00:00:00Z") == "2024-05-06T05:08:09.000000Z")
      #expect(try await put("2023-01-01T00:00:00.123456Z") == "2023-01-01T00:00:00.123456Z")
    }
  }

  @Test func editsByHandAreEdits() async throws {
    try await Self.run { world, token async throws in
      let account: Int64 = try await world.value("SELECT a.id FROM magpie.account a")
      try await world.sql(
        "INSERT INTO magpie.favorite (account_id, kind, subject_id) VALUES (\(account), 'photo', '5')")
      let path = "/v1/favorites/photo/5"
      #expect(try await world.get(path, as: token)[.etag] == "\"v1\"")
      try await world.sql("UPDATE magpie.favorite SET note = E'a\"b\\\\c\\n\\u0001💥', version = 99, document = 'x'")
      let edited = try await world.get(path, as: token)
      #expect(edited[.etag] == "\"v2\"")
      #expect(try edited.json["note"]?.string == "a\"b\\c\n\u{1}💥")
      #expect(try edited.json["version"]?.int == 2)
      try await world.sql("UPDATE magpie.favorite SET note = note")
      #expect(try await Self.version(world) == 2)
      try await world.sql("DELETE FROM magpie.favorite")
      #expect(try await world.get(path, as: token).status == 404)
      #expect(try await Self.version(world) == 3)
      #expect(try await world.value("SELECT t.version FROM magpie.favorite_tombstone t") == Int64(3))
      await #expect(throws: (any Error).self) {
        try await world.sql(
          "INSERT INTO magpie.favorite (account_id, kind, subject_id) VALUES (\(account), 'stone', '5')")
      }
      #expect(try await Self.version(world) == 3)
    }
  }
}
