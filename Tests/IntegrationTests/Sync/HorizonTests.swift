import HTTP
import JSONText
import Postgres
import Testing

/// Deletions that are forgotten: whose cursors that ends, and whose it does not.
@Suite struct HorizonTests {
  private static func isExpired(_ answer: Answer) -> Bool {
    answer.status == 410 && answer.code == "sync/cursor-expired"
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
