import EventLoop
import Glibc
import HTTP
import TestSupport
import Testing

/// The way of somebody who starts Magpie at home: one command, a database of its own, an account, a list, a favorite, a
/// restart.
@Suite(.timeLimit(.minutes(5)))
struct EndToEndTests {
  @Test func `a list is fetched once, and a favorite is there after a restart, for its account alone`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--user", "octocat:1240"])
      let data = "\(site.directory)/data"
      let database = "host=\(data)/socket user=magpie dbname=magpie"
      let settings = ["MAGPIE_DATA": data, "MAGPIE_GITHUB_URL": simulator.peer.url]
      let first = try await site.serve([], settings)

      // Invitations come from SQL, everything else from the API.
      let code = try await column(String.self, "SELECT admin.create_account('alice')", of: database)
      let redeemed = try await first.api.send(
        .post, "/v1/invitations/redeem", body: #"{"code":"\#(try #require(code.first))","password":"correct horse"}"#)
      #expect(redeemed.status == 201)
      let session = try await first.api.send(
        .post, "/v1/sessions", body: #"{"username":"alice","password":"correct horse"}"#)
      #expect(session.status == 201)
      let token = try #require(try session.json["token"]?.string)
      #expect(try redeemed.json["token"]?.string != token)
      let bob = try await site.token("bob", database)

      let alice = first.api.account(token)
      let path = "/github/users/octocat/followers?per_page=30"
      let page = try await alice.get(path)
      #expect(page.status == 200)
      #expect(
        page.fields["Cache-Status"] == "magpie; fwd=miss"
          || page.fields["Cache-Status"] == "magpie; hit; detail=partial")
      let followers = try await simulator.followers(of: "octocat")
      #expect(try page.ids == Array(followers.prefix(30)))
      #expect(page.link("next")?.hasPrefix(first.api.url + "/github/user/") == true)
      try await eventually(within: .seconds(240)) { try await alice.get(path).isOfWholeList(1240) }
      let hit = try await alice.get(path)
      #expect(hit.fields["Cache-Status"] == "magpie; hit")
      #expect(try hit.ids == Array(followers.prefix(30)))
      #expect(hit.link("last") != nil)

      let favorite = "/v1/favorites/github-user/\(followers[3])"
      #expect(try await alice.send(.put, favorite, body: #"{"note":"from the list"}"#).status == 201)
      #expect(try await alice.favorites() == ["\(followers[3])"])

      // In good order, and soon when there is nothing to do.
      let start = System.monotonicNanoseconds()
      first.program.signal(SIGTERM)
      #expect(try await first.program.waitForEnd() == .exit(0))
      // What is under way may take 25 seconds.
      #expect(System.monotonicNanoseconds() - start < 20_000_000_000)
      #expect(Site.postmaster(of: data) == nil)

      let second = try await site.serve([], settings)
      #expect(try await second.api.account(token).favorites() == ["\(followers[3])"])
      let marked = try await second.api.account(token).get(path)
      #expect(marked.fields["Cache-Status"] == "magpie; hit")
      #expect(try marked.favoriteFlags.filter { $0 }.count == 1)
      let other = second.api.account(bob)
      #expect(try await other.favorites() == [])
      #expect(try await other.get(favorite).status == 404)
      #expect(try await other.get(path).favoriteFlags == Array(repeating: false, count: 30))
      // 13 pages, once, whatever was asked for since.
      #expect(try await simulator.requests("/user*/**").count == 13)
    }
  }
}
