import HTTP
import HTTPClient
import JSONText
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

/// Taking everything along and bringing it back; files of apps and browsers; and what is no such file.
@Suite struct TransferTests {
  private static func run(
    _ body: @escaping @Sendable (TestWorld, String) async throws -> Void
  ) async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1))
    options.hasWorker = false
    try await TestWorld.run(options) { world in try await body(world, try await world.token()) }
  }

  private static func bring(
    _ world: TestWorld, _ token: String?, _ body: String, _ type: String = "application/json", query: String = ""
  ) async throws -> Answer {
    var fields: Fields = [.contentType: type]
    if let token { fields.append(.authorization, "Bearer \(token)") }
    let response = try await world.client.send(
      HTTPClient.Request(
        .post, "\(world.servers[0].baseURL)/v1/account/import\(query)", fields: fields, body: Array(body.utf8),
        timeout: .seconds(60)))
    return Answer(status: response.status.code, fields: response.fields, body: response.body)
  }

  /// All but the time and whose it is.
  private static func essence(_ answer: Answer) throws -> String {
    try #require(answer.status == 200, "\(answer.text.prefix(300))")
    return String(
      decoding: try answer.json.removing(members: ["exported_at", "account"]), as: UTF8.self)
  }

  private static func fill(_ world: TestWorld, _ token: String) async throws {
    for (id, name) in [
      ("0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e", "Cats; \\\"and\\\" so"),
      ("0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1f", "Gone"),
    ] {
      let body = #"{"id": "\#(id)", "name": "\#(name)", "rank": "k"}"#
      #expect(try await world.send(.post, "/v1/collections", as: token, body: body).status == 201)
    }
    let snapshot =
      #"{"title": "=SUM(1)\u0001\"é💥", "subtitle": "-s", "url": "https://x/?a=1&b=\"2\"", "image": "i", "n": [1.50, 1e3]}"#
    for (path, body) in [
      (
        "gif/abc",
        #"{"note": "+1\r\n\"two\", ;", "tags": ["a;b", "c\\d", "@x"], "rank": "m", "snapshot": \#(snapshot)}"#
      ),
      (
        "photo/7",
        #"{"collections": ["0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e"], "added_at": "2024-01-02T03:04:05.678901Z"}"#
      ),
      ("github-user/@nobody", #"{"note": "waits"}"#), ("github-repo/5", #"{"snapshot": {"full_name": "a/b"}}"#),
      ("gif/gone", #"{"note": "kept", "tags": ["t"], "collections": ["0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e"]}"#),
    ] {
      #expect(
        try await world.send(.put, "/v1/favorites/\(path)", as: token, [.prefer: "respond-async"], body: body).status
          == 201, "\(path)")
    }
    #expect(try await world.send(.delete, "/v1/favorites/gif/gone", as: token).status == 204)
    #expect(
      try await world.send(.delete, "/v1/collections/0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1f", as: token).status == 204)
  }

  @Test func whatIsTakenAlongComesBackByteForByte() async throws {
    try await Self.run { world, ann in
      try await Self.fill(world, ann)
      let exported = try await world.get("/v1/account/export", as: ann)
      #expect(exported.status == 200)
      #expect(exported[.contentType] == "application/json; charset=utf-8")
      #expect(exported["Content-Disposition"] == "attachment; filename=\"magpie-favorites.json\"")
      #expect(exported[.cacheControl] == "no-store")
      let document = try exported.json
      #expect(document["account"]?["username"]?.string == "ann")
      #expect(document["favorites"]?.elements.map { $0["id"]?.string } == ["abc", "5", "@nobody", "7"])
      #expect(document["tombstones"]?["favorites"]?.elements.map { $0["note"]?.string } == ["kept"])
      #expect(document["tombstones"]?["collections"]?.elements.map(\.kind).count == 1)

      // The same again changes nothing.
      let version: Int64 = try await world.value("SELECT a.version FROM magpie.account a")
      let again = try await Self.bring(world, ann, exported.text)
      #expect(again.status == 200, "\(again.text)")
      #expect(try again.json["version"]?.int == version)
      #expect(try Self.essence(try await world.get("/v1/account/export", as: ann)) == Self.essence(exported))

      // Into an empty account, by another one's token.
      let bob = try await world.token(of: "bob")
      let brought = try await Self.bring(world, bob, exported.text)
      #expect(brought.status == 200, "\(brought.text)")
      #expect(try brought.json["favorites"]?.int == 4)
      #expect(try brought.json["collections"]?.int == 1)
      #expect(try brought.json["tombstones"]?.int == 2)
      let copy = try await world.get("/v1/account/export", as: bob)
      #expect(try Self.essence(copy) == Self.essence(exported))
      #expect(
        try await world.value("SELECT a.favorite_count FROM magpie.account a WHERE a.username = 'bob'") == Int64(4))
      // A tombstone that came along can be restored.
      #expect(try await world.send(.post, "/v1/favorites/gif/gone/restore", as: bob).json["note"]?.string == "kept")

      // After changes, all of it is as it was; what else there is stays.
      _ = try await world.send(.patch, "/v1/favorites/gif/abc", as: ann, body: #"{"note": null, "tags": ["other"]}"#)
      _ = try await world.send(.delete, "/v1/favorites/photo/7", as: ann)
      _ = try await world.send(.put, "/v1/favorites/photo/8", as: ann)
      #expect(try await Self.bring(world, ann, exported.text).status == 200)
      #expect(try await world.send(.delete, "/v1/favorites/photo/8", as: ann).status == 204)
      try await world.sql("DELETE FROM magpie.favorite_tombstone WHERE subject_id = '8'")
      #expect(try Self.essence(try await world.get("/v1/account/export", as: ann)) == Self.essence(exported))
    }
  }

  @Test func tablesAndBookmarksGoThereAndBack() async throws {
    try await Self.run { world, ann in
      try await Self.fill(world, ann)
      let bob = try await world.token(of: "bob")
      let csv = try await world.get("/v1/account/export", as: ann, [.accept: "text/csv"])
      #expect(csv[.contentType]?.hasPrefix("text/csv") == true)
      #expect(csv.text.hasPrefix("kind,id,title,subtitle,url,image,note,tags,collections,rank,added_at\r\n"))
      // No cell begins a formula.
      #expect(csv.text.contains("\"'=SUM(1)"))
      #expect(csv.text.contains(",'-s,"))
      #expect(csv.text.contains("github-user,'@nobody,nobody,"))
      let brought = try await Self.bring(world, bob, "\u{FEFF}" + csv.text, "text/csv; charset=utf-8")
      #expect(brought.status == 200, "\(brought.text)")
      func item(_ path: String, _ token: String) async throws -> JSONView {
        try await world.get("/v1/favorites/\(path)", as: token).json
      }
      for path in ["gif/abc", "photo/7", "github-user/@nobody", "github-repo/5"] {
        let (from, to) = (try await item(path, ann), try await item(path, bob))
        for name in ["title", "subtitle", "url", "image", "note", "rank", "added_at"] {
          #expect(from[name]?.string == to[name]?.string, "\(path) \(name)")
        }
        #expect(from["tags"]?.elements.map(\.string) == to["tags"]?.elements.map(\.string), "\(path)")
        #expect(
          from["collections"]?.elements.map(\.kind).count == to["collections"]?.elements.map(\.kind).count, "\(path)")
      }
      #expect(
        try await world.get("/v1/collections", as: bob).json["items"]?.elements.map { $0["name"]?.string } == [
          "Cats; \"and\" so"
        ])

      let eve = try await world.token(of: "eve")
      let html = try await world.get("/v1/account/export?format=html", as: ann)
      #expect(html.text.hasPrefix("<!DOCTYPE NETSCAPE-Bookmark-file-1>"))
      #expect(html["Content-Security-Policy"]?.contains("sandbox") == true)
      #expect(try await Self.bring(world, eve, html.text, "text/html").status == 200)
      #expect(try await item("gif/abc", eve)["title"]?.string == (try await item("gif/abc", ann))["title"]?.string)
      #expect(try await item("gif/abc", eve)["url"]?.string == "https://x/?a=1&b=\"2\"")
      #expect(try await item("photo/7", eve)["added_at"]?.string == "2024-01-02T03:04:05.000000Z")
      #expect(
        try await world.value("SELECT a.favorite_count FROM magpie.account a WHERE a.username = 'eve'") == Int64(4))
    }
  }

  @Test func filesOfAppsAndBrowsersAreTaken() async throws {
    try await Self.run { world, token async throws in
      let people =
        #"[{"login": "OctoCat", "avatarUrl": "https://avatars/1"}, {"login": "octocat"}, {"login": "hubot", "avatarUrl": ""}]"#
      let first = try await Self.bring(world, token, people)
      #expect(first.status == 200, "\(first.text)")
      #expect(try first.json["favorites"]?.int == 2)
      let cat = try await world.get("/v1/favorites/github-user/@octocat", as: token)
      #expect(try cat.json["state"]?.string == "pending")
      #expect(try cat.json["title"]?.string == "OctoCat")
      #expect(try cat.json["image"]?.string == "https://avatars/1")
      #expect(try await world.value("SELECT count(*) FROM magpie.job WHERE kind = 'github-user'") == Int64(2))

      let gifs = #"""
        [{"id": "xT9IgG50Fb7Mi0prBC", "url": "https://giphy.com/gifs/x", "rating": "g", "username": "u", "title": "Cat",
        "trendingDate": "2020-01-01 00:00:00", "images": {"original": {"url": "https://media/x.gif", "width": "480"}}}]
        """#
      #expect(try await Self.bring(world, token, gifs).status == 200)
      let gif = try await world.get("/v1/favorites/gif/xT9IgG50Fb7Mi0prBC", as: token)
      #expect(try gif.json["title"]?.string == "Cat")
      #expect(try gif.json["subtitle"]?.string == "u")
      #expect(try gif.json["image"]?.string == "https://media/x.gif")
      #expect(try gif.json["snapshot"]?["images"]?["original"]?["width"]?.string == "480")
      // A note of one's own is not lost to an app's file.
      _ = try await world.send(
        .patch, "/v1/favorites/gif/xT9IgG50Fb7Mi0prBC", as: token, body: #"{"note": "mine", "tags": ["t"]}"#)
      #expect(try await Self.bring(world, token, gifs).status == 200)
      let kept = try await world.get("/v1/favorites/gif/xT9IgG50Fb7Mi0prBC", as: token)
      #expect(try kept.json["note"]?.string == "mine")
      #expect(try kept.json["tags"]?.elements.map(\.kind).count == 1)

      let bookmarks = """
        <!DOCTYPE NETSCAPE-Bookmark-file-1>
        <!-- <A HREF="https://github.com/commented">no</A> -->
        <DL><p><DT><H3 ADD_DATE="1">Code &amp; more</H3>
        <DL><p>
        <DT><A HREF="https://github.com/octocat/Hello-World/issues?q=1" ADD_DATE="1577836800" TAGS="a, b,">Hello &lt;World&gt; &#x1F4A5;</A>
        <DD>A note &quot;here&quot;
        <DT><A HREF='https://www.github.com/Torvalds'>L</A>
        </DL><p>
        <DT><A HREF=https://giphy.com/gifs/cat-funny-abc123DEF>Cat</A>
        <DT><A HREF="javascript:alert(1)">x</A><DT><A HREF="https://example.com/">x</A><DT><A>nothing
        </DL><p>
        """
      let last = try await Self.bring(world, token, bookmarks, "text/html")
      #expect(last.status == 200, "\(last.text)")
      #expect(try last.json["favorites"]?.int == 3)
      #expect(try last.json["skipped"]?.int == 3)
      #expect(try last.json["skips"]?.elements.map { $0["place"]?.string }.first == "javascript:alert(1)")
      let repository = try await world.get("/v1/favorites/github-repo/@octocat%2Fhello-world", as: token)
      #expect(try repository.json["title"]?.string == "Hello <World> 💥")
      #expect(try repository.json["note"]?.string == "A note \"here\"")
      #expect(try repository.json["tags"]?.elements.compactMap(\.string) == ["a", "b"])
      #expect(try repository.json["added_at"]?.string == "2020-01-01T00:00:00.000000Z")
      #expect(try repository.json["collections"]?.elements.map(\.kind).count == 1)
      #expect(
        try await world.get("/v1/favorites/gif/abc123DEF", as: token).json["collections"]?.elements.map(\.kind).count
          == 0)
      #expect(try await world.get("/v1/favorites/github-user/@torvalds", as: token).status == 200)
    }
  }

  private static let once = #"{"id": "0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e", "#

  private static func export(collections: String = "", gone: String = "", goneCollections: String = "") -> String {
    #"""
    {"format": "magpie-export", "format_version": 1, "collections": [\#(collections)], "favorites": [],
     "tombstones": {"favorites": [\#(gone)], "collections": [\#(goneCollections)]}}
    """#
  }

  private static func gone(addedAt: String) -> String {
    #"""
    {"kind": "photo", "id": "98", "title": "", "subtitle": "", "url": "", "image": "", "state": "ok", "note": "",
     "tags": [], "collections": [], "rank": "", "added_at": "\#(addedAt)", "deleted_at": "2026-01-01T00:00:00-23:00",
     "snapshot": null}
    """#
  }

  @Test func ofOneCollectionTheFirstCounts() async throws {
    try await Self.run { world, token async throws in
      func collection(_ name: String) -> String {
        Self.once + #""name": "\#(name)", "rank": "", "created_at": "2026-01-01T00:00:00Z"}"#
      }
      let twice = try await Self.bring(
        world, token, Self.export(collections: collection("a") + "," + collection("b").replacing("f8a2", with: "F8A2")))
      #expect(twice.status == 200, "\(twice.text)")
      #expect(try twice.json["collections"]?.int == 1)
      #expect(try await world.value("SELECT c.name FROM magpie.collection c") == "a")
      let bob = try await world.token(of: "bob")
      func gone(_ time: String) -> String { Self.once + #""deleted_at": "\#(time)"}"# }
      let without = try await Self.bring(
        world, bob, Self.export(goneCollections: gone("2026-01-01T00:00:00Z") + "," + gone("2026-01-02T00:00:00Z")))
      #expect(without.status == 200, "\(without.text)")
      #expect(try without.json["tombstones"]?.int == 1)
      #expect(
        try await world.value("SELECT magpie.json_time(t.deleted_at) FROM magpie.collection_tombstone t")
          == "2026-01-01T00:00:00.000000Z")
    }
  }

  @Test func whatWasImportedCanBeExportedAndImported() async throws {
    try await Self.run { world, ann in
      for time in ["9999-12-31T23:59:59-10:00", "0001-01-01T00:00:00+00:01"] {
        let answer = try await Self.bring(world, ann, Self.export(gone: Self.gone(addedAt: time)))
        #expect(answer.status == 422 && answer.pointers == ["/tombstones/favorites/0/added_at"], "\(answer.text)")
      }
      let taken = try await Self.bring(world, ann, Self.export(gone: Self.gone(addedAt: "2026-01-01T00:00:00+16:00")))
      #expect(taken.status == 200, "\(taken.text)")
      // As deep as can be, there and removed.
      let deep = FavoriteLimitTests.snapshot(levels: 60)
      for id in [1, 2] {
        let answer = try await world.send(
          .put, "/v1/favorites/photo/\(id)", as: ann, body: #"{"snapshot": \#(deep)}"#)
        #expect(answer.status == 201, "\(answer.text)")
      }
      #expect(try await world.send(.delete, "/v1/favorites/photo/2", as: ann).status == 204)
      #expect(try await Self.bring(world, ann, #"[{"login": "a", "x": \#(deep)}]"#).status == 422)
      let exported = try await world.get("/v1/account/export", as: ann)
      let bob = try await world.token(of: "bob")
      let copied = try await Self.bring(world, bob, exported.text)
      #expect(copied.status == 200, "\(copied.text)")
      #expect(try Self.essence(try await world.get("/v1/account/export", as: bob)) == Self.essence(exported))
      let times = try exported.json["tombstones"]?["favorites"]?.elements.map { $0["added_at"]?.string }
      #expect(times?.contains("2025-12-31T08:00:00.000000Z") == true)
      let deeper = exported.text.replacing(
        deep.replacing(":", with: ": "), with: FavoriteLimitTests.snapshot(levels: 61), maxReplacements: 1)
      try #require(deeper != exported.text)
      let refused = try await Self.bring(world, bob, deeper)
      #expect(refused.status == 422 && refused.pointers == ["/favorites/0/snapshot"], "\(refused.text.prefix(300))")
    }
  }

  @Test func aForeignFormTakesNoNoteAway() async throws {
    try await Self.run { world, token async throws in
      _ = try await world.send(.put, "/v1/favorites/photo/7", as: token, body: #"{"note": "mine"}"#)
      _ = try await world.send(.put, "/v1/favorites/photo/8", as: token)
      let table = "kind,id,note\r\nphoto,7,other\r\nphoto,8,other\r\nphoto,9,other"
      #expect(try await Self.bring(world, token, table, "text/csv").status == 200)
      for (id, note) in [(7, "mine"), (8, "other"), (9, "other")] {
        #expect(try await world.get("/v1/favorites/photo/\(id)", as: token).json["note"]?.string == note, "\(id)")
      }
    }
  }

  @Test func whatIsWrongChangesNothing() async throws {
    try await Self.run { world, token async throws in
      try await Self.fill(world, token)
      let exported = try await world.get("/v1/account/export", as: token).text
      let version: Int64 = try await world.value("SELECT a.version FROM magpie.account a")
      func changed(_ from: String, _ to: String) -> String { exported.replacing(from, with: to) }
      let other = #"{"kind":"gif","id":"abc","#
      try #require(exported.contains(other))
      for (body, type, status) in [
        (String(exported.prefix(exported.utf8.count / 2)), "application/json", 400), ("", "application/json", 400),
        (String(repeating: "[", count: 100) + String(repeating: "]", count: 100), "application/json", 400),
        ("5", "application/json", 422), ("{}", "application/json", 422), ("[1]", "application/json", 422),
        (#"[{"login": "a b"}]"#, "application/json", 422), (#"[{"login": 5}]"#, "application/json", 422),
        (#"[{"id": "x"}]"#, "application/json", 422), (#"[{"login": "a", "note": "\u0000"}]"#, "application/json", 422),
        (#"[{"login": "good"}, {"login": ""}]"#, "application/json", 422),
        (changed("magpie-export", "other-export"), "application/json", 422),
        (changed("\"format_version\":1", "\"format_version\":2"), "application/json", 422),
        (changed(other, #"{"kind":"movie","id":"abc","#), "application/json", 422),
        (changed(other, #"{"kind":"photo","id":"abc","#), "application/json", 422),
        (changed("\"state\":\"pending\"", "\"state\":\"odd\""), "application/json", 422),
        (changed("\"rank\":\"m\"", "\"rank\":5"), "application/json", 422),
        (changed("\"tags\":[]", "\"tags\":null"), "application/json", 422),
        (changed("\"note\":\"waits\"", "\"note\":\"\\u0000\""), "application/json", 422),
        (changed("\"note\":\"waits\"", "\"note\":\"\\ud800\""), "application/json", 422),
        (changed("\"note\":\"waits\"", "\"color\":1,\"note\":\"waits\""), "application/json", 422),
        (
          changed("\"note\":\"waits\"", "\"note\":\"\(String(repeating: "x", count: 10_001))\""), "application/json",
          422
        ),
        (
          changed("[\"0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e\"]", "[\"0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0dff\"]"),
          "application/json", 422
        ),
        ("kind,id\r\ngif,\"abc", "text/csv", 422), ("name,color\r\nx,y", "text/csv", 422), ("", "text/csv", 422),
        ("kind,id\r\nmovie,1", "text/csv", 422),
        ("kind,id,added_at\r\ngif,good,2026-01-01T00:00:00Z\r\ngif,x,soon", "text/csv", 422),
        ("kind,id\r\ngif,a\0b", "text/csv", 422), ("<a>", "image/png", 415),
      ] {
        let answer = try await Self.bring(world, token, body, type)
        #expect(answer.status == status, "\(body.prefix(60)) \(type): \(answer.text.prefix(300))")
        #expect(answer[.contentType] == "application/problem+json")
      }
      #expect(try await Self.bring(world, token, "<<<< &#0; <a href= <a href='", "text/html").status == 200)
      #expect(try await world.value("SELECT a.version FROM magpie.account a") == version)
      let reader = try await world.token(scopes: ["read"])
      #expect(try await Self.bring(world, reader, exported).status == 403)
      #expect(try await Self.bring(world, nil, exported).status == 401)
      #expect(try await world.get("/v1/account/export", as: nil).status == 401)
      #expect(try await world.get("/v1/account/export", as: reader).status == 200)
      #expect(try await world.get("/v1/account/export?format=xml", as: token).pointers == ["/format"])
      #expect(world.servers[0].failures.entries.isEmpty)
    }
  }

  @Test func thousandsAreBroughtAndTakenAtOnce() async throws {
    try await Self.run { world, token async throws in
      // More than an export reads at once, and as one step of the account.
      let rows = (1...3_000).map { "photo,\($0),Title \($0),t\($0 % 7)" }.joined(separator: "\n")
      let answer = try await Self.bring(world, token, "kind,id,title,tags\n\(rows)", "text/csv")
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try answer.json["favorites"]?.int == 3_000)
      #expect(try answer.json["version"]?.int == 3_000)
      let exported = try await world.get("/v1/account/export", as: token)
      #expect(try exported.json["favorites"]?.elements.map(\.kind).count == 3_000)
      let big = "[" + String(repeating: " ", count: 16 << 20) + "]"
      #expect(try await Self.bring(world, token, big).status == 413)
      // A full account takes nothing of what would be too much.
      try await world.sql("UPDATE magpie.account SET favorite_count = 99999")
      let full = try await Self.bring(world, token, "kind,id\ngif,a\ngif,b", "text/csv")
      #expect(full.status == 422 && full.code == "favorites/limit-reached", "\(full.text)")
      #expect(try await world.get("/v1/favorites/gif/a", as: token).status == 404)
      #expect(try await world.send(.put, "/v1/favorites/gif/a", as: token).status == 201)
      let more = try await world.send(.put, "/v1/favorites/gif/b", as: token)
      #expect(more.status == 422 && more.code == "favorites/limit-reached")
      // What is there can be changed, and room made.
      #expect(try await world.send(.patch, "/v1/favorites/gif/a", as: token, body: #"{"note": "x"}"#).status == 200)
      #expect(try await world.send(.delete, "/v1/favorites/gif/a", as: token).status == 204)
      #expect(try await world.send(.put, "/v1/favorites/gif/b", as: token).status == 201)
    }
  }
}
