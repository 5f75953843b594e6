import HTTP
import Testing

@testable import UpstreamSimulator

@Suite struct PagingTests {
  private func rels(_ path: String, users: [Simulator.Configuration.User]? = nil) async throws -> [String: String] {
    var result: [String: String] = [:]
    try await Bench.run(configure: { if let users { $0.users = users } }) { bench async throws in
      let answer = try await bench.get(path)
      #expect(answer.status == 200)
      let prefix = "\(bench.simulator.baseURL)/user/583231/followers"
      result = answer.links.mapValues { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0 }
    }
    return result
  }

  @Test func linksGoByPositionAndByID() async throws {
    #expect(
      try await rels("/users/octocat/followers?per_page=100") == [
        "next": "?per_page=100&page=2", "last": "?per_page=100&page=13",
      ])
    #expect(
      try await rels("/users/octocat/followers?page=2&per_page=100") == [
        "prev": "?page=1&per_page=100", "next": "?page=3&per_page=100", "last": "?page=13&per_page=100",
        "first": "?page=1&per_page=100",
      ])
    #expect(
      try await rels("/users/octocat/followers?per_page=100&page=13") == [
        "prev": "?per_page=100&page=12", "first": "?per_page=100&page=1",
      ])
    #expect(
      try await rels("/user/583231/followers?per_page=100&page=14&x=y") == [
        "prev": "?per_page=100&page=13&x=y", "first": "?per_page=100&page=1&x=y", "last": "?per_page=100&page=13&x=y",
      ])
  }

  @Test func listOfOnePageHasNoLinks() async throws {
    for count in [0, 1, 100] {
      #expect(
        try await rels("/users/octocat/followers?per_page=100", users: [.init("octocat", followers: count)]) == [:])
    }
    #expect(
      try await rels("/users/octocat/followers?per_page=100", users: [.init("octocat", followers: 101)])
        == ["next": "?per_page=100&page=2", "last": "?per_page=100&page=2"])
  }

  @Test func sizesAreThirtyByDefaultAndAHundredAtMost() async throws {
    try await Bench.run { bench async throws in
      let sizes = [
        "": 30, "?per_page=1": 1, "?per_page=100": 100, "?per_page=101": 100, "?per_page=0": 30, "?per_page=x": 30,
      ]
      for (query, size) in sizes {
        #expect(try await bench.get("/users/octocat/followers\(query)").ids().count == size, "\(query)")
      }
      #expect(try await bench.get("/users/octocat/followers?per_page=100&page=13").ids().count == 40)
      #expect(try await bench.get("/users/octocat/followers?per_page=100&page=14").text == "[]")
    }
  }

  @Test func walkSeesEverybodyOnceInAsManyRequestsAsPages() async throws {
    try await Bench.run { bench async throws in
      let ids = try await bench.walk("/users/octocat/followers?per_page=100")
      #expect(ids.count == 1240)
      #expect(Set(ids).count == 1240)
      #expect(ids == (try bench.simulator.followers(of: "octocat")))
      #expect(bench.simulator.requestCount == 13)
      #expect(bench.simulator.count("/users/octocat/followers") == 1)
      #expect(bench.simulator.count("/user/583231/followers?page=7") == 1)
      #expect(
        bench.simulator.statistics == ["GET /users/{login}/followers 200": 1, "GET /user/{id}/followers 200": 12])
    }
  }

  @Test func followedPeopleAreHalfMutual() async throws {
    try await Bench.run { bench async throws in
      let followers = Set(try bench.simulator.followers(of: "octocat"))
      let following = try await bench.walk("/users/octocat/following?per_page=100")
      #expect(following.count == 50)
      #expect(Set(following).count == 50)
      #expect(following.filter(followers.contains).count == 25)
    }
  }

  @Test func longListsAreMadeUpAsTheyAreRead() async throws {
    try await Bench.run(configure: { $0.users = [.init("bigstar", followers: 300_000)] }) { bench async throws in
      let last = try await bench.get("/users/bigstar/followers?per_page=100&page=3000")
      #expect(try last.ids().count == 100)
      #expect(last.links["next"] == nil)
      #expect(try await bench.get("/users/bigstar/followers?per_page=100&page=3001").text == "[]")
      #expect(Set(try bench.simulator.followers(of: "bigstar")).count == 300_000)
    }
  }

  @Test func equalSeedsGiveEqualListsAndOthersDoNot() async throws {
    func first(_ seed: UInt64) async throws -> [Int64] {
      var ids: [Int64] = []
      try await Bench.run(configure: { $0.seed = seed }) { bench async throws in
        ids = try await bench.get("/users/octocat/followers").ids()
      }
      return ids
    }
    let one = try await first(1)
    #expect(try await first(1) == one)
    #expect(try await first(2) != one)
  }
}
