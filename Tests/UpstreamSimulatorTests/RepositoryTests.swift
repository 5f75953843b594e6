import HTTP
import JSONText
import Testing

@testable import UpstreamSimulator

@Suite struct RepositoryTests {
  private static func run(_ repositories: Int = 130, _ body: (Bench) async throws -> Void) async throws {
    try await Bench.run(
      configure: { configuration in
        configuration.users[0].repositories = repositories
        configuration.users[0].gists = 7
        configuration.users[0].organizations = 2
      }, body)
  }

  @Test func listsGoInGitHubsOrders() async throws {
    try await Self.run { bench async throws in
      for (query, sort, descending) in [
        ("", "full_name", false), ("sort=created", "created", true), ("sort=updated", "updated", true),
        ("sort=pushed&direction=asc", "pushed", false), ("direction=desc", "full_name", true),
      ] {
        let ids = try await bench.walk("/users/octocat/repos?per_page=100&\(query)")
        #expect(try ids == bench.simulator.repositories(of: "octocat", sort: sort, descending: descending), "\(query)")
        #expect(ids.count == 130 && Set(ids).count == 130 && ids.allSatisfy { $0 > Int64(Int32.max) })
      }
      #expect(try await bench.get("/users/octocat").json()["public_repos"]?.int == 130)
      #expect(bench.simulator.count("/user/583231/repos?page=2") == 5)
    }
  }

  @Test func recordHasMoreThanTheListItem() async throws {
    try await Self.run(3) { bench async throws in
      let item = try #require(try await bench.get("/users/octocat/repos").json().elements.first { _ in true })
      let name = try #require(item["name"]?.string)
      let record = try await bench.get("/repos/OctoCat/\(name.uppercased())")
      #expect(record.status == 200 && record.fields[.lastModified] != nil && record.fields[.etag] != nil)
      let json = try record.json()
      #expect(json["id"]?.int == item["id"]?.int && json["owner"]?["id"]?.int == 583_231)
      #expect(json["subscribers_count"] != nil && item["subscribers_count"] == nil)
      let id = try #require(json["id"]?.int)
      #expect(try await bench.get("/repositories/\(id)").body == record.body)
      let same = try await bench.get("/repositories/\(id)", [.ifNoneMatch: record.fields[.etag] ?? ""])
      #expect(same.status == 304)
    }
  }

  @Test func commitsHaveTheOdditiesOfRealOnes() async throws {
    try await Self.run(1) { bench async throws in
      var change = Simulator.RepositoryChange()
      change.commits = 35
      try bench.simulator.change(".github", of: "octocat", change)
      let id = try bench.simulator.repositoryID(".github", of: "octocat")
      let first = try await bench.get("/repos/octocat/.github/commits")
      let items = try Array(first.json().elements)
      #expect(items.count == 30)
      #expect(first.links["next"] == "\(bench.simulator.baseURL)/repositories/\(id)/commits?page=2")
      // Numbers 34 and 32: no account, and an empty one.
      #expect(items[0]["author"]?.isNull == true)
      #expect(items[2]["author"].map { String(decoding: $0.bytes, as: UTF8.self) } == "{}")
      #expect(items[2]["commit"]?["author"]?["date"]?.string != nil)
      let dates = items.compactMap { $0["commit"]?["author"]?["date"]?.string?.prefix(4) }
      #expect(dates.contains("1970") || dates.contains("2050"))
      try bench.simulator.push(to: ".github", of: "octocat")
      let after = try await bench.get("/repos/octocat/.github/commits?per_page=1").json()
      #expect(
        after.elements.first { _ in true }?["parents"]?.elements.first { _ in true }?["sha"]?.string
          == items[0]["sha"]?.string)
      change.commits = 0
      try bench.simulator.change(".github", of: "octocat", change)
      let empty = try await bench.get("/repos/octocat/.github/commits")
      #expect(try empty.status == 409 && empty.json()["message"]?.string == "Git Repository is empty.")
    }
  }

  @Test func oldNamesRedirectUntilTheyAreTaken() async throws {
    try await Self.run(1) { bench async throws in
      let base = bench.simulator.baseURL
      let id = try bench.simulator.repositoryID(".github", of: "octocat")
      #expect(
        try await bench.steer("repo", #"{"user":"octocat","name":".github","new_name":"profile"}"#).status == 204)
      for part in ["", "/languages", "/commits?page=2"] {
        let answer = try await bench.get("/repos/octocat/.github\(part)")
        #expect(answer.status == 301 && answer.fields[.location] == "\(base)/repositories/\(id)\(part)")
      }
      try bench.simulator.rename("octocat", to: "octodog")
      #expect(try await bench.get("/repos/octocat/profile").status == 301)
      #expect(try await bench.get("/repos/octodog/profile").json()["full_name"]?.string == "octodog/profile")
      #expect(try await bench.steer("repos", #"{"user":"octodog","name":".github"}"#).text == #"{"id":5000000000}"#)
      #expect(try await bench.get("/repos/octodog/.github").json()["id"]?.int == 5_000_000_000)
    }
  }

  @Test func blockedOnesStandInTheListAndDeletedOnesDoNot() async throws {
    try await Self.run(2) { bench async throws in
      let ids = try await bench.walk("/users/octocat/repos")
      for (state, status, count) in [("blocked", 403, 2), ("taken-down", 451, 2), ("deleted", 404, 1)] {
        let body = #"{"user":"octocat","name":".github","state":"\#(state)"}"#
        #expect(try await bench.steer("repo", body).status == 204)
        for part in ["", "/languages", "/commits"] {
          #expect(try await bench.get("/repos/octocat/.github\(part)").status == status, "\(state)")
        }
        #expect(try await bench.walk("/users/octocat/repos").count == count && ids.count == 2)
      }
      #expect(try await bench.steer("repo", #"{"user":"octocat","name":".github","state":"x"}"#).status == 422)
      #expect(try await bench.steer("repo", #"{"user":"octocat","name":"none"}"#).status == 422)
    }
  }

  @Test func gistsAndOrganizationsAreListed() async throws {
    try await Self.run(0) { bench async throws in
      let gists = Array(try await bench.get("/user/583231/gists").json().elements)
      #expect(gists.count == 7 && Set(gists.compactMap { $0["id"]?.string?.utf8.count }) == [20, 32])
      #expect(gists[0]["owner"] == nil && gists[1]["owner"]?["login"]?.string == "octocat")
      let organizations = Array(try await bench.get("/users/octocat/orgs").json().elements)
      #expect(organizations.count == 2 && organizations.allSatisfy { $0["type"] == nil && $0["login"] != nil })
      #expect(try await bench.get("/users/octocat/gists/").status == 404)
      #expect(try await bench.get("/repos/octocat/none").status == 404)
      #expect(try await bench.get("/repositories/1/issues").status == 404)
    }
  }
}
