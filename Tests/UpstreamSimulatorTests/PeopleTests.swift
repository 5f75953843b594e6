import HTTP
import Testing

@testable import UpstreamSimulator

@Suite struct PeopleTests {
  @Test func newFollowersStandFirst() async throws {
    try await Bench.run { bench async throws in
      let before = try bench.simulator.followers(of: "octocat")
      try bench.simulator.add(.init("newbie", followers: 0, id: 42))
      try bench.simulator.add(.init("second", followers: 0, id: 43))
      #expect(try bench.simulator.follow("octocat", by: "newbie"))
      #expect(try bench.simulator.follow("octocat", by: "second"))
      #expect(try !bench.simulator.follow("octocat", by: "newbie"))
      #expect(try await bench.walk("/users/octocat/followers?per_page=100") == [43, 42] + before)
      #expect(try await bench.get("/users/newbie/following").ids() == [583_231])
      #expect(try await bench.get("/users/newbie").json()["following"]?.int == 1)
    }
  }

  @Test func singleRelationIsWhatTheListsSay() async throws {
    try await Bench.run { bench async throws in
      let follower = try bench.simulator.followers(of: "octocat")[0]
      let login = try #require(bench.simulator.login(of: follower))
      func status(_ from: String, _ to: String) async throws -> Int {
        try await bench.get("/users/\(UserRenderer.escaped(from))/following/\(to)").status
      }
      #expect(try await status(login.uppercased(), "OctoCat") == 204)
      try bench.simulator.unfollow("octocat", by: login)
      #expect(try await status(login, "octocat") == 404)
      try bench.simulator.follow("octocat", by: login)
      #expect(try await status(login, "octocat") == 204)
      try bench.simulator.setPrivate(true, login)
      #expect(try await status(login, "octocat") == 404)
      try bench.simulator.setPrivate(false, login)
      try bench.simulator.suspend("octocat")
      #expect(try await status(login, "octocat") == 404)
      try bench.simulator.revive("octocat")
      try bench.simulator.rename("octocat", to: "octodog")
      #expect(try await status(login, "octocat") == 404)
      #expect(try await status(login, "octodog") == 204)
      #expect(try await status("nobody-here", "octodog") == 404)
    }
  }

