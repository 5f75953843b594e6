import EventLoop
import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// People who are not there, change their names, go and come back.
@Suite struct PeopleTests {
  private static let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]

  @Test(arguments: ["/github/users/nobody-here", "/github/users/nobody-here/followers", "/github/user/987654321"])
  func unknownPersonIsAFactForAWhile(path: String) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      for round in 0..<3 {
        let answer = try await world.get(path, as: token)
        #expect(answer.status == 404)
        #expect(answer.code == "github/user-not-found")
        #expect(try answer.json["message"]?.string == "Not Found")
        #expect(world.simulator.requestCount == 1, "round \(round)")
      }
      // Asked for anew, the upstream is asked once and no more.
      let clock = ContinuousClock()
      let start = clock.now
      #expect(try await world.get(path, as: token, Self.wish).status == 404)
      #expect(clock.now - start < .seconds(20))
      #expect(world.simulator.requestCount == 2)
      // The fact has a short life.
      try await world.sql("UPDATE magpie.upstream_fact SET checked_at = now() - interval '61 seconds'")
      #expect(try await world.get(path, as: token).status == 404)
      #expect(world.simulator.requestCount == 3)
    }
  }

  @Test func whatWasNotThereIsForgottenAfterADay() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      for login in ["nobody-1", "nobody-2", "nobody-3"] {
        #expect(try await world.get("/github/users/\(login)", as: token).status == 404)
      }
      #expect(try await world.value("SELECT magpie.sweep_facts()") == Int32(0))
      try await world.sql(
        "UPDATE magpie.upstream_fact SET checked_at = now() - interval '25 hours' WHERE subject ~ '[12]$'")
      #expect(try await world.value("SELECT magpie.sweep_facts('1 day', 1)") == Int32(1))
      #expect(try await world.value("SELECT magpie.sweep_facts('1 day', 1)") == Int32(1))
      #expect(try await world.value("SELECT f.subject FROM magpie.upstream_fact f") == "github-user:nobody-3")
    }
  }

  @Test func somebodyWhoAppearsIsFound() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      for path in ["/github/users/newcomer", "/github/users/newcomer/followers"] {
        #expect(try await world.get(path, as: token).status == 404)
      }
      try world.simulator.add(.init("newcomer", followers: 120))
      #expect(try await world.get("/github/users/newcomer/followers", as: token, Self.wish).status == 200)
      try await world.untilIdle()
      // The list says that they are there, so the older fact is forgotten for all.
      #expect(try await world.value("SELECT count(*) FROM magpie.upstream_fact") == Int64(0))
      #expect(try await world.get("/github/users/newcomer", as: token).status == 200)
    }
  }

  @Test func whatCannotBeANameCostsNoRequest() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      let long = String(repeating: "a", count: 61)
      for path in [
        "/users/a%2Fb", "/users/a.b", "/users/\(long)", "/users/%5Bbot%5D", "/users/a%20b", "/users/caf%C3%A9",
        "/users/a%5Bbot%5Dx",
        "/user/0", "/user/abc", "/user/-1", "/user/1234567890123456789", "/user/1.5",
      ] {
        for list in ["", "/followers"] {
          let answer = try await world.get("/github\(path)\(list)", as: token)
          #expect(answer.status == 404, "\(path)")
          #expect(answer.code == "github/user-not-found", "\(path)")
        }
      }
      for path in ["/users/%00", "/users/%zz", "/users/%ff"] {
        #expect(try await world.get("/github\(path)", as: token).status == 400, "\(path)")
      }
      #expect(world.simulator.requestCount == 0)
      #expect(try await world.get("/github/users/\(String(repeating: "a", count: 60))", as: token).status == 404)
      #expect(try await world.get("/github/users/bot-1%5Bbot%5D", as: token).status == 404)
      #expect(world.simulator.requestCount == 2)
    }
  }

  @Test func loginIsAskedForAsItIsSpelled() async throws {
    try await TestWorld.run(.init(.init("OctoCat", followers: 150))) { world async throws in
      let token = try await world.token()
      // The client's spelling before the upstream has told its own, and one job and one person in any case.
      _ = try await world.pages(from: "/github/users/OCTOcat/followers?per_page=100", as: token)
      #expect(try await world.get("/github/users/octoCAT", as: token).json["login"]?.string == "OctoCat")
      #expect(try await world.get("/github/users/octocat", as: token, Self.wish).status == 200)
      let asked =
        world.simulator.log("/users/*").map(\.target) + world.simulator.log("/users/*/followers").map(\.target)
      #expect(asked == ["/users/OCTOcat", "/users/OctoCat", "/users/OCTOcat/followers?per_page=100"])
      #expect(try await world.value("SELECT count(*) FROM magpie.listing") == Int64(1))
    }
  }

  @Test func renamedPersonIsFoundByIdAndOldLoginLeadsThere() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 150))) { world in
      let token = try await world.token()
      let base = world.servers[0].baseURL
      let id = try #require(try await world.get("/github/users/octocat", as: token).json["id"]?.int)
      _ = try await world.get("/github/users/octocat/followers?page=2&per_page=100", as: token)
      try world.simulator.rename("octocat", to: "OctoDog")

      let list = try await world.get("/github/users/octocat/followers?per_page=5&page=2", as: token, Self.wish)
      #expect(list.status == 301)
      #expect(list[.location] == "\(base)/github/users/OctoDog/followers?per_page=5&page=2")
      let profile = try await world.get("/github/users/octocat", as: token, Self.wish)
      #expect(profile.status == 301)
      #expect(profile[.location] == "\(base)/github/users/OctoDog")
      #expect(try profile.json["message"]?.string == "Moved Permanently")
      #expect(try profile.json["url"]?.string == profile[.location])
      #expect(try await world.get("/github/users/octocat", as: token).status == 301)
      for path in ["/github/user/\(id)", "/github/users/octodog"] {
        #expect(try await world.get(path, as: token).json["login"]?.string == "OctoDog")
      }
      let fresh = try await world.pages(from: "/github/users/octodog/followers?per_page=100", as: token)
      #expect(try fresh.flatMap { try $0.ids } == world.simulator.followers(of: "OctoDog"))
      #expect(try await world.value("SELECT count(*) FROM magpie.listing") == Int64(1))
    }
  }

  @Test func oldLoginLeadsThereAlsoFromTheStoreAloneAndForOrders() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 3))) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      try world.simulator.rename("octocat", to: "octodog")
      #expect(try await world.get("/github/users/octodog", as: token).status == 200)
      let count = world.simulator.requestCount
      let stored = try await world.get("/github/users/octocat", as: token, [.cacheControl: "only-if-cached"])
      #expect(stored.status == 301)
      #expect(stored[.location] == "\(world.servers[0].baseURL)/github/users/octodog")
      let order = try await world.send(
        .post, "/github/users/octocat/refresh?dry_run=false", as: token, body: #"{"what": ["profile"]}"#)
      #expect(order.status == 301)
      #expect(order[.location] == "\(world.servers[0].baseURL)/github/users/octodog/refresh?dry_run=false")
      #expect(world.simulator.requestCount == count)
      // Robots are written in any case, as everybody.
      #expect(try await world.get("/github/users/Nobody%5BBOT%5D", as: token).status == 404)
      #expect(world.simulator.requestCount == count + 1)
    }
  }

  @Test func renameInTheMiddleOfAWalkChangesNothing() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world in
      let token = try await world.token()
      world.simulator.hold("/user/*/followers?page=2")
      _ = try await world.get("/github/users/octocat/followers", as: token)
      await world.simulator.waitUntilHeld()
      try world.simulator.rename("octocat", to: "octodog")
      world.simulator.release()
      let id = try world.simulator.id(of: "octodog")
      let pages = try await world.pages(from: "/github/user/\(id)/followers?per_page=100", as: token)
      #expect(try pages.flatMap { try $0.ids } == world.simulator.followers(of: "octodog"))
      #expect(world.simulator.requestCount == 3)
    }
  }

  /// One wrong 404, and the person is there under that very login: that is no absence, whatever comes of the rest.
  @Test(arguments: ["", "/followers", "/repos"])
  func notFoundOnceIsNoAbsenceOfALoginThatIsThere(part: String) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 3))) { world in
      let token = try await world.token()
      for path in ["", "/followers", "/repos"] {
        #expect(try await world.get("/github/users/octocat\(path)", as: token).status == 200)
      }
      try await world.untilIdle()
      world.simulator.add(Fault(.notFound, on: PathPattern("/users/octocat\(part)"), times: 1))
      // The walk that begins anew does not come far.
      if !part.isEmpty { world.simulator.add(Fault(.status(502), on: PathPattern("/user/*\(part)"))) }
      let answer = try await world.get("/github/users/octocat\(part)", as: token, Self.wish)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try await world.value("SELECT count(*) FROM magpie.upstream_fact") == Int64(0))
      for path in ["", "/followers", "/repos"] {
        let stored = try await world.get("/github/users/octocat\(path)", as: token, [.cacheControl: "only-if-cached"])
        #expect(stored.status == 200, "\(path)")
      }
    }
  }

  @Test(arguments: [0, 30, 150], [0, 40, 130])
  func loginTakenOverIsTheNewPerson(before: Int, after: Int) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: before, following: 5))) { world in
      let token = try await world.token()
      let path = "/github/users/octocat/followers?per_page=100"
      _ = try await world.pages(from: path, as: token)
      try await world.untilIdle()
      let old = try world.simulator.id(of: "octocat")
      let oldFollowers = try world.simulator.followers(of: "octocat")
      try world.simulator.rename("octocat", to: "octodog")
      let new = try world.simulator.add(.init("octocat", followers: after))
      // The job is done when it is the new one's list that is read.
      let asked = try await world.get(path, as: token, Self.wish)
      #expect(asked.status == 200)
      try await world.untilIdle()
      let followers = try await world.pages(from: path, as: token)
      #expect(try followers.flatMap { try $0.ids } == world.simulator.followers(of: "octocat"))
      #expect(try await world.get("/github/users/octocat", as: token, Self.wish).json["id"]?.int == new)
      let left = try await world.pages(from: "/github/user/\(old)/followers?per_page=100", as: token)
      #expect(try left.flatMap { try $0.ids } == oldFollowers)
      #expect(try await world.get("/github/user/\(old)", as: token, Self.wish).json["login"]?.string == "octodog")
      #expect(
        try await world.value("SELECT count(*) FROM magpie.follow_edge e WHERE e.ended_at IS NOT NULL") == Int64(0))
    }
  }

  @Test(arguments: ["delete", "suspend"])
  func whoIsGoneIsGoneAndComesBack(how: String) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 150, following: 20))) { world in
      let token = try await world.token()
      let profile = "/github/users/octocat"
      let list = "/github/users/octocat/followers?per_page=100"
      let other = "/github/users/octocat/following"
      for path in [profile, list, other] { #expect(try await world.get(path, as: token).status == 200) }
      try await world.untilIdle()
      let id = try world.simulator.id(of: "octocat")
      if how == "delete" { try world.simulator.delete("octocat") } else { try world.simulator.suspend("octocat") }
      for path in [list, profile, other, "/github/user/\(id)"] {
        #expect(try await world.get(path, as: token, Self.wish).status == 404, "\(path)")
      }
      let count = world.simulator.requestCount
      for path in [list, profile, other] { #expect(try await world.get(path, as: token).status == 404, "\(path)") }
      #expect(world.simulator.requestCount == count)

      try world.simulator.revive("octocat")
      let clock = ContinuousClock()
      let start = clock.now
      // The list alone shows that they are back.
      #expect(try await world.get(list, as: token, Self.wish).status == 200)
      #expect(clock.now - start < .seconds(20))
      #expect(try await world.get(profile, as: token).status == 200)
      let again = try await world.pages(from: list, as: token)
      #expect(try again.flatMap { try $0.ids } == world.simulator.followers(of: "octocat"))
      #expect(try await world.get("/github/user/\(id)", as: token, Self.wish).status == 200)
    }
  }

  @Test func privateProfileIsAnEmptyList() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 15))) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/octocat/followers", as: token).ids.count == 15)
      try world.simulator.setPrivate(true, "octocat")
      let answer = try await world.get("/github/users/octocat/followers", as: token, Self.wish)
      #expect(answer.status == 200 && answer.text == "[]" && answer.coverage == "0/0")
      try world.simulator.setPrivate(false, "octocat")
      #expect(try await world.get("/github/users/octocat/followers", as: token, Self.wish).ids.count == 15)
    }
  }
}
