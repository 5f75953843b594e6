import HTTP
import JSONText
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// Collections: made, changed and removed; what is in them; and nobody else's.
@Suite struct CollectionTests {
  private static let one = "0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e"
  private static let two = "0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1f"

  private static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      try await body(world, try await world.token())
    }
  }

  private static func version(_ world: TestWorld, of username: String = "ann") async throws -> Int64 {
    try await world.value("SELECT a.version FROM magpie.account a WHERE a.username = \(username)")
  }

  @Test func collectionsAreMadeShownChangedAndRemoved() async throws {
    try await Self.run { world, token async throws in
      let body = #"{"id": "\#(Self.one)", "name": "Cats \"é\""}"#
      let made = try await world.send(.post, "/v1/collections", as: token, body: body)
      #expect(made.status == 201, "\(made.text)")
      #expect(made[.location] == "/v1/collections/\(Self.one)")
      #expect(try made.json["kind"]?.string == "collection")
      #expect(try made.json["name"]?.string == "Cats \"é\"")
      #expect(try made.json["count"]?.int == 0)
      #expect(try made.json["version"]?.int == 1)
      let again = try await world.send(.post, "/v1/collections", as: token, body: body)
      #expect(again.status == 200 && again.body == made.body)
      let other = try await world.send(
        .post, "/v1/collections", as: token, body: #"{"id": "\#(Self.one)", "name": "Dogs"}"#)
      #expect(other.status == 409 && other.code == "collections/exists")
      #expect(try other.json["server"]?["name"]?.string == "Cats \"é\"")
      #expect(try await Self.version(world) == 1)

      let path = "/v1/collections/\(Self.one)"
      let shown = try await world.get(path, as: token)
      #expect(shown.body == made.body)
      #expect(try await world.get(path, as: token, [.ifNoneMatch: shown[.etag] ?? ""]).status == 304)
      let changed = try await world.send(
        .patch, path, as: token, [.ifMatch: shown[.etag] ?? ""], body: #"{"name": "Dogs"}"#)
      #expect(changed.status == 200)
      #expect(try changed.json["name"]?.string == "Dogs")
      let stale = try await world.send(
        .patch, path, as: token, [.ifMatch: shown[.etag] ?? ""], body: #"{"name": "Birds"}"#)
      #expect(stale.status == 412 && stale.code == "collections/version-conflict")
      #expect(try stale.json["server"]?["name"]?.string == "Dogs")
      #expect(try await world.send(.patch, path, as: token, body: #"{"name": "Dogs"}"#).json["version"]?.int == 2)
      let made2 = try await world.send(.post, "/v1/collections", as: token, body: #"{"name": "A", "rank": "m"}"#)
      #expect(made2.status == 201)
      let list = try await world.get("/v1/collections?limit=1", as: token)
      #expect(try list.json["items"]?.elements.compactMap { $0["name"]?.string } == ["Dogs"])
      let next = try #require(try list.json["next"]?.string)
      let last = try await world.get("/v1/collections?limit=1&cursor=\(next)", as: token)
      #expect(try last.json["items"]?.elements.compactMap { $0["name"]?.string } == ["A"])
      #expect(try last.json["next"]?.isNull == true)
      #expect(try await world.get("/v1/collections?cursor=x", as: token).status == 400)

      #expect(try await world.send(.delete, path, as: token, [.ifMatch: "\"v1\""]).status == 412)
      for _ in 0..<2 { #expect(try await world.send(.delete, path, as: token).status == 204) }
      #expect(try await world.get(path, as: token).status == 404)
      #expect(try await world.value("SELECT t.version FROM magpie.collection_tombstone t") == Int64(4))
      #expect(try await Self.version(world) == 4)
      // Made anew, it is a new one, and no tombstone is left to remove it from other devices.
      #expect(try await world.send(.post, "/v1/collections", as: token, body: body).status == 201)
      #expect(try await world.value("SELECT count(*) FROM magpie.collection_tombstone") == Int64(0))
    }
  }

  @Test func membershipIsTheSameFromBothSides() async throws {
    try await Self.run { world, token async throws in
      for id in [Self.one, Self.two] {
        #expect(
          try await world.send(.post, "/v1/collections", as: token, body: #"{"id": "\#(id)", "name": "n"}"#).status
            == 201)
      }
      func collections(_ id: String) async throws -> [String] {
        try #require(try await world.get("/v1/favorites/gif/\(id)", as: token).json["collections"]).elements.compactMap(
          \.string)
      }
      let put = try await world.send(
        .put, "/v1/favorites/gif/a", as: token,
        body: #"{"collections": ["\#(Self.two)", "\#(Self.one)", "\#(Self.two)"]}"#)
      #expect(put.status == 201)
      #expect(try put.json["collections"]?.elements.compactMap(\.string) == [Self.one, Self.two])
      #expect(try put.json["version"]?.int == 3)
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite_collection") == Int64(2))
      #expect(try await world.send(.put, "/v1/favorites/gif/b", as: token).status == 201)

      // By hand, through the table.
      try await world.sql(
        """
        INSERT INTO magpie.favorite_collection (account_id, kind, subject_id, collection_id)
        SELECT f.account_id, f.kind, f.subject_id, \(Self.one)::text::uuid FROM magpie.favorite f WHERE f.subject_id = 'b'
        """)
      #expect(try await collections("b") == [Self.one])
      #expect(try await Self.version(world) == 5)
      try await world.sql(
        "UPDATE magpie.favorite_collection SET collection_id = \(Self.two)::text::uuid WHERE subject_id = 'b'")
      #expect(try await collections("b") == [Self.two])
      // By hand, through the column.
      try await world.sql(
        "UPDATE magpie.favorite SET collections = ARRAY[\(Self.one)::text::uuid] WHERE subject_id = 'b'")
      #expect(try await collections("b") == [Self.one])
      #expect(try await world.get("/v1/collections/\(Self.one)", as: token).json["count"]?.int == 2)
      func listed(_ query: String) async throws -> [String] {
        try #require(try await world.get("/v1/favorites?\(query)", as: token).json["items"]).elements.compactMap {
          $0["id"]?.string
        }
      }
      #expect(try await listed("collection=\(Self.one)&sort=added") == ["a", "b"])
      #expect(try await listed("collection=\(Self.two)") == ["a"])
      #expect(try await listed("collection=\(Self.two)&q=b") == [])
      #expect(try await world.get("/v1/favorites?collection=x", as: token).pointers == ["/collection"])

      // The collection goes, its favorites stay, and each of them has a version for other devices.
      let before = try await Self.version(world)
      #expect(try await world.send(.delete, "/v1/collections/\(Self.one)", as: token).status == 204)
      #expect(try await collections("a") == [Self.two])
      #expect(try await collections("b") == [])
      #expect(try await Self.version(world) == before + 3)
      #expect(
        try await world.value("SELECT count(*) FROM magpie.favorite f WHERE f.version > \(before)") == Int64(2))

      // What is removed comes back to where it was, as far as that is there.
      #expect(try await world.send(.delete, "/v1/favorites/gif/a", as: token).status == 204)
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite_collection") == Int64(0))
      #expect(try await world.send(.post, "/v1/favorites/gif/a/restore", as: token).status == 201)
      #expect(try await collections("a") == [Self.two])
    }
  }

  @Test func collectionsOfOthersAreLikeNone() async throws {
    try await Self.run { world, ann in
      let bob = try await world.token(of: "bob")
      let body = #"{"id": "\#(Self.one)", "name": "Ann's"}"#
      #expect(try await world.send(.post, "/v1/collections", as: ann, body: body).status == 201)
      let id: Fields = ["X-Request-Id": "same"]
      for (method, text) in [(Method.get, nil), (.patch, #"{"name": "x"}"#), (.delete, nil)] as [(Method, String?)] {
        let foreign = try await world.send(method, "/v1/collections/\(Self.one)", as: bob, id, body: text)
        let never = try await world.send(method, "/v1/collections/\(Self.two)", as: bob, id, body: text)
        #expect(foreign.status == never.status && foreign.body == never.body, "\(method)")
        #expect(foreign.status == (method == .delete ? 204 : 404))
        #expect(try await world.send(method, "/v1/collections/\(Self.one)", as: nil, body: text).status == 401)
      }
      #expect(try await world.send(.post, "/v1/collections", as: nil, body: body).status == 401)
      #expect(try await world.get("/v1/collections", as: nil).status == 401)
      let put = try await world.send(
        .put, "/v1/favorites/gif/a", as: bob, body: #"{"collections": ["\#(Self.one)"]}"#)
      #expect(put.status == 422 && put.pointers == ["/collections"])
      #expect(try await Self.version(world, of: "bob") == 0)
      // The same id is free for everybody.
      #expect(try await world.send(.post, "/v1/collections", as: bob, body: body).status == 201)
      #expect(
        try await world.get("/v1/collections", as: bob).json["items"]?.elements.map { $0["name"]?.string } == ["Ann's"])
      #expect(try await world.send(.delete, "/v1/collections/\(Self.one)", as: bob).status == 204)
      #expect(try await world.get("/v1/collections/\(Self.one)", as: ann).status == 200)
      let reader = try await world.token(of: "ann", scopes: ["read"])
      #expect(try await world.send(.post, "/v1/collections", as: reader, body: #"{"name": "x"}"#).status == 403)
    }
  }

  @Test func limitsOfCollectionsHold() async throws {
    try await Self.run { world, token async throws in
      let long = String(repeating: "💥", count: 100)
      for body in [#"{"name": "\#(long)"}"#, #"{"name": "x", "rank": "\#(String(repeating: "~", count: 100))"}"#] {
        #expect(try await world.send(.post, "/v1/collections", as: token, body: body).status == 201)
      }
      for (body, pointers) in [
        ("{}", ["/name"]), (#"{"name": ""}"#, ["/name"]), (#"{"name": "  \t"}"#, ["/name"]),
        (#"{"name": 1}"#, ["/name"]),
        (#"{"name": "\#(long)x"}"#, ["/name"]), (#"{"name": "a\u0000"}"#, ["/name"]),
        (#"{"name": "\udc00"}"#, ["/name"]),
        (#"{"name": "x", "rank": "é"}"#, ["/rank"]), (#"{"name": "x", "rank": "a b"}"#, ["/rank"]),
        (#"{"name": "x", "id": "1"}"#, ["/id"]), (#"{"name": "x", "color": "red"}"#, ["/color"]), ("[]", [""]),
      ] {
        let answer = try await world.send(.post, "/v1/collections", as: token, body: body)
        #expect(answer.status == 422 && answer.pointers == pointers, "\(body.prefix(40)): \(answer.text.prefix(200))")
      }
      #expect(try await world.send(.post, "/v1/collections", as: token, body: "{").status == 400)
      try await world.sql(
        "INSERT INTO magpie.collection (account_id, name) SELECT a.id, 'n' || n FROM magpie.account a, generate_series(1, 998) AS n"
      )
      let full = try await world.send(.post, "/v1/collections", as: token, body: #"{"name": "one more"}"#)
      #expect(full.status == 422 && full.code == "favorites/limit-reached")
      let many = try await world.owner.query("SELECT c.id::text FROM magpie.collection c LIMIT 101").decode(String.self)
      func put(_ ids: ArraySlice<String>) async throws -> Int {
        let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
        return try await world.send(.put, "/v1/favorites/gif/a", as: token, body: #"{"collections": [\#(list)]}"#)
          .status
      }
      #expect(try await put(many[...]) == 422)
      #expect(try await put(many.dropLast()) == 201)
    }
  }
}
