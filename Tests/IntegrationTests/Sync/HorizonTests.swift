import HTTP
import JSONText
import Postgres
import Testing
import WorldSupport

/// Deletions that are forgotten: whose cursors that ends, and whose it does not.
@Suite struct HorizonTests {
  /// Ten photos, of which eight were deleted with versions 11 to 18.
  private static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await SyncTests.run { world, token in
      try await world.sql(
        "INSERT INTO magpie.favorite (account_id, kind, subject_id) SELECT a.id, 'photo', i::text FROM magpie.account a, generate_series(1, 10) i"
      )
      try await world.sql("DELETE FROM magpie.favorite WHERE subject_id::int <= 8")
      try await body(world, token)
    }
  }

  private static func forget(_ world: TestWorld, upTo version: Int64) async throws {
    try await world.sql(
      "UPDATE magpie.favorite_tombstone SET recorded_at = now() - interval '181 days' WHERE version <= \(version)")
    try await world.sql("SELECT magpie.forget_deletions('180 days')")
    #expect(try await world.value("SELECT a.horizon_version FROM magpie.account a") == version)
  }

  private static func isExpired(_ answer: Answer) -> Bool {
    answer.status == 410 && answer.code == "sync/cursor-expired"
  }

  @Test func anEndAboveTheHorizonMakesNoCursorGood() async throws {
    try await Self.run { world, token async throws in
      let first = try await world.get("/v1/sync?since=10&limit=2", as: token).json
      #expect(first["version"]?.int == 12 && first["until"]?.int == 18)
      try await Self.forget(world, upTo: 17)
      #expect(Self.isExpired(try await world.get("/v1/sync?since=12&until=18", as: token)))
      #expect(Self.isExpired(try await world.get("/v1/sync?since=12&until=1000", as: token)))
      #expect(try await world.get("/v1/sync?since=17&until=18", as: token).status == 200)
    }
  }

  @Test func aReadOfEverythingMakesOnlyItsOwnCursorsGood() async throws {
    try await Self.run { world, token async throws in
      func version(since: Int, _ rest: String = "&limit=1&until=18") async throws -> Int64? {
        let answer = try await world.get("/v1/sync?since=\(since)\(rest)", as: token)
        try #require(answer.status == 200, "\(since)")
        return try answer.json["version"]?.int
      }
      func push(since: Int) async throws -> Answer {
        let body = #"{"since": \#(since), "changes": [{"op": "delete", "kind": "gif", "id": "none"}]}"#
        return try await world.send(.post, "/v1/sync", as: token, body: body)
      }
      try await Self.forget(world, upTo: 17)
      #expect(try await version(since: 0, "&limit=1") == 9)
      #expect(Self.isExpired(try await world.get("/v1/sync?since=10", as: token)))
      #expect(Self.isExpired(try await push(since: 10)))
      #expect(try await version(since: 9) == 10)
      // The page was lost.
      #expect(try await version(since: 9) == 10)
      #expect(try await version(since: 10) == 18)
      #expect(try await version(since: 10) == 18)
      for old in [8, 9, 11] {
        #expect(Self.isExpired(try await world.get("/v1/sync?since=\(old)", as: token)), "\(old)")
        #expect(Self.isExpired(try await push(since: old)), "\(old)")
      }
      // A push in the middle of it.
      #expect(try await version(since: 0, "&limit=1") == 9)
      #expect(try await push(since: 9).status == 200)
    }
  }

  @Test func aReadOfEverythingGoesOnWhileTheHorizonMoves() async throws {
    try await Self.run { world, token async throws in
      let first = try await world.get("/v1/sync?since=0&limit=1", as: token).json
      #expect(first["version"]?.int == 9 && first["until"]?.int == 18)
      try await Self.forget(world, upTo: 17)
      #expect(try await world.get("/v1/sync?since=9&until=18&limit=1", as: token).status == 200)
      // What was deleted after it had begun, it may have told of as there.
      try await world.sql("DELETE FROM magpie.favorite WHERE subject_id = '9'")
      try await Self.forget(world, upTo: 19)
      #expect(Self.isExpired(try await world.get("/v1/sync?since=10&until=18", as: token)))
    }
  }

  @Test func anOldDeletionThatIsImportedIsNewHere() async throws {
    try await SyncTests.run { world, token async throws in
      _ = try await SyncTests.push(world, token, SyncTests.photo(1))
      let imported = try await world.send(
        .post, "/v1/account/import", as: token,
        body: #"""
          {"format": "magpie-export", "format_version": 1, "collections": [], "favorites": [], "tombstones": {
            "favorites": [{"kind": "photo", "id": "99", "title": "", "subtitle": "", "url": "", "image": "", "state": "ok",
              "note": "", "tags": [], "collections": [], "rank": "", "added_at": "2020-01-01T00:00:00Z",
              "deleted_at": "2020-01-02T00:00:00Z", "snapshot": null}],
            "collections": [{"id": "0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e", "deleted_at": "2020-01-03T00:00:00Z"}]}}
          """#)
      #expect(try imported.json["tombstones"]?.int == 2, "\(imported.text)")
      #expect(try await world.value("SELECT magpie.forget_deletions('180 days')") == Int64(0))
      let told = try await world.get("/v1/sync?since=1", as: token)
      #expect(told.status == 200)
      #expect(try #require(try told.json["changes"]).elements.map { $0["deleted"]?.bool } == [true, true])
      let tombstones = try #require(try await world.get("/v1/account/export", as: token).json["tombstones"])
      #expect(
        tombstones["favorites"]?.elements.map { $0["deleted_at"]?.string } == ["2020-01-02T00:00:00.000000Z"])
      #expect(
        tombstones["collections"]?.elements.map { $0["deleted_at"]?.string } == ["2020-01-03T00:00:00.000000Z"])
      // After its time here it is forgotten as any other.
      for table in ["favorite_tombstone", "collection_tombstone"] {
        try await world.sql(Query(unsafe: "UPDATE magpie.\(table) SET recorded_at = now() - interval '181 days'"))
      }
      #expect(try await world.value("SELECT magpie.forget_deletions('180 days')") == Int64(2))
      #expect(Self.isExpired(try await world.get("/v1/sync?since=1", as: token)))
    }
  }
}
