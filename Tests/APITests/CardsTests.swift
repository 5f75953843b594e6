import HTTP
import Postgres
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// `GET /github/users?ids=` and `?logins=`.
@Suite struct CardsTests {
  private static func options() -> TestWorld.Options {
    TestWorld.Options(
      .init("octocat", followers: 3), .init("mona", followers: 1), .init("hubot", followers: 1))
  }

  private func statuses(_ answer: Answer) throws -> [String] {
    try #require(answer.json["items"]).elements.map { try #require($0["status"]?.string) }
  }

  private func logins(_ answer: Answer) throws -> [String?] {
    try #require(answer.json["items"]).elements.map { $0["user"]?["login"]?.string }
  }

  @Test func cardsComeInTheOrderAskedAsOftenAsAsked() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      var ids: [String: Int64] = [:]
      for login in ["octocat", "mona"] {
        let profile = try await world.get("/github/users/\(login)", as: token)
        ids[login] = try #require(try profile.json["id"]?.int)
      }
      let count = world.simulator.requestCount
      let answer = try await world.get("/github/users?logins=mona,OctoCat,mona", as: token)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try logins(answer) == ["mona", "octocat", "mona"])
      #expect(try statuses(answer) == ["ok", "ok", "ok"])
      #expect(try answer.json["items"]?.elements.map { $0["login"]?.string } == ["mona", "OctoCat", "mona"])
      let octocat = try #require(ids["octocat"])
      let byID = try await world.get("/github/users?ids=\(octocat),\(try #require(ids["mona"]))", as: token)
      #expect(try logins(byID) == ["octocat", "mona"])
      #expect(try byID.json["items"]?.elements.map { $0["id"]?.int } == [octocat, ids["mona"]])
      // The stored profile as it came, with links turned and the account's own member.
      let single = try await world.get("/github/users/octocat", as: token)
      let card = try #require(try byID.json["items"]?.elements.first { _ in true }?["user"])
      for (name, value) in try single.json.members where name != "magpie" {
        #expect(card[name]?.bytes == value.bytes, "\(name)")
      }
      #expect(card["magpie"]?["favorite"]?.bool == false)
      #expect(world.simulator.requestCount == count)
      let same = try await world.get(
        "/github/users?logins=mona,OctoCat,mona", as: token, [.ifNoneMatch: try #require(answer[.etag])])
      #expect(same.status == 304)
    }
  }

  @Test func whatIsMissingIsOrderedAndToldApart() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/nobody-here", as: token).status == 404)
      #expect(try await world.get("/github/users/octocat/followers", as: token).status == 200)
      try await world.untilIdle()
      let follower: String = try await world.value(
        "SELECT login FROM magpie.github_user WHERE summary IS NOT NULL AND profile IS NULL ORDER BY id LIMIT 1")
      #expect(try await world.get("/github/users/hubot", as: token).status == 200)
      try world.simulator.delete("hubot")
      _ = try await world.get("/github/users/hubot", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      let gate = world.simulator.hold("/**")
      let path = "/github/users?logins=mona,\(PercentEncoding.encode(follower)),nobody-here,hubot,a..b,mona"
      let answer = try await world.get(path, as: token)
      #expect(try statuses(answer) == ["pending", "partial", "not_found", "gone", "not_found", "pending"])
      let items = Array(try #require(try answer.json["items"]).elements)
      #expect(items[1]["user"]?["login"]?.string == follower)
      #expect(items[3]["user"]?["login"]?.string == "hubot")
      #expect(items.map { $0["job"] != nil } == [true, true, false, false, false, true])
      #expect(items[0]["job"]?.string == items[5]["job"]?.string)
      let job = try await world.get(try #require(items[0]["job"]?.string), as: token)
      #expect(job.status == 200)
      #expect(try job.json["kind"]?.string == "github-user")
      world.simulator.release(gate)
      let waited = try await world.get(path, as: token, [.prefer: "wait=30"])
      #expect(try statuses(waited) == ["ok", "ok", "not_found", "gone", "not_found", "ok"])
      #expect(world.simulator.count("/users/mona") == 1)
    }
  }

  /// The run that was to fetch a card ends after the card was looked for, and before it is ordered again.
  @Test func whatComesWhileItIsOrderedIsShown() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      try await world.untilIdle()
      try await world.sql("UPDATE magpie.github_user SET profile_validated_at = now() - interval '300 seconds'")
      let gate = world.simulator.hold("/**")
      let path = "/github/users?logins=octocat"
      #expect(try statuses(try await world.get(path, as: token, [.cacheControl: "max-age=200"])) == ["stale"])
      let answer = try await world.owner.transaction { transaction in
        try await transaction.query("SELECT j.id FROM magpie.job j FOR UPDATE")
        let answer = Task {
          try await world.get(path, as: token, [.cacheControl: "max-age=200", .prefer: "wait=30"])
        }
        try await eventually("it waits for the row") {
          try await column(
            Int.self,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
            of: world.url) == [1]
        }
        try await transaction.query("UPDATE magpie.github_user SET profile_validated_at = now()")
        try await transaction.query("DELETE FROM magpie.job")
        return answer
      }.value
      #expect(try statuses(answer) == ["ok"])
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      world.simulator.release(gate)
    }
  }

  @Test func onlyIfCachedOrdersNothing() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let answer = try await world.get("/github/users?logins=mona", as: token, [.cacheControl: "only-if-cached"])
      #expect(try statuses(answer) == ["pending"])
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      #expect(world.simulator.requestCount == 0)
    }
  }

  @Test func staleCardsComeAtOnceAndAreRefreshedBehind() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      // A job that still runs would be joined.
      try await world.untilIdle()
      try await world.sql("UPDATE magpie.github_user SET profile_validated_at = now() - interval '601 seconds'")
      let stale = try await world.get("/github/users?logins=octocat", as: token)
      #expect(try statuses(stale) == ["stale"])
      #expect(try logins(stale) == ["octocat"])
      try await world.untilIdle()
      #expect(try statuses(try await world.get("/github/users?logins=octocat", as: token)) == ["ok"])
    }
  }

  @Test func theClientSaysHowOldACardMayBe() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      // A job that still runs would be joined.
      try await world.untilIdle()
      try await world.sql("UPDATE magpie.github_user SET profile_validated_at = now() - interval '300 seconds'")
      let path = "/github/users?logins=octocat"
      #expect(try statuses(try await world.get(path, as: token, [.cacheControl: "max-age=400"])) == ["ok"])
      #expect(world.simulator.requestCount == 1)
      let fresh = try await world.get(path, as: token, [.cacheControl: "max-age=200", .prefer: "wait=30"])
      #expect(try statuses(fresh) == ["ok"])
      #expect(world.simulator.requestCount == 2)
    }
  }

  @Test func aLoginThatWasGivenUpLeadsToItsOwner() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/mona", as: token).status == 200)
      try world.simulator.rename("mona", to: "mona-lisa")
      _ = try await world.get("/github/users/mona", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      let answer = try await world.get("/github/users?logins=mona,mona-lisa", as: token)
      #expect(try statuses(answer) == ["moved", "ok"])
      #expect(try answer.json["items"]?.elements.first { _ in true }?["moved_to"]?.string == "mona-lisa")
    }
  }

  @Test func aHundredAreTakenAndOneMoreIsNot() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let hundred = (1...100).map(String.init).joined(separator: ",")
      let answer = try await world.get("/github/users?ids=\(hundred)", as: token, [.cacheControl: "only-if-cached"])
      #expect(answer.status == 200)
      #expect(try statuses(answer).count == 100)
      for path in [
        "ids=\(hundred),101", "", "ids=", "logins=", "ids=1,,2", "ids=1,x", "ids=0", "ids=-1",
        "ids=9999999999999999999",
        "ids=1&logins=a", "logins=a,",
      ] {
        let refused = try await world.get("/github/users?\(path)", as: token)
        #expect(refused.status == 422, "\(path)")
        #expect(refused.code == "request/invalid-parameter")
        #expect(["/ids", "/logins"].contains(refused.pointers.first))
      }
      #expect(try await world.get("/github/users?ids=1", as: nil).status == 401)
      #expect(try await world.get("/github/users?ids=1", as: "mgp_" + String(repeating: "a", count: 36)).status == 401)
    }
  }

  @Test func tagsAreTheAskingAccountsOwn() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let other = try await world.token(of: "bob")
      let starred = try await world.send(
        .put, "/v1/favorites/github-user/%40octocat", as: token, body: #"{"tags":["cats"]}"#)
      #expect(starred.status == 201)
      for (token, expected) in [(token, ["cats"]), (other, [])] {
        let answer = try await world.get("/github/users?logins=octocat", as: token)
        let magpie = try answer.json["items"]?.elements.first { _ in true }?["user"]?["magpie"]
        #expect(magpie?["tags"]?.elements.map { $0.string ?? "" } == expected)
      }
    }
  }
}
