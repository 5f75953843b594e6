import HTTP
import TestSupport
import Testing

/// Pictures come from the hosts of the setting, and from nowhere else.
@Suite(.timeLimit(.minutes(5)))
struct AvatarTests {
  @Test(arguments: [true, false])
  func `pictures are fetched from the hosts that are set`(isListed: Bool) async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:30", "--avatars"])
      let database = try await site.database()
      let server = try await site.serve(
        [],
        [
          "DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url,
          "MAGPIE_AVATAR_HOSTS": isListed ? simulator.peer.url : "avatars.example",
        ])
      let visitor = server.api.account(try await site.token("alice", database))
      let profile = try await visitor.get("/github/users/octocat", ["Prefer": "wait=30"])
      #expect(try profile.json["avatar_url"]?.string == "\(simulator.peer.url)/avatars/u/583231?v=4")
      let picture = try await visitor.get("/github/avatars/583231?s=160")
      #expect(picture.status == 200)
      #expect(picture.fields["Content-Type"] == (isListed ? "image/gif" : "image/svg+xml"))
      #expect(
        try await simulator.requests("/avatars/**") == (isListed ? ["/avatars/u/583231?v=4&s=160"] : []))
      guard isListed else { return }
      let name = try #require(picture.fields["Content-Location"])
      let image = try await server.api.get(name)
      #expect(image.status == 200 && image.body == picture.body)
    }
  }
}
