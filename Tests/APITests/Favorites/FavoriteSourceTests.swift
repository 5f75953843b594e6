import HTTP
import JSONText
import Postgres
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// Favorites and what they stand for: names that wait for their ids, and sources that are renamed, go, and return.
@Suite struct FavoriteSourceTests {
  private static func options(worker: Bool = true) -> TestWorld.Options {
    var options = TestWorld.Options(.init("octocat", followers: 1), .init("hubot", followers: 1))
    options.hasWorker = worker
    return options
  }

  private static let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]

  private static func version(_ world: TestWorld) async throws -> Int64 {
    try await world.value("SELECT a.version FROM magpie.account a WHERE a.username = 'ann'")
  }

  @Test func nameThatCannotBeLookedUpNowWaitsForItsID() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let id = try world.simulator.id(of: "hubot")
      world.simulator.add(Fault(.reset, on: "/users/*"))
      let path = "/v1/favorites/github-user/@Hubot"
      let put = try await world.send(
        .put, path, as: token, body: #"{"note": "n", "tags": ["t"], "rank": "k", "added_at": "2024-01-02T03:04:05Z"}"#)
      #expect(put.status == 201, "\(put.text)")
      #expect(try put.json["id"]?.string == "@hubot")
      #expect(try put.json["state"]?.string == "pending")
      #expect(try put.json["title"]?.string == "Hubot")
      #expect(try put.json["url"]?.string == "https://github.com/Hubot")
      #expect(try await world.get("/v1/favorites/github-user/@hubot", as: token).body == put.body)
      #expect(try await world.send(.put, path, as: token, [.prefer: "respond-async"]).body == put.body)
      let patched = try await world.send(.patch, path, as: token, body: #"{"note": "m"}"#)
      #expect(patched.status == 200)
      #expect(
        try await world.get("/v1/favorites?kind=github-user", as: token).json["items"]?.elements.map {
          $0["id"]?.string
        } == ["@hubot"])
      world.simulator.clearFaults()
      try await eventually("the name has its id") {
        try await world.makeJobsDue()
        return try await world.get("/v1/favorites/github-user/\(id)", as: token).status == 200
      }
      let item = try await world.get("/v1/favorites/github-user/@hubot", as: token)
      #expect(try item.json["id"]?.string == "\(id)")
      #expect(try item.json["state"]?.string == "ok")
      #expect(try item.json["title"]?.string == "hubot")
      #expect(try item.json["note"]?.string == "m")
      #expect(try item.json["rank"]?.string == "k")
      #expect(try item.json["added_at"]?.string == "2024-01-02T03:04:05.000000Z")
      #expect(try item.json["snapshot"]?["id"]?.int == id)
      #expect(try await world.value("SELECT t.subject_id FROM magpie.favorite_tombstone t") == "@hubot")
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(1))
    }
  }

  @Test func repositoriesAreNamedByOwnerAndName() async throws {
    try await TestWorld.run(Self.options()) { world in
      let id = try world.simulator.addRepository("Nest", of: "octocat")
      let token = try await world.token()
      let path = "/v1/favorites/github-repo/@OctoCat%2FNest"
      #expect(try await world.get(path, as: token).status == 404)
      let put = try await world.send(.put, path, as: token, body: #"{"note": "n"}"#)
      #expect(put.status == 201, "\(put.text)")
      #expect(try put.json["id"]?.string == "\(id)")
      #expect(try put.json["title"]?.string == "octocat/Nest")
      #expect(try put.json["snapshot"]?["full_name"]?.string == "octocat/Nest")
      #expect(try await world.get(path, as: token).body == put.body)
      #expect(try await world.get("/v1/favorites/github-repo/\(id)", as: token).body == put.body)
      #expect(try await world.get("/github/repositories/\(id)", as: token).json["magpie"]?["favorite"]?.bool == true)
      #expect(try await world.send(.put, "/v1/favorites/github-repo/@octocat%2Fnothing", as: token).status == 404)
      for name in ["@octocat", "@octocat%2F", "@octocat%2Fa%2Fb", "@a.b%2Fc", "@octocat%2Fa%20b", "@octocat%2F.."] {
        #expect(try await world.send(.put, "/v1/favorites/github-repo/\(name)", as: token).status == 404, "\(name)")
      }
      // What becomes of it.
      try world.simulator.move("Nest", of: "octocat", to: "Eyrie")
      _ = try await world.get("/github/repositories/\(id)", as: token, Self.wish)
      let renamed = try await world.get("/v1/favorites/github-repo/\(id)", as: token)
      #expect(try renamed.json["state"]?.string == "renamed")
      #expect(try renamed.json["title"]?.string == "octocat/Eyrie")
      #expect(try renamed.json["snapshot"]?["full_name"]?.string == "octocat/Nest")
      #expect(try renamed.json["note"]?.string == "n")
      for (state, wanted) in [
        (Simulator.RepositoryState.takenDown, "restricted"), (.deleted, "gone"), (.present, "renamed"),
      ] {
        if state == .present {
          world.simulator.restore(id, "Eyrie")
        } else {
          try world.simulator.set(state, "Eyrie", of: "octocat")
        }
        _ = try await world.get("/github/repositories/\(id)", as: token, Self.wish)
        #expect(try await world.get("/v1/favorites/github-repo/\(id)", as: token).json["state"]?.string == wanted)
      }
    }
  }

  @Test func nameThatNobodyBearsIsGoneUntilSomebodyDoes() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let path = "/v1/favorites/github-user/@ghost"
      // An upstream that can be asked says so at once, and nothing is kept.
      #expect(try await world.send(.put, path, as: token).status == 404)
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(0))
      try await world.sql("DELETE FROM magpie.upstream_fact")
      world.simulator.add(Fault(.reset, on: "/users/ghost"))
      #expect(try await world.send(.put, path, as: token, body: #"{"note": "who"}"#).json["state"]?.string == "pending")
      world.simulator.clearFaults()
      try await eventually("the name is known to be nobody's") {
        try await world.makeJobsDue()
        return try await world.get(path, as: token).json["state"]?.string == "gone"
      }
      #expect(try await world.get(path, as: token).json["note"]?.string == "who")
      let id = try world.simulator.add(.init("ghost", followers: 0))
      try await world.sql("DELETE FROM magpie.upstream_fact")
      #expect(try await world.get("/github/users/ghost", as: token, Self.wish).status == 200)
      let item = try await world.get(path, as: token)
      #expect(try item.json["id"]?.string == "\(id)")
      #expect(try item.json["state"]?.string == "ok")
      #expect(try item.json["note"]?.string == "who")
      #expect(try await world.send(.delete, path, as: token).status == 204)
      #expect(try await world.get(path, as: token).status == 404)
    }
  }

  @Test func favoritesFollowAPersonThroughEverything() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let id = try world.simulator.id(of: "hubot")
      let path = "/v1/favorites/github-user/\(id)"
      // Starred by number before anybody knows who that is.
      let put = try await world.send(.put, path, as: token, body: #"{"note": "n"}"#)
      #expect(try put.json["title"]?.string == "")
      _ = try await world.get("/github/users/hubot", as: token, Self.wish)
      #expect(try await world.get(path, as: token).json["title"]?.string == "hubot")
      let version = try await Self.version(world)
      _ = try await world.get("/github/users/hubot", as: token, Self.wish)
      #expect(try await Self.version(world) == version)

      try world.simulator.rename("hubot", to: "robo")
      _ = try await world.get("/github/users/robo", as: token, Self.wish)
      let renamed = try await world.get(path, as: token)
      #expect(try renamed.json["state"]?.string == "renamed")
      #expect(try renamed.json["title"]?.string == "robo")
      #expect(try renamed.json["url"]?.string == "https://github.com/robo")
      #expect(try renamed.json["snapshot"]?["login"]?.string == "hubot")
      #expect(try await Self.version(world) == version + 1)

      try world.simulator.delete("robo")
      _ = try await world.get("/github/user/\(id)", as: token, Self.wish)
      #expect(try await world.get(path, as: token).json["state"]?.string == "gone")
      #expect(try await world.get(path, as: token).json["title"]?.string == "robo")
      try world.simulator.revive("robo")
      try await world.sql("DELETE FROM magpie.upstream_fact")
      _ = try await world.get("/github/user/\(id)", as: token, Self.wish)
      #expect(try await world.get(path, as: token).json["state"]?.string == "renamed")
      try await world.sql("UPDATE magpie.github_user SET state = 'restricted' WHERE id = \(id)")
      #expect(try await world.get(path, as: token).json["state"]?.string == "restricted")
      try world.simulator.rename("robo", to: "hubot")
      _ = try await world.get("/github/users/hubot", as: token, Self.wish)
      let back = try await world.get(path, as: token)
      #expect(try back.json["state"]?.string == "ok")
      #expect(try back.json["note"]?.string == "n")
      #expect(try await Self.version(world) == version + 5)
    }
  }

  @Test func nameAndIDOfOneThingBecomeOneFavorite() async throws {
    try await TestWorld.run(Self.options(worker: false)) { world in
      let token = try await world.token()
      let bob = try await world.token(of: "bob")
      func insert(_ id: String, _ note: String, _ tags: String, _ rank: String, _ time: String, _ name: String)
        async throws
      {
        try await world.sql(
          """
          INSERT INTO magpie.favorite (account_id, kind, subject_id, note, tags, rank, added_at)
          SELECT a.id, 'github-user', \(id), \(note), \(tags)::text::text[], \(rank), \(time)::text::timestamptz
            FROM magpie.account a WHERE a.username = \(name)
          """)
      }
      try await insert("@Hubot", "by name", "{a,b}", "x", "2024-01-01Z", "ann")
      try await insert("77", "by id", "{b,c}", "", "2025-01-01Z", "ann")
      try await insert("@hubot", "bob's", "{}", "", "2025-01-01Z", "bob")
      #expect(
        try await world.value("SELECT count(*) FROM magpie.job WHERE kind = 'github-user' AND subject = 'hubot'")
          == Int64(1))
      // A list shows the person for the first time.
      try await world.sql(
        """
        SELECT magpie.store_summaries('{77,78}', '{hubot,other}', '{t,t}', '{"",""}', '{User,User}', '{https://a/77,https://a/78}',
          ARRAY['{"login":"hubot","id":77,"html_url":"https://github.com/hubot"}', '{"login":"other","id":78}'], now())
        """)
      let item = try await world.get("/v1/favorites/github-user/77", as: token)
      #expect(try item.json["note"]?.string == "by id\n\nby name")
      #expect(try item.json["tags"]?.elements.compactMap(\.string) == ["a", "b", "c"])
      #expect(try item.json["rank"]?.string == "x")
      #expect(try item.json["added_at"]?.string?.hasPrefix("2024-01-01") == true)
      #expect(try item.json["title"]?.string == "hubot")
      #expect(try await world.get("/v1/favorites/github-user/77", as: bob).json["note"]?.string == "bob's")
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(2))
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite_tombstone") == Int64(2))
      #expect(try await world.value("SELECT sum(a.favorite_count) FROM magpie.account a") == Int64(2))

      // Known already: it is the thing at once, by hand and in the mirror's words.
      try await world.sql("DELETE FROM magpie.favorite")
      try await insert("@HUBOT", "", "{}", "", "2025-01-01Z", "ann")
      #expect(try await world.get("/v1/favorites/github-user/@hubot", as: token).json["id"]?.string == "77")
      for name in ["@a b", "@", "@a/b"] {
        let error = await #expect(throws: PostgresError.self) {
          try await insert(name, "", "{}", "", "2025-01-01Z", "ann")
        }
        #expect(error?.sqlState?.rawValue == "MG422", "\(name)")
      }
    }
  }

  @Test func whatWaitsIsAskedForAgain() async throws {
    try await TestWorld.run(Self.options(worker: false)) { world in
      _ = try await world.token()
      try await world.sql(
        "INSERT INTO magpie.favorite (account_id, kind, subject_id) SELECT a.id, 'github-user', '@hubot' FROM magpie.account a"
      )
      let worker = try await TestWorld.database(world.url, role: "magpie_worker", world.group)
      func ask() async throws -> Int {
        try #require(try await worker.query("SELECT magpie.await_favorites(10)").first).decode(Int.self)
      }
      do {
        #expect(try await ask() == 0)
        // The job is lost.
        try await world.sql("DELETE FROM magpie.job")
        #expect(try await ask() == 1)
        #expect(try await world.value("SELECT subject FROM magpie.job") == "hubot")
        // Somebody learned of the person without favorites being told.
        try await world.sql("DELETE FROM magpie.job")
        try await world.sql("ALTER TABLE magpie.github_user DISABLE TRIGGER favorites_await")
        try await world.sql("SELECT magpie.note_person(77, 'hubot')")
        #expect(try await ask() == 1)
        #expect(try await world.value("SELECT f.subject_id FROM magpie.favorite f") == "77")
        #expect(try await ask() == 0)
        await #expect(throws: PostgresError.self) { try await worker.query("SELECT count(*) FROM magpie.favorite") }
      } catch {
        Issue.record(error)
      }
      await worker.stop()
    }
  }
}
