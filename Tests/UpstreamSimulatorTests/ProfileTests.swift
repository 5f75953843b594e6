import HTTP
import Testing

@testable import UpstreamSimulator

@Suite struct ProfileTests {
  @Test func profileHasEveryMemberInGitHubsOrder() async throws {
    try await Bench.run { bench async throws in
      let answer = try await bench.get("/users/octocat")
      let base = bench.simulator.baseURL
      #expect(answer.status == 200)
      #expect(
        try answer.json().members.map(\.key) == [
          "login", "id", "node_id", "avatar_url", "gravatar_id", "url", "html_url", "followers_url", "following_url",
          "gists_url", "starred_url", "subscriptions_url", "organizations_url", "repos_url", "events_url",
          "received_events_url", "type", "user_view_type", "site_admin", "name", "company", "blog", "location", "email",
          "hireable", "bio", "twitter_username", "public_repos", "public_gists", "followers", "following", "created_at",
          "updated_at",
        ])
      let json = try answer.json()
      #expect(json["login"]?.string == "octocat")
      #expect(json["id"]?.int == 583_231)
      #expect(json["node_id"]?.string == "MDQ6VXNlcjU4MzIzMQ==")
      #expect(json["followers_url"]?.string == "\(base)/users/octocat/followers")
      #expect(json["html_url"]?.string == "https://github.com/octocat")
      #expect(json["avatar_url"]?.string == "https://avatars.githubusercontent.com/u/583231?v=4")
      #expect(json["followers"]?.int == 1240)
      #expect(json["following"]?.int == 50)
      #expect(answer.fields[.lastModified] == "Fri, 22 Feb 2013 19:18:08 GMT")
      #expect(json["updated_at"]?.string == "2013-02-22T19:18:08Z")
    }
  }

  @Test func loginIsFoundInAnyCaseAndByID() async throws {
    try await Bench.run { bench async throws in
      let plain = try await bench.get("/users/octocat").body
      #expect(try await bench.get("/users/OctoCAT").body == plain)
      #expect(try await bench.get("/user/583231").body == plain)
    }
  }

  @Test func everybodyInAListHasAProfileThatAgrees() async throws {
    try await Bench.run { bench async throws in
      let items = try await bench.get("/users/octocat/followers?per_page=60").json().elements
      for item in items {
        let login = try #require(item["login"]?.string)
        let escaped = UserRenderer.escaped(login)
        let profile = try await bench.get("/users/\(escaped)").json()
        #expect(profile["id"]?.int == item["id"]?.int)
        #expect(profile["login"]?.string == login)
        #expect(profile["type"]?.string == item["type"]?.string)
        #expect(profile["url"]?.string == "\(bench.simulator.baseURL)/users/\(escaped)")
      }
    }
  }

  @Test func emailIsForAuthorizedCallersOnly() async throws {
    try await Bench.run { bench async throws in
      let logins = try await bench.get("/users/octocat/followers?per_page=20").logins()
      var shown = 0
      for login in logins {
        let path = "/users/\(UserRenderer.escaped(login))"
        if try await bench.get(path).json()["email"]?.string != nil { shown += 1 }
        #expect(try await bench.get(path, token: nil).json()["email"]?.isNull == true)
      }
      #expect(shown > 0)
    }
  }

  @Test(arguments: [
    "/users/nobody-at-all", "/users/octocat/", "/user/1", "/user/x", "/users/octocat/starred", "/", "/users",
  ])
  func unknownAddressesAre404(path: String) async throws {
    try await Bench.run { bench async throws in
      let answer = try await bench.get(path)
      #expect(answer.status == 404)
      #expect(
        answer.text
          == #"{"message":"Not Found","documentation_url":"https://docs.github.com/rest","status":"404"}"#)
    }
  }

  @Test func missingUserAgentIsRefusedInPlainText() async throws {
    try await Bench.run { bench async throws in
      let answer = try await bench.get("/users/octocat", ["User-Agent": ""])
      #expect(answer.status == 403)
      #expect(answer.fields[.contentType] == "text/plain")
      #expect(answer.text.contains("administrative rules"))
      #expect(answer.rate == nil)
    }
  }

  @Test func badTokenIsRefusedWithoutRateFields() async throws {
    try await Bench.run { bench async throws in
      bench.simulator.revokeToken("tok")
      let answer = try await bench.get("/users/octocat")
      #expect(answer.status == 401)
      #expect(try answer.json()["message"]?.string == "Bad credentials")
      #expect(answer.rate == nil)
      #expect(try await bench.get("/users/octocat", token: "tok-2").status == 200)
    }
    try await Bench.run(configure: { $0.acceptsUnknownTokens = false }) { bench async throws in
      #expect(try await bench.get("/users/octocat", token: "unheard-of").status == 401)
    }
  }

  @Test func unknownVersionIsRefusedWithErrorsAsText() async throws {
    try await Bench.run { bench async throws in
      let answer = try await bench.get("/users/octocat", ["X-GitHub-Api-Version": "2019-01-01"])
      #expect(answer.status == 400)
      #expect(try answer.json()["errors"]?.string == "2019-01-01 is not one of 2022-11-28, 2026-03-10")
      #expect(try await bench.get("/users/octocat", ["X-GitHub-Api-Version": "2022-11-28"]).status == 200)
    }
  }
}