  @Test func newFollowersCanStandLast() async throws {
    try await Bench.run(configure: { $0.newestFirst = false }) { bench async throws in
      let before = try bench.simulator.followers(of: "octocat")
      try bench.simulator.add(.init("newbie", followers: 0, id: 42))
      try bench.simulator.follow("octocat", by: "newbie")
      #expect(try bench.simulator.followers(of: "octocat") == before + [42])
      #expect(
        try await bench.get("/users/octocat/followers?per_page=100&page=13").ids() == Array(before[1200...]) + [42])
    }
  }

  @Test func leavingClosesTheGap() async throws {
    try await Bench.run { bench async throws in
      let before = try bench.simulator.followers(of: "octocat")
      let leaving = [before[0], before[1], before[29], before[30], before[700], before[1239]]
      for id in leaving {
        #expect(try bench.simulator.unfollow("octocat", by: try #require(bench.simulator.login(of: id))))
      }
      let after = before.filter { !leaving.contains($0) }
      #expect(try await bench.walk("/users/octocat/followers?per_page=30") == after)
      #expect(try await bench.get("/users/octocat").json()["followers"]?.int == 1234)
      #expect(try !bench.simulator.unfollow("octocat", by: try #require(bench.simulator.login(of: before[0]))))
      // Who comes back comes anew.
      try bench.simulator.follow("octocat", by: try #require(bench.simulator.login(of: before[700])))
      #expect(try bench.simulator.followers(of: "octocat") == [before[700]] + after)
    }
  }

  @Test func renamedPersonKeepsTheIDAndLeavesTheLogin() async throws {
    try await Bench.run { bench async throws in
      let id = try bench.simulator.followers(of: "octocat")[3]
      let old = try #require(bench.simulator.login(of: id))
      try bench.simulator.rename(old, to: "Fresh-Name")
      #expect(try await bench.get("/users/\(UserRenderer.escaped(old))").status == 404)
      #expect(try await bench.get("/users/fresh-name").json()["id"]?.int == id)
      #expect(try await bench.get("/user/\(id)").json()["login"]?.string == "Fresh-Name")
      #expect(try await bench.get("/users/octocat/followers").logins()[3] == "Fresh-Name")
      // The login is free for somebody else.
      let taker = try bench.simulator.add(.init(old, followers: 1))
      #expect(taker != id)
      #expect(try await bench.get("/users/\(UserRenderer.escaped(old))").json()["id"]?.int == taker)
      #expect(throws: Network.Refusal.self) { try bench.simulator.rename("fresh-name", to: "octocat") }
    }
  }

  @Test func renamingBackAndForthWorks() async throws {
    try await Bench.run { bench async throws in
      try bench.simulator.rename("octocat", to: "hexacat")
      try bench.simulator.rename("hexacat", to: "octocat")
      #expect(try await bench.get("/users/octocat").json()["id"]?.int == 583_231)
      #expect(try await bench.get("/users/hexacat").status == 404)
    }
  }

  @Test func deletedAndSuspendedPeopleDropOutAndComeBack() async throws {
    try await Bench.run { bench async throws in
      let before = try bench.simulator.followers(of: "octocat")
      let gone = try #require(bench.simulator.login(of: before[5]))
      let flagged = try #require(bench.simulator.login(of: before[6]))
      try bench.simulator.delete(gone)
      try bench.simulator.suspend(flagged)
      #expect(try await bench.get("/users/\(UserRenderer.escaped(gone))").status == 404)
      #expect(try await bench.get("/user/\(before[6])").status == 404)
      #expect(try await bench.walk("/users/octocat/followers?per_page=100") == Array(before[..<5]) + before[7...])
      // Suspended people are still counted, deleted ones are not.
      #expect(try await bench.get("/users/octocat").json()["followers"]?.int == 1239)
      try bench.simulator.revive(gone)
      try bench.simulator.revive(flagged)
      #expect(try bench.simulator.followers(of: "octocat") == before)
      #expect(try await bench.get("/users/octocat").json()["followers"]?.int == 1240)
    }
  }

  @Test func deletedOwnersListIsGoneToo() async throws {
    try await Bench.run { bench async throws in
      try bench.simulator.delete("octocat")
      #expect(try await bench.get("/users/octocat/followers").status == 404)
      #expect(try await bench.get("/user/583231/followers?page=2").status == 404)
    }
  }

  @Test func privateProfileHasEmptyListsAndZeroCounts() async throws {
    try await Bench.run { bench async throws in
      try bench.simulator.setPrivate(true, "octocat")
      let profile = try await bench.get("/users/octocat").json()
      #expect(profile["followers"]?.int == 0)
      #expect(profile["following"]?.int == 0)
      let list = try await bench.get("/users/octocat/followers")
      #expect(list.status == 200)
      #expect(list.text == "[]")
      #expect(list.links == [:])
      try bench.simulator.setPrivate(false, "octocat")
      #expect(try await bench.walk("/users/octocat/followers?per_page=100").count == 1240)
    }
  }

  @Test func churnAddsAndTakesInTurn() async throws {
    try await Bench.run { bench async throws in
      let before = Set(try bench.simulator.followers(of: "octocat"))
      for _ in 0..<10 { try bench.simulator.churnOnce("octocat") }
      let after = Set(try bench.simulator.followers(of: "octocat"))
      #expect(after.count == 1245)
      #expect(after.subtracting(before).count >= 5)
      #expect(before.subtracting(after).count >= 1)
    }
  }

  @Test(arguments: [
    Simulator.Configuration.User("", followers: 1), .init("a b", followers: 1), .init("octocat", followers: 1),
    .init("x", followers: -1), .init("y", followers: 4_194_304, following: 1),
    .init("z", followers: 1, id: 583_231), .init(String(repeating: "a", count: 61), followers: 1),
  ])
  func impossiblePeopleAreRefused(user: Simulator.Configuration.User) async throws {
    try await Bench.run { bench async throws in
      #expect(throws: Network.Refusal.self) { try bench.simulator.add(user) }
    }
  }

  @Test func longestLoginAndLargestListAreTaken() async throws {
    let login = String(repeating: "a", count: 60)
    try await Bench.run(configure: { $0.users.append(.init(login, followers: 4_194_304)) }) { bench async throws in
      let answer = try await bench.get("/users/\(login)/followers?per_page=100&page=41944")
      #expect(try answer.ids().count == 4)
    }
  }
}
