import HTTP
import JSONText
import Postgres
import TestSupport
import Testing
import WorldSupport

@testable import Magpie

/// `/v1/sync`: deltas, batches, what is merged and what is a conflict.
@Suite struct SyncTests {
  private static let options: TestWorld.Options = {
    var options = TestWorld.Options()
    options.hasWorker = false
    return options
  }()

  static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await TestWorld.run(options) { world in try await body(world, try await world.token()) }
  }

  /// Pushes operations, given as JSON, and answers the whole.
  static func push(
    _ world: TestWorld, _ token: String, since: Int64 = 0, _ operations: String..., atomic: Bool = false
  ) async throws -> JSONView {
    let answer = try await world.send(
      .post, "/v1/sync", as: token,
      body: #"{"since": \#(since), "atomic": \#(atomic), "changes": [\#(operations.joined(separator: ","))]}"#)
    try #require(answer.status == 200, "\(answer.text)")
    let json = try answer.json
    try #require(results(json).count == operations.count)
    return json
  }

  private static func results(_ answer: JSONView) -> [JSONView] { answer["results"].map { Array($0.elements) } ?? [] }
  private static func statuses(_ answer: JSONView) -> [String] { results(answer).map { $0["status"]?.string ?? "" } }
  private static func item(_ world: TestWorld, _ token: String, _ id: Int) async throws -> JSONView {
    try await world.get("/v1/favorites/photo/\(id)", as: token).json
  }
  private static func tags(_ item: JSONView?) -> [String] { item?["tags"]?.elements.compactMap(\.string) ?? [] }
  static func photo(_ id: Int, _ fields: String = "", op: String = "put") -> String {
    #"{"op": "\#(op)", "kind": "photo", "id": "\#(id)"\#(fields.isEmpty ? "" : ", " + fields)}"#
  }

  /// Short as text, and too long as PostgreSQL writes it.
  private static let hugeInside = #""snapshot": {"x": [\#((0..<50).map { _ in "1e999" }.joined(separator: ","))]}"#

  @Test func pushAndPullInOne() async throws {
    try await Self.run { world, token async throws in
      let answer = try await Self.push(
        world, token,
        Self.photo(1, #""note": "one", "tags": ["b", "a"], "rank": "m", "added_at": "2024-01-01T00:00:00Z""#),
        Self.photo(2, #""snapshot": {"title": "Two", "x": [1]}"#), Self.photo(3), Self.photo(3, op: "delete"),
        Self.photo(2, #""add": ["t"], "remove": ["u"]"#, op: "tags"))
      #expect(Self.statuses(answer) == ["ok", "ok", "ok", "ok", "ok"])
      #expect(Self.results(answer).map { $0["version"]?.int } == [1, 2, 3, 4, 5])
      #expect(answer["version"]?.int == 5 && answer["until"]?.int == 5 && answer["has_more"]?.bool == false)
      let changes = try #require(answer["changes"]).elements.map { $0 }
      #expect(changes.map { $0["id"]?.string } == ["1", "3", "2"])
      #expect(changes.map { $0["version"]?.int } == [1, 4, 5])
      #expect(changes.map { $0["deleted"]?.bool } == [nil, true, nil])
      #expect(changes[0]["note"]?.string == "one" && changes[0]["rank"]?.string == "m")
      #expect(changes[0]["added_at"]?.string == "2024-01-01T00:00:00.000000Z")
      #expect(changes[2]["title"]?.string == "Two" && Self.tags(changes[2]) == ["t"])
      #expect(changes[0].bytes == (try await Self.item(world, token, 1).bytes))
      // The same again, as after a lost answer.
      let again = try await Self.push(world, token, since: 5, Self.photo(1, #""note": "one", "tags": ["a", "b"]"#))
      #expect(Self.results(again)[0]["version"]?.int == 1)
      #expect(again["version"]?.int == 5 && again["changes"]?.elements.map { $0 }.isEmpty == true)
      let nothing = try await world.get("/v1/sync?since=5", as: token)
      #expect(nothing.text == #"{"changes":[],"version":5,"until":5,"has_more":false}"#)
      let tag = try #require(nothing[.etag])
      #expect(try await world.get("/v1/sync?since=5", as: token, [.ifNoneMatch: tag]).status == 304)
      // How far the device is, as it was told.
      #expect(try await world.value("SELECT s.sync_version FROM magpie.session s") == Int64(5))
    }
  }

  @Test func pagesHaveNoHoles() async throws {
    try await Self.run { world, token async throws in
      let account: Int64 = try await world.value("SELECT a.id FROM magpie.account a")
      try await world.sql(
        "INSERT INTO magpie.favorite (account_id, kind, subject_id) SELECT \(account), 'photo', i::text FROM generate_series(1, 25) i"
      )
      var seen: [String: Int64] = [:]
      var (since, until, pages) = (Int64(0), "", 0)
      while true {
        let page = try await world.get("/v1/sync?since=\(since)&limit=4\(until)", as: token).json
        for entry in try #require(page["changes"]).elements {
          let id = try #require(entry["id"]?.string)
          #expect((seen[id] ?? 0) < entry["version"]!.int!)
          seen[id] = entry["version"]?.int
        }
        since = try #require(page["version"]?.int)
        if pages == 0 { until = "&until=\(try #require(page["until"]?.int))" }
        pages += 1
        // Somebody writes in between; that moves items behind the end.
        try await world.sql("UPDATE magpie.favorite SET note = note || 'x' WHERE subject_id IN ('3', '20')")
        if page["has_more"]?.bool == false { break }
        try #require(pages < 20)
      }
      #expect(since == 25)
      // 20 has moved away before its page came.
      #expect(seen.count == 24 && seen["20"] == nil)
      let rest = try await world.get("/v1/sync?since=25&limit=500", as: token).json
      #expect(try #require(rest["changes"]).elements.map { $0["id"]?.string } == ["3", "20"])
      #expect(try await world.get("/v1/sync?since=9&until=8", as: token).pointers == ["/until"])
    }
  }

  @Test func fieldsAreMerged() async throws {
    try await Self.run { world, token async throws in
      _ = try await Self.push(world, token, Self.photo(1, #""note": "base", "tags": ["a", "b"], "rank": "c""#))
      // One device: note, one tag more. Another, which has not seen that: rank, one tag less.
      _ = try await Self.push(
        world, token, Self.photo(1, #""note": "mine", "tags": ["a", "b", "n"], "base_version": 1"#))
      let other = try await Self.push(
        world, token, Self.photo(1, #""note": "base", "tags": ["b", "o"], "rank": "d", "base_version": 1"#))
      #expect(Self.statuses(other) == ["ok"])
      let merged = try await Self.item(world, token, 1)
      #expect(merged["note"]?.string == "mine" && merged["rank"]?.string == "d")
      #expect(Self.tags(merged) == ["b", "n", "o"])
      // Both have written a note.
      let conflict = try await Self.push(
        world, token, Self.photo(1, #""note": "theirs", "rank": "z", "base_version": 1"#))
      let result = Self.results(conflict)[0]
      #expect(result["status"]?.string == "conflict" && result["version"]?.int == 3)
      #expect(result["server"]?.bytes == merged.bytes)
      #expect(result["ancestor"]?["note"]?.string == "base" && result["ancestor"]?["version"]?.int == 1)
      #expect(Self.tags(result["ancestor"]) == ["a", "b"])
      #expect(try await Self.item(world, token, 1).bytes == merged.bytes)
      // The first device's answer was lost, it asks again, and nothing of the other's is undone.
      let retry = try await Self.push(
        world, token, Self.photo(1, #""note": "mine", "tags": ["a", "b", "n"], "base_version": 1"#))
      #expect(Self.statuses(retry) == ["ok"])
      #expect(try await Self.item(world, token, 1).bytes == merged.bytes)
      // Resolved on the server's copy.
      let resolved = try await Self.push(world, token, Self.photo(1, #""note": "both", "base_version": 3"#))
      #expect(Self.results(resolved)[0]["version"]?.int == 4)
      // And the late copy of the first request finds that its note has had its turn.
      _ = try await Self.push(world, token, Self.photo(1, #""note": "mine", "base_version": 1"#))
      #expect(try await Self.item(world, token, 1)["note"]?.string == "both")
      // A cursor serves as well as a version; an unknown ancestor is null.
      let added = try await Self.push(world, token, Self.photo(2, #""note": "x", "tags": ["x"], "base_version": 4"#))
      #expect(Self.statuses(added) == ["ok"])
      let twice = try await Self.push(world, token, Self.photo(2, #""note": "y", "tags": ["y"], "base_version": 4"#))
      #expect(Self.statuses(twice) == ["conflict"])
      #expect(Self.results(twice)[0]["ancestor"]?.isNull == true)
    }
  }

  @Test func deletionAndEdit() async throws {
    try await Self.run { world, token async throws in
      _ = try await Self.push(world, token, Self.photo(1, #""note": "base", "tags": ["a"]"#))
      // Deleted by one, edited by another who has not seen it: deleted it stays.
      _ = try await Self.push(world, token, Self.photo(1, #""base_version": 1"#, op: "delete"))
      let edit = try await Self.push(
        world, token, Self.photo(1, #""note": "edited", "base_version": 1"#),
        Self.photo(1, #""add": ["k"]"#, op: "tags"))
      #expect(Self.statuses(edit) == ["conflict", "conflict"])
      let server = try #require(Self.results(edit)[0]["server"])
      #expect(server["deleted"]?.bool == true && server["version"]?.int == 2)
      #expect(Self.results(edit)[0]["ancestor"]?["note"]?.string == "base")
      #expect(try await world.get("/v1/favorites/photo/1", as: token).status == 404)
      // Added again, with what was written.
      _ = try await Self.push(world, token, Self.photo(1))
      let back = try await Self.item(world, token, 1)
      #expect(back["note"]?.string == "edited" && Self.tags(back) == ["a", "k"])
      // A deletion of before that does not concern what came back; one of now does, whatever was edited.
      let late = try await Self.push(world, token, Self.photo(1, #""base_version": 1"#, op: "delete"))
      #expect(Self.statuses(late) == ["conflict"])
      #expect(Self.results(late)[0]["server"]?["note"]?.string == "edited")
      _ = try await Self.push(world, token, Self.photo(1, #""note": "again", "base_version": 3"#))
      let now = try await Self.push(world, token, Self.photo(1, #""base_version": 3"#, op: "delete"))
      #expect(Self.statuses(now) == ["ok"])
      #expect(try await world.value("SELECT t.note FROM magpie.favorite_tombstone t") == "again")
      // Deleting what is not there is done already.
      let gone = try await Self.push(world, token, Self.photo(1, op: "delete"), Self.photo(77, op: "delete"))
      #expect(Self.statuses(gone) == ["ok", "ok"])
      #expect(gone["version"]?.int == 5)
      // Within one batch nothing is news to the device itself.
      let batch = try await Self.push(
        world, token, Self.photo(1, #""note": "new", "base_version": 5"#),
        Self.photo(1, #""note": "newer", "base_version": 5"#),
        Self.photo(1, #""base_version": 5"#, op: "delete"), Self.photo(1, #""note": "newest", "base_version": 5"#))
      #expect(Self.statuses(batch) == ["ok", "ok", "ok", "ok"])
      #expect(try await Self.item(world, token, 1)["note"]?.string == "newest")
    }
  }

  @Test func atomicIsAllOrNothing() async throws {
    try await Self.run { world, token async throws in
      _ = try await Self.push(
        world, token, Self.photo(1, #""note": "a""#), Self.photo(1, #""note": "b""#), Self.photo(9, #""note": "nine""#))
      for bad in [
        Self.photo(1, #""note": "c", "base_version": 1"#), Self.photo(0), Self.photo(5, Self.hugeInside),
      ] {
        let answer = try await Self.push(
          world, token, since: 3, Self.photo(2), Self.photo(9, op: "delete"), bad, Self.photo(3), atomic: true)
        #expect(!Self.statuses(answer).contains("ok"), "\(bad)")
        #expect(Self.results(answer)[1]["server"]?["note"]?.string == "nine")
        #expect(Self.results(answer)[0]["server"]?.isNull == true)
        #expect(Self.results(answer)[0]["errors"]?.elements.map { $0["pointer"]?.string } == ["/changes/0"])
        #expect(answer["version"]?.int == 3 && answer["changes"]?.elements.map { $0 }.isEmpty == true)
        // Without `atomic` the others are applied.
      }
      let good = try await Self.push(world, token, Self.photo(2), Self.photo(9, op: "delete"), atomic: true)
      #expect(Self.statuses(good) == ["ok", "ok"])
      #expect(try await world.value("SELECT a.version FROM magpie.account a") == Int64(5))
    }
  }

  @Test func aFailedBatchTellsWhatTheServerHas() async throws {
    try await Self.run { world, token async throws in
      _ = try await Self.push(
        world, token, Self.photo(1, #""note": "a""#), Self.photo(1, #""note": "b""#), Self.photo(2),
        Self.photo(2, op: "delete"))
      let answer = try await Self.push(
        world, token, since: 4, Self.photo(1, #""add": ["t"]"#, op: "tags"),
        Self.photo(1, #""note": "c", "base_version": 1"#), Self.photo(2, #""note": "z""#), Self.photo(1, op: "delete"),
        Self.photo(1, #""add": ["u"]"#, op: "tags"), atomic: true)
      let results = Self.results(answer)
      #expect(Self.statuses(answer) == Array(repeating: "conflict", count: 5))
      #expect(results.map { $0["version"]?.int } == [2, 2, 4, 2, 2])
      let item = try await Self.item(world, token, 1)
      for index in [0, 1, 3, 4] { #expect(results[index]["server"]?.bytes == item.bytes, "\(index)") }
      #expect(results[2]["server"]?["deleted"]?.bool == true && results[2]["server"]?["version"]?.int == 4)
      #expect(results[1]["ancestor"]?["note"]?.string == "a")
      #expect(answer["version"]?.int == 4)
    }
  }

  @Test func whatIsSentAgainBringsNothingBack() async throws {
    try await Self.run { world, token async throws in
      let first = Self.photo(5, #""note": "hi", "base_version": 0"#)
      #expect(Self.statuses(try await Self.push(world, token, first)) == ["ok"])
      #expect(try await world.send(.delete, "/v1/favorites/photo/5", as: token).status == 204)
      let again = try await Self.push(world, token, first)
      #expect(Self.statuses(again) == ["conflict"])
      let server = Self.results(again)[0]["server"]
      #expect(server?["deleted"]?.bool == true && server?["version"]?.int == 2)
      #expect(try await world.get("/v1/favorites/photo/5", as: token).status == 404)
      // Whoever knows of the deletion means it.
      #expect(Self.statuses(try await Self.push(world, token, Self.photo(5, #""base_version": 2"#))) == ["ok"])
    }
  }

  @Test func tagsAreToldApartByteByByte() async throws {
    try await Self.run { world, token async throws in
      _ = try await Self.push(world, token, Self.photo(1, #""tags": ["e\u0301"]"#))
      let answer = try await Self.push(
        world, token, Self.photo(1, #""add": ["\u00e9"], "remove": ["e\u0301"]"#, op: "tags"))
      #expect(Self.statuses(answer) == ["ok"])
      #expect(Self.tags(try await Self.item(world, token, 1)).map { Array($0.utf8) } == [[0xC3, 0xA9]])
    }
  }

  @Test func whatIsWrongWithOneIsSaidOfThatOne() async throws {
    try await Self.run { world, token async throws in
      let long = String(repeating: "x", count: 10_001)
      let wrong: [(String, [String])] = [
        ("7", [""]), (#"{"op": "put"}"#, ["/kind", "/id"]), (Self.photo(1, op: "move"), ["/op"]),
        (Self.photo(1, #""nope": 1"#), ["/nope"]), (Self.photo(1, #""note": "\#(long)""#), ["/note"]),
        (Self.photo(1, #""note": "a\u0000b""#), ["/note"]), (Self.photo(0), ["/id"]),
        (#"{"op": "put", "kind": "stone", "id": "1"}"#, ["/kind"]),
        (Self.photo(1, #""base_version": -1"#), ["/base_version"]),
        (Self.photo(1, #""base_version": 1000"#), ["/base_version"]),
        (Self.photo(1, #""add": ["x"], "remove": ["x"]"#, op: "tags"), ["/remove"]),
        (Self.photo(1, #""tags": [""]"#), ["/tags"]), (Self.photo(1, #""add": []"#), ["/add"]),
        (Self.photo(1, #""added_at": "yesterday""#), ["/added_at"]),
        (Self.photo(1, #""added_at": "9999-12-31T23:59:59-10:00""#), ["/added_at"]),
        (#"{"op": "delete", "kind": "photo", "id": ""}"#, ["/id"]),
        (#"{"op": "put", "kind": "gif", "id": ""}"#, ["/id"]),
        // Only PostgreSQL knows that this cannot be.
        (Self.photo(1, Self.hugeInside), [""]),
      ]
      let operations = wrong.flatMap { [$0.0, Self.photo(500)] }
      let answer = try await world.send(
        .post, "/v1/sync", as: token, body: #"{"since": 0, "changes": [\#(operations.joined(separator: ","))]}"#)
      try #require(answer.status == 200)
      let results = Self.results(try answer.json)
      try #require(results.count == operations.count)
      for (index, (operation, pointers)) in wrong.enumerated() {
        let result = results[2 * index]
        #expect(result["status"]?.string == "invalid", "\(operation)")
        let expected = pointers.map { "/changes/\(2 * index)" + $0 }
        #expect(result["errors"]?.elements.compactMap { $0["pointer"]?.string } == expected, "\(operation)")
        #expect(results[2 * index + 1]["status"]?.string == "ok")
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(1))
      // A hundred tags together are fine, one more is not.
      let many = (0..<99).map { "\"t\($0)\"" }.joined(separator: ",")
      _ = try await Self.push(world, token, Self.photo(6, #""tags": [\#(many)]"#))
      let tags = try await Self.push(
        world, token, Self.photo(6, #""add": ["x"]"#, op: "tags"), Self.photo(6, #""add": ["y"]"#, op: "tags"))
      #expect(Self.statuses(tags) == ["ok", "invalid"])
    }
  }

  @Test func requestsThatCannotBeAreRefused() async throws {
    try await Self.run { world, token async throws in
      let reader = try await world.token(scopes: ["read"])
      func push(_ body: String, as token: String?) async throws -> Answer {
        try await world.send(.post, "/v1/sync", as: token, body: body)
      }
      let valid = #"{"since": 0, "changes": [{"op": "put", "kind": "photo", "id": "1"}]}"#
      #expect(try await push(valid, as: nil).status == 401)
      #expect(try await push(valid, as: String(token.dropLast(2)) + "xx").status == 401)
      #expect(try await push(valid, as: reader).status == 403)
      #expect(try await world.get("/v1/sync", as: nil).status == 401)
      #expect(try await world.get("/v1/sync/checksum", as: nil).status == 401)
      for (body, pointers) in [
        ("[]", [""]), ("{}", ["/since"]), (#"{"since": -1}"#, ["/since"]), (#"{"since": "1"}"#, ["/since"]),
        (#"{"since": 0, "changes": {}}"#, ["/changes"]), (#"{"since": 0, "atomic": 1}"#, ["/atomic"]),
        (#"{"since": 0, "limit": 0}"#, ["/limit"]), (#"{"since": 0, "more": 0}"#, ["/more"]),
      ] {
        let answer = try await push(body, as: token)
        #expect(answer.status == 422 && answer.pointers == pointers, "\(body)")
      }
      #expect(try await push("{", as: token).status == 400)
      let operations = (1...501).map { Self.photo($0) }
      func batch(_ count: Int) -> String {
        #"{"since": 0, "changes": [\#(operations[..<count].joined(separator: ","))]}"#
      }
      let tooMany = try await push(batch(501), as: token)
      #expect(tooMany.status == 422 && tooMany.pointers == ["/changes"])
      #expect(try await push(batch(500), as: token).status == 200)
      #expect(try await push(String(repeating: " ", count: (1 << 20) + 1), as: token).status == 413)
      for since in ["-1", "x", "1.5", "99999999999999999999", ""] {
        let answer = try await world.get("/v1/sync?since=\(since)", as: token)
        #expect(answer.status == 422 && answer.pointers == ["/since"], "\(since)")
      }
      for answer in [
        try await world.get("/v1/sync?since=501", as: token),
        try await push(#"{"since": 501, "changes": [{"op": "delete", "kind": "photo", "id": "1"}]}"#, as: token),
      ] {
        #expect(answer.status == 400 && answer.code == "sync/unknown-cursor")
        #expect(try answer.json["resync_url"]?.string == "/v1/sync?since=0")
      }
      #expect(try await world.value("SELECT a.version FROM magpie.account a") == Int64(500))
    }
  }

  @Test func othersSeeNothingOfIt() async throws {
    try await Self.run { world, ann in
      let bob = try await world.token(of: "bob")
      _ = try await Self.push(
        world, ann, Self.photo(1, #""note": "ann's""#), Self.photo(2), Self.photo(2, op: "delete"))
      #expect(
        try await world.get("/v1/sync", as: bob).text == #"{"changes":[],"version":0,"until":0,"has_more":false}"#)
      let answer = try await Self.push(world, bob, Self.photo(1, op: "delete"), Self.photo(1, #""note": "bob's""#))
      #expect(answer["changes"]?.elements.map { $0["note"]?.string } == ["bob's"])
      #expect(try await Self.item(world, ann, 1)["note"]?.string == "ann's")
      #expect(
        try await world.get("/v1/sync/checksum", as: bob).json["kinds"]?["photo"]?["hash"]?.string
          == Self.hash([("photo", "1", 1)]))
    }
  }

  @Test func cursorsBelowTheHorizonHaveToReadAgain() async throws {
    try await Self.run { world, token async throws in
      _ = try await Self.push(
        world, token, Self.photo(1), Self.photo(2), Self.photo(3), Self.photo(4), Self.photo(2, op: "delete"),
        Self.photo(5))
      try await world.sql("UPDATE magpie.favorite_tombstone SET recorded_at = now() - interval '179 days'")
      try await TestSupport.withDatabase(world.url, configure: { $0.role = "magpie_worker" }) {
        try await Sync.forgetDeletions(in: $0)
      }
      #expect(try await world.get("/v1/sync?since=4", as: token).status == 200)
      try await world.sql("UPDATE magpie.favorite_tombstone SET recorded_at = now() - interval '181 days'")
      try await TestSupport.withDatabase(world.url, configure: { $0.role = "magpie_worker" }) {
        try await Sync.forgetDeletions(in: $0)
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite_tombstone") == Int64(0))
      for answer in [
        try await world.get("/v1/sync?since=4", as: token),
        try await world.send(
          .post, "/v1/sync", as: token, body: #"{"since": 4, "changes": [{"op": "put", "kind": "photo", "id": "9"}]}"#),
      ] {
        #expect(answer.status == 410 && answer.code == "sync/cursor-expired")
        #expect(try answer.json["resync_url"]?.string == "/v1/sync?since=0")
      }
      #expect(try await world.get("/v1/favorites/photo/9", as: token).status == 404)
      #expect(try await world.get("/v1/sync?since=5", as: token).status == 200)
      // A read of everything goes through below the horizon, page by page, with and without `until`.
      for until in ["", "&until=6"] {
        var (since, ids) = (Int64(0), [String]())
        while true {
          let answer = try await world.get("/v1/sync?since=\(since)&limit=1\(since > 0 ? until : "")", as: token)
          try #require(answer.status == 200)
          ids += try #require(try answer.json["changes"]).elements.compactMap { $0["id"]?.string }
          since = try #require(try answer.json["version"]?.int)
          if try answer.json["has_more"]?.bool == false { break }
        }
        #expect(ids == ["1", "3", "4", "5"])
      }
      // That was this device; another with an old cursor still has to.
      let other = try await world.token()
      #expect(try await world.get("/v1/sync?since=4", as: other).status == 410)
    }
  }

  @Test func checksumCanBeWorkedOut() async throws {
    try await Self.run { world, token async throws in
      let empty = String(repeating: "0", count: 64)
      func sums() async throws -> [String: String] {
        let json = try await world.get("/v1/sync/checksum", as: token).json
        return Dictionary(
          uniqueKeysWithValues: try #require(json["kinds"]).members.map {
            ($0.key, "\($0.value["count"]?.int ?? -1) \($0.value["hash"]?.string ?? "")")
          })
      }
      #expect(try await sums()["gif"] == "0 " + empty)
      // Checked with sha256sum.
      #expect(
        Self.hash([("photo", "1", 1)]) == "5b2fc28c018c1cecf7e2136a8ceecf5c2f54e605ac3dc182407ba81338f3c171")
      _ = try await Self.push(
        world, token, Self.photo(1), Self.photo(2), #"{"op": "put", "kind": "gif", "id": "g"}"#,
        Self.photo(1, #""note": "x""#),
        Self.photo(3), Self.photo(2, op: "delete"))
      #expect(try await sums()["photo"] == "2 " + Self.hash([("photo", "1", 4), ("photo", "3", 5)]))
      #expect(try await sums()["gif"] == "1 " + Self.hash([("gif", "g", 3)]))
      #expect(try await sums()["github-user"] == "0 " + empty)
      try await world.sql("UPDATE magpie.favorite SET note = 'y' WHERE subject_id = '3'")
      try await world.sql("DELETE FROM magpie.favorite WHERE kind = 'gif'")
      #expect(try await sums()["photo"] == "2 " + Self.hash([("photo", "1", 4), ("photo", "3", 7)]))
      #expect(try await sums()["gif"] == "0 " + empty)
      #expect(try await world.get("/v1/sync/checksum", as: token).json["version"]?.int == 8)
      // An account goes with all of it.
      try await world.sql("DELETE FROM magpie.account")
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite_history") == Int64(0))
    }
  }

  @Test func historyIsBounded() async throws {
    try await Self.run { world, token async throws in
      for note in 1...30 { _ = try await Self.push(world, token, Self.photo(1, #""note": "\#(note)""#)) }
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite_history") == Int64(20))
      let known = try await Self.push(world, token, Self.photo(1, #""note": "x", "base_version": 10"#))
      #expect(Self.results(known)[0]["ancestor"]?["note"]?.string == "10")
      let unknown = try await Self.push(world, token, Self.photo(1, #""note": "x", "base_version": 9"#))
      #expect(Self.statuses(unknown) == ["conflict"])
      #expect(Self.results(unknown)[0]["ancestor"]?.isNull == true)
    }
  }

  @Test func batchesAndHandsDoNotDeadlock() async throws {
    try await Self.run { world, token async throws in
      let operations = (1...40).map { Self.photo($0, #""tags": ["r"]"#) }.joined(separator: ",")
      _ = try await world.send(.post, "/v1/sync", as: token, body: #"{"since": 0, "changes": [\#(operations)]}"#)
      try await withThrowingTaskGroup { group in
        for worker in 0..<4 {
          group.addTask {
            for round in 0..<4 {
              let some = (1...40).shuffled().map { Self.photo($0, #""note": "\#(worker) \#(round)""#) }.joined(
                separator: ",")
              // Who waits for the account's lock too long is told to try again; nobody waits for good.
              var answer: Answer
              repeat {
                answer = try await world.send(
                  .post, "/v1/sync", as: token, body: #"{"since": 0, "changes": [\#(some)]}"#)
              } while answer.status == 503 && answer.code == "server/busy"
              #expect(answer.status == 200, "\(answer.text)")
            }
          }
        }
        group.addTask {
          for round in 0..<20 {
            let edit: Query =
              "UPDATE magpie.favorite SET rank = \("r\(round)") WHERE subject_id = \(String(1 + round % 40))"
            do { try await world.sql(edit) } catch let error as PostgresError
              where error.sqlState == .lockNotAvailable
            { continue }
          }
        }
        try await group.waitForAll()
      }
      #expect(
        try await world.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == Int64(0))
    }
  }

  /// As a client would do it.
  static func hash(_ items: [(kind: String, id: String, version: Int64)]) -> String {
    var sum = [UInt8](repeating: 0, count: 32)
    for item in items {
      let digest = Digest.sha256(Array("\(item.kind)\n\(item.id)\n\(item.version)".utf8))
      for index in sum.indices { sum[index] ^= digest[index] }
    }
    return sum.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
