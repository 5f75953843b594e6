import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// PATCH, the manual order, restoring, and what a list counts.
@Suite struct FavoriteEditTests {
  private static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      try await body(world, try await world.token())
    }
  }

  private static func version(_ world: TestWorld) async throws -> Int64 {
    try await world.value("SELECT a.version FROM magpie.account a WHERE a.username = 'ann'")
  }

  private static func ids(_ world: TestWorld, _ query: String, _ token: String) async throws -> [String] {
    try #require(try await world.get("/v1/favorites?\(query)", as: token).json["items"]).elements.compactMap {
      $0["id"]?.string
    }
  }

  @Test func patchingChangesWhatItNames() async throws {
    try await Self.run { world, token async throws in
      let path = "/v1/favorites/photo/1"
      #expect(try await world.send(.patch, path, as: token, body: #"{"note": "n"}"#).status == 404)
      #expect(try await Self.version(world) == 0)
      _ = try await world.send(.put, path, as: token, body: #"{"note": "n", "tags": ["a"], "rank": "k"}"#)
      let patched = try await world.send(
        .patch, path, as: token, [.ifMatch: "\"v1\""], body: #"{"tags": ["b"], "rank": null}"#)
      #expect(patched.status == 200 && patched[.etag] == "\"v2\"")
      #expect(try patched.json["note"]?.string == "n")
      #expect(try patched.json["tags"]?.elements.compactMap(\.string) == ["b"])
      #expect(try patched.json["rank"]?.string == "")
      #expect(try await world.send(.patch, path, as: token, body: "{}").body == patched.body)
      #expect(
        try await world.send(.patch, path, as: token, body: #"{"note": null, "tags": null}"#).json["note"]?.string == ""
      )
      let stale = try await world.send(.patch, path, as: token, [.ifMatch: "\"v1\""], body: #"{"note": "x"}"#)
      #expect(stale.status == 412)
      #expect(try stale.json["server"]?["version"]?.int == 3)
      for (body, pointers) in [
        (#"{"added_at": "2026-01-01T00:00:00Z"}"#, ["/added_at"]), (#"{"snapshot": {}}"#, ["/snapshot"]),
        (#"{"title": "x"}"#, ["/title"]), (#"{"rank": "é"}"#, ["/rank"]),
        (#"{"collections": ["x"]}"#, ["/collections"]),
        (#"{"collections": ["0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e"]}"#, ["/collections"]),
        (#"{"before": "photo"}"#, ["/before"]), (#"{"before": "movie/1"}"#, ["/before"]),
        (#"{"after": 1}"#, ["/after"]),
        (#"{"before": "photo/2", "after": "photo/3"}"#, ["/after"]),
        (#"{"before": "photo/2", "rank": "a"}"#, ["/rank"]),
        (#"{"before": "photo/2"}"#, ["/before"]), (#"{"after": "photo/1"}"#, ["/after"]),
        (#"{"note": "\u0000"}"#, ["/note"]),
      ] {
        let answer = try await world.send(.patch, path, as: token, body: body)
        #expect(answer.status == 422 && answer.pointers == pointers, "\(body): \(answer.text.prefix(300))")
      }
      #expect(try await Self.version(world) == 3)
      let bob = try await world.token(of: "bob")
      #expect(try await world.send(.patch, path, as: bob, body: #"{"note": "x"}"#).status == 404)
      #expect(try await world.send(.patch, path, as: nil, body: #"{"note": "x"}"#).status == 401)
      let reader = try await world.token(scopes: ["read"])
      #expect(try await world.send(.patch, path, as: reader, body: #"{"note": "x"}"#).status == 403)
      #expect(try await world.send(.patch, path, as: reader, body: #"{"before": "photo/2"}"#).status == 403)
    }
  }

  @Test func oneMoveWritesOneRankAndAFullPlaceIsRankedAnew() async throws {
    try await Self.run { world, token async throws in
      for id in 1...6 { _ = try await world.send(.put, "/v1/favorites/photo/\(id)", as: token) }
      #expect(try await Self.ids(world, "sort=rank", token) == ["1", "2", "3", "4", "5", "6"])
      func move(_ id: Int, _ place: String) async throws -> Answer {
        try await world.send(.patch, "/v1/favorites/photo/\(id)", as: token, body: "{\(place)}")
      }
      // Nothing has a rank yet: all get one, and that is seen at once or not at all.
      let moved = try await move(6, #""before": "photo/2", "note": "moved""#)
      #expect(moved.status == 200)
      #expect(try moved.json["note"]?.string == "moved")
      #expect(try await Self.ids(world, "sort=rank", token) == ["1", "6", "2", "3", "4", "5"])
      var version = try await Self.version(world)
      for (id, place, order) in [
        (1, #""after": "photo/5""#, ["6", "2", "3", "4", "5", "1"]),
        (1, #""before": "photo/6""#, ["1", "6", "2", "3", "4", "5"]),
        (3, #""after": "photo/1""#, ["1", "3", "6", "2", "4", "5"]),
        (3, #""before": "photo/1""#, ["3", "1", "6", "2", "4", "5"]),
      ] {
        #expect(try await move(id, place).status == 200)
        #expect(try await Self.ids(world, "sort=rank", token) == order)
        version += 1
        #expect(try await Self.version(world) == version)
      }
      // Equal ranks are no place between two.
      try await world.sql("UPDATE magpie.favorite SET rank = 'k' WHERE subject_id IN ('2', '4', '5')")
      #expect(try await move(5, #""before": "photo/4""#).status == 200)
      let order = try await Self.ids(world, "sort=rank", token)
      #expect(order.firstIndex(of: "5") == order.firstIndex(of: "4").map { $0 - 1 })
      // Two ranks so close, and so long, that nothing short enough is between them.
      let long = String(repeating: "V", count: 99)
      try await world.sql("UPDATE magpie.favorite SET rank = \(long) || 'a' WHERE subject_id = '1'")
      try await world.sql("UPDATE magpie.favorite SET rank = \(long) || 'b' WHERE subject_id = '2'")
      let before = try await Self.ids(world, "sort=rank", token)
      #expect(try await move(3, #""after": "photo/1""#).status == 200)
      let after = try await Self.ids(world, "sort=rank", token)
      #expect(after.filter { $0 != "3" } == before.filter { $0 != "3" })
      #expect(after.firstIndex(of: "3") == after.firstIndex(of: "1").map { $0 + 1 })
      #expect(try await world.value("SELECT max(length(f.rank)) < 100 FROM magpie.favorite f") == true)
      // Somebody else's favorite is no neighbor.
      let bob = try await world.token(of: "bob")
      _ = try await world.send(.put, "/v1/favorites/photo/77", as: bob)
      #expect(try await move(3, #""after": "photo/77""#).pointers == ["/after"])
    }
  }

  @Test func restoringBringsAllOfItBack() async throws {
    try await Self.run { world, token async throws in
      let path = "/v1/favorites/gif/abc"
      #expect(try await world.send(.post, "\(path)/restore", as: token).code == "favorites/nothing-to-restore")
      let body = #"""
        {"note": "why", "tags": ["cat"], "rank": "m", "added_at": "2024-01-02T03:04:05Z",
        "snapshot": {"title": "Cat", "subtitle": "by X", "url": "https://giphy.com/abc", "image": "https://i", "width": 100}}
        """#
      let put = try await world.send(.put, path, as: token, body: body)
      #expect(put.status == 201)
      #expect(try await world.send(.delete, path, as: token).status == 204)
      let back = try await world.send(.post, "\(path)/restore", as: token)
      #expect(back.status == 201)
      for name in ["title", "subtitle", "url", "image", "state", "note", "rank", "added_at"] {
        #expect(try back.json[name]?.string == put.json[name]?.string, "\(name)")
      }
      #expect(try back.json["tags"]?.elements.compactMap(\.string) == ["cat"])
      #expect(try back.json["snapshot"]?["width"]?.int == 100)
      #expect(try back.json["version"]?.int == 3)
      let again = try await world.send(.post, "\(path)/restore", as: token)
      #expect(again.status == 200 && again.body == back.body)
      let bob = try await world.token(of: "bob")
      #expect(try await world.send(.delete, path, as: token).status == 204)
      #expect(try await world.send(.post, "\(path)/restore", as: bob).status == 404)
      #expect(try await world.send(.post, "\(path)/restore", as: nil).status == 401)
    }
  }

  @Test func facetsCountWhatTheFiltersLetThrough() async throws {
    try await Self.run { world, token async throws in
      #expect(
        try await world.get("/v1/favorites?facets=1", as: token).text
          == #"{"items":[],"next":null,"facets":{"kinds":[],"tags":[]}}"#)
      for (path, body) in [
        ("gif/a", #"{"tags": ["x", "y"], "note": "Äpfel"}"#), ("gif/b", #"{"tags": ["x"]}"#),
        ("photo/1", #"{"tags": ["y", "x"]}"#),
        ("photo/2", "{}"),
      ] { _ = try await world.send(.put, "/v1/favorites/\(path)", as: token, body: body) }
      func facets(_ query: String) async throws -> String {
        let answer = try await world.get("/v1/favorites?facets=1&\(query)", as: token)
        return String(decoding: try #require(try answer.json["facets"]).rawBytes, as: UTF8.self)
      }
      #expect(
        try await facets("limit=1")
          == #"{"kinds":[{"kind":"gif","count":2},{"kind":"photo","count":2}],"tags":[{"tag":"x","count":3},{"tag":"y","count":2}]}"#
      )
      #expect(
        try await facets("tag=y")
          == #"{"kinds":[{"kind":"gif","count":1},{"kind":"photo","count":1}],"tags":[{"tag":"x","count":2},{"tag":"y","count":2}]}"#
      )
      #expect(try await facets("kind=photo&q=nothing") == #"{"kinds":[],"tags":[]}"#)
      #expect(
        try await facets("q=apfel")
          == #"{"kinds":[{"kind":"gif","count":1}],"tags":[{"tag":"x","count":1},{"tag":"y","count":1}]}"#)
      #expect(try await world.get("/v1/favorites", as: token).json["facets"] == nil)
      #expect(try await world.get("/v1/favorites?facets=2", as: token).pointers == ["/facets"])
    }
  }

  @Test func filtersFindWhatIsRareAmongMany() async throws {
    try await Self.run { world, token async throws in
      // More than the list's window, and more than is sorted: all three ways of a filtered list are gone.
      try await world.sql(
        """
        INSERT INTO magpie.favorite (account_id, kind, subject_id, title, tags, added_at)
        SELECT a.id, CASE WHEN n % 1000 = 0 THEN 'photo' ELSE 'gif' END, n::text, 'Title ' || n,
               CASE WHEN n % 3 = 0 THEN '{third}'::text[] ELSE '{}' END || CASE WHEN n > 1990 THEN '{last}'::text[] ELSE '{}' END,
               '2026-01-01'::timestamptz - make_interval(secs => n)
          FROM magpie.account a, generate_series(1, 2000) AS n
        """)
      #expect(try await Self.ids(world, "tag=last", token) == (1991...2000).map(String.init))
      #expect(try await Self.ids(world, "q=TITLE+1999", token) == ["1999"])
      #expect(try await Self.ids(world, "kind=photo&sort=title", token) == ["1000", "2000"])
      #expect(try await Self.ids(world, "q=none+of+them", token) == [])
      #expect(try await Self.ids(world, "tag=last&q=200", token) == ["2000"])
      for (query, wanted) in [("tag=third", (1...2000).filter { $0 % 3 == 0 }), ("q=title", Array(1...2000))] {
        var found: [String] = []
        var cursor: String?
        repeat {
          let tail = cursor.map { "&cursor=\($0)" } ?? ""
          let page = try await world.get("/v1/favorites?\(query)&limit=190\(tail)", as: token)
          found += try #require(try page.json["items"]).elements.compactMap { $0["id"]?.string }
          cursor = try page.json["next"]?.string
        } while cursor != nil
        #expect(found == wanted.map(String.init), "\(query)")
      }
    }
  }
}
