import HTTP
import JSONText
import Testing

@testable import UpstreamSimulator

/// `GET /search/users` and the pictures, as the simulator has them.
@Suite struct SearchTests {
  private func logins(_ answer: Answer) throws -> [String] {
    try #require(answer.json()["items"]).elements.compactMap { $0["login"]?.string }
  }

  @Test func peopleAreFoundByAPartOfTheirLoginFromABudgetOfItsOwn() async throws {
    try await Bench.run(configure: {
      $0.users = [.init("octocat", followers: 1), .init("octopus", followers: 1), .init("zoo", followers: 1)]
      $0.limits.search = 2
    }) { bench async throws in
      let answer = try await bench.get("/search/users?q=OCTO")
      #expect(answer.status == 200 && answer.rate == "2 1 1 search")
      #expect(answer.fields[.etag] == nil && answer.fields[.cacheControl] == "no-cache")
      #expect(try answer.json().members.map(\.key) == ["total_count", "incomplete_results", "items"])
      #expect(try logins(answer) == ["octocat", "octopus"])
      let qualified = try await bench.get("/search/users?q=octo%20type:user&sort=joined&order=asc")
      #expect(try logins(qualified) == ["octopus", "octocat"])
      let refused = try await bench.get("/search/users?q=zoo")
      #expect(refused.status == 403 && refused.rate == "2 0 2 search")
      #expect(try await bench.get("/users/octocat").rate == "5000 4999 1 core")
    }
  }

  @Test func refusalsAreThoseOfTheRealOne() async throws {
    try await Bench.run { bench async throws in
      for (path, code) in [
        ("", "missing"), ("?q=%20", "missing"), ("?q=\(String(repeating: "x", count: 257))", "invalid"),
        ("?q=user:nobody-here", "invalid"),
      ] {
        let answer = try await bench.get("/search/users\(path)")
        #expect(answer.status == 422)
        #expect(try answer.json()["errors"]?.elements.first { _ in true }?["code"]?.string == code)
      }
      let beyond = try await bench.get("/search/users?q=a&per_page=100&page=11")
      #expect(beyond.status == 422)
      #expect(try beyond.json()["errors"] == nil)
      #expect(try logins(try await bench.get("/search/users?q=a&per_page=100&page=10")).count == 100)
    }
  }

  @Test func picturesBelongToPeopleWhoAreThereAndCostNothing() async throws {
    try await Bench.run(configure: { $0.servesAvatars = true }) { bench async throws in
      let profile = try await bench.get("/users/octocat")
      let address = try #require(try profile.json()["avatar_url"]?.string)
      #expect(address == "\(bench.simulator.baseURL)/avatars/u/583231?v=4")
      let picture = try await bench.get("/avatars/u/583231?v=4&s=80", token: nil)
      #expect(picture.status == 200 && picture.fields[.contentType] == "image/gif")
      #expect(picture.body.starts(with: Array("GIF89a".utf8)) && picture.rate == nil)
      #expect(try await bench.get("/avatars/u/1", token: nil).status == 404)
    }
  }
}
