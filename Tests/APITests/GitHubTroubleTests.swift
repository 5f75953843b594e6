import HTTP
import Magpie
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// What others have run into with GitHub: each test names the behavior, and the public thread where the trouble was told.
@Suite struct GitHubTroubleTests {
  private static let wish: Fields = [.cacheControl: "no-cache", .prefer: "wait=30"]

  private static func options(_ adjust: (inout TestWorld.Options) -> Void = { _ in }) -> TestWorld.Options {
    var options = TestWorld.Options(.init("octocat", followers: 150, following: 3), .init("hubot", followers: 3))
    adjust(&options)
    return options
  }

  // MARK: Refusals

  /// php-github-api#1072: a search refused with 14 requests left was not seen as a limit.
  @Test func aSecondaryLimitOnASearchIsALimitWhateverIsLeft() async throws {
    try await TestWorld.run(Self.options { $0.simulator.limits.retryAfter = nil }) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.secondaryLimit, on: "/search/users", times: 1))
      let refused = try await world.get("/github/search/users?q=xyzzy", as: token, [.prefer: "wait=30"])
      #expect(refused.status == 503 && refused.code == "upstream/rate-limited")
      // The whole credential rests, and the job is kept for later.
      let other = try await world.get("/github/users/hubot", as: token, [.prefer: "wait=30"])
      #expect(other.code == "upstream/rate-limited")
      #expect(world.simulator.requestCount == 1)
      try await eventually("both jobs wait") {
        try await world.value("SELECT count(*) FROM magpie.job WHERE state = 'scheduled'") == Int64(2)
      }
    }
  }

  /// gh-code-scanning#10: a limit that stood in the message alone was taken for a denial.
  @Test func aPrimaryLimitInWordsAloneClosesTheGate() async throws {
    try await TestWorld.run(Self.options { $0.simulator.limits.tellsBudgets = false }) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.primaryLimit, on: "/users/hubot", times: 1))
      for login in ["hubot", "octocat"] {
        let refused = try await world.get("/github/users/\(login)", as: token, [.prefer: "wait=30"])
        #expect(refused.status == 503 && refused.code == "upstream/rate-limited", "\(refused.text)")
      }
      #expect(world.simulator.requestCount == 1)
      try await eventually("both jobs wait") {
        try await world.value("SELECT count(*) FROM magpie.job WHERE state = 'scheduled'") == Int64(2)
      }
    }
  }

  /// github-for-jira#929: every 403 delayed all work by an hour. opendor.me#140: a missing sign-on was tried for twelve hours.
  @Test(arguments: [Fault.Effect.forbidden, .singleSignOn])
  func aRefusalThatIsNoLimitEndsItsJobAndNoOther(effect: Fault.Effect) async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      world.simulator.add(Fault(effect, on: "/users/hubot"))
      let refused = try await world.get("/github/users/hubot", as: token, [.prefer: "wait=30"])
      #expect(refused.status == 503 && refused.code == "upstream/refused")
      #expect(world.simulator.requestCount == 1)
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      #expect(try await world.value("SELECT state::text FROM magpie.job_done") == "discarded")
      #expect(
        try await world.value("SELECT blocked_until = '-infinity' FROM magpie.credential WHERE pool = 'github'") == true
      )
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
    }
  }

  /// python-github-backup#163: one takedown ended the whole run.
  @Test func whatIsUnavailableForLegalReasonsStopsNothingElse() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.unavailable, on: "/users/hubot"))
      let refused = try await world.get("/github/users/hubot", as: token, [.prefer: "wait=30"])
      #expect(refused.status == 451)
      #expect(refused.code == "github/unavailable-for-legal-reasons")
      #expect(try await world.get("/github/users/hubot", as: token).status == 451)
      #expect(world.simulator.requestCount == 1)
      #expect(try await world.get("/github/users/octocat/followers", as: token).status == 200)
    }
  }

  /// agentconnect#1981: a 403 with `retry-after` and budget left was taken for a denial for good.
  @Test func aRefusalThatNamesATimeIsTriedAgainAfterIt() async throws {
    try await TestWorld.run(Self.options { $0.simulator.limits.retryAfter = 120 }) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.secondaryLimit, on: "/users/hubot", times: 1))
      #expect(try await world.get("/github/users/hubot", as: token, [.prefer: "wait=30"]).status == 503)
      let wait: Double = try await world.value(
        "SELECT extract(epoch FROM blocked_until - now())::float8 FROM magpie.credential WHERE pool = 'github'")
      #expect((100...121).contains(wait))
      try await world.sql("UPDATE magpie.credential SET blocked_until = '-infinity', bucket_at = now()")
      try await world.makeJobsDue()
      #expect(try await world.get("/github/users/hubot", as: token, [.prefer: "wait=30"]).status == 200)
    }
  }

  // MARK: Tokens

  /// starcharts#260: fourteen of fourteen tokens were dead, and nobody saw it.
  @Test func aRefusedTokenIsRetiredAndAdministratorsSeeIt() async throws {
    let options = Self.options { options in
      options.tokens = ["revoked", "good"]
      options.simulator.acceptsUnknownTokens = false
      options.simulator.tokens = ["good": "somebody"]
    }
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      // The one that has more left is taken first.
      try await world.sql(
        """
        UPDATE magpie.budget SET reset_at = now() + interval '1 hour', remaining =
          CASE WHEN credential = \(Budgets.Credential.identifier(pool: "github", secret: "revoked")) THEN 20 ELSE 10 END
        """)
      for login in ["octocat", "hubot"] {
        #expect(try await world.get("/github/users/\(login)", as: token).status == 200)
      }
      #expect(world.simulator.count("/**", status: 401) == 1)
      let states = try await world.owner.query(
        "SELECT DISTINCT b.state, b.disabled_reason FROM admin.budgets b ORDER BY b.state"
      ).decode((String, String?).self)
      #expect(states.map(\.0) == ["disabled", "open"])
      #expect(states[0].1 == "the upstream refused the credential")
    }
  }

  /// Each token has budgets of its own, and none of them is asked beyond its end.
  @Test func severalTokensAreSpentToTheLastRequestAndNoFurther() async throws {
    let options = Self.options { options in
      options.tokens = ["one", "two"]
      options.simulator.limits.core = 3
      options.simulator.users = [.init("octocat", followers: 8)]
    }
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let people = try world.simulator.followers(of: "octocat")
      for id in people.prefix(6) { #expect(try await world.get("/github/user/\(id)", as: token).status == 200) }
      let seventh = try await world.get("/github/user/\(people[6])", as: token, [.prefer: "wait=30"])
      #expect(seventh.status == 503 && seventh.code == "upstream/rate-limited")
      #expect(world.simulator.requestCount == 6)
      #expect(world.simulator.count("/**", status: 200) == 6)
      let spent = Dictionary(grouping: world.simulator.log(), by: \.credential).mapValues(\.count)
      #expect(spent == ["one": 3, "two": 3])
      // What a search may ask is untouched by that.
      let limits = try await world.get("/github/rate_limit", as: token)
      #expect(try limits.json["resources"]?["core"]?["remaining"]?.int == 0)
      #expect(try limits.json["resources"]?["search"]?["remaining"]?.int == 60)
    }
  }

  /// github-api#802, magithub#104: no figures in the answers, and `/rate_limit` was not found. What is assumed is kept to.
  @Test func withoutFiguresTheAssumedBudgetIsKept() async throws {
    let options = Self.options { options in
      options.tokens = []
      options.simulator.limits.tellsBudgets = false
      options.simulator.limits.anonymousCore = 1_000
      options.simulator.users = [.init("octocat", followers: 80)]
    }
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let people = try world.simulator.followers(of: "octocat")
      // Without a token GitHub gives 60 an hour, as everybody knows; here nobody says so.
      try await withThrowingTaskGroup(of: Int.self) { group in
        for id in people.prefix(60) {
          group.addTask { try await world.get("/github/user/\(id)", as: token, [.prefer: "wait=30"]).status }
        }
        for try await status in group { #expect(status == 200) }
      }
      let limits = try await world.get("/github/rate_limit", as: token)
      #expect(try limits.status == 200 && (limits.json["resources"]?["core"]?["limit"]?.int) == 60)
      let refused = try await world.get("/github/user/\(people[60])", as: token, [.prefer: "wait=30"])
      #expect(refused.status == 503 && refused.code == "upstream/rate-limited")
      #expect(world.simulator.requestCount == 60 && world.simulator.count("/**", status: 200) == 60)
      try await eventually("the job waits for the next hour") {
        try await world.value("SELECT count(*) FROM magpie.job WHERE state = 'scheduled'") == Int64(1)
      }
      try await world.sql("UPDATE magpie.budget SET reset_at = now() - interval '1 second'")
      try await world.makeJobsDue()
      #expect(try await world.get("/github/user/\(people[60])", as: token, [.prefer: "wait=30"]).status == 200)
    }
  }

  /// A secondary limit is about one token: the others go on.
  @Test func aLimitOfOneTokenLeavesTheWorkToTheOther() async throws {
    try await TestWorld.run(Self.options { $0.tokens = ["one", "two"] }) { world in
      let token = try await world.token()
      world.simulator.add(Fault(.secondaryLimit, on: "/users/octocat", times: 1))
      // The job itself goes on with the other token, and whoever waits for it need not know.
      #expect(try await world.get("/github/users/octocat", as: token, [.prefer: "wait=30"]).status == 200)
      #expect(try await world.get("/github/users/hubot", as: token, [.prefer: "wait=30"]).status == 200)
      let log = world.simulator.log()
      #expect(log.map(\.status) == [403, 200, 200])
      #expect(log[0].credential != log[1].credential && log[1].credential == log[2].credential)
      #expect(try await world.value("SELECT count(*) FROM magpie.credential WHERE blocked_until > now()") == Int64(1))
    }
  }

  /// otterdog#201: with another token every entity tag is worthless, and must not be sent.
  @Test func validatorsAreSentWithTheTokenThatGotThem() async throws {
    try await TestWorld.run(Self.options { $0.tokens = ["one", "two"] }) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      let first = try #require(world.simulator.log().first?.credential)
      // The same token is preferred, although the other has more left.
      #expect(try await world.get("/github/users/octocat", as: token, Self.wish).status == 200)
      #expect(world.simulator.log().map(\.credential) == [first, first])
      #expect(world.simulator.log().map(\.conditional) == [false, true])
      try await world.sql(
        """
        UPDATE magpie.credential SET disabled_at = now()
         WHERE id = (SELECT u.profile_credential FROM magpie.github_user u WHERE u.login = 'octocat')
        """)
      for _ in 0..<2 { #expect(try await world.get("/github/users/octocat", as: token, Self.wish).status == 200) }
      let log = world.simulator.log()
      #expect(log[2].credential != first && !log[2].conditional && log[2].status == 200)
      #expect(log[3].credential == log[2].credential && log[3].conditional && log[3].status == 304)
    }
  }

  /// github-conditional-http-transport#6: the address comes with a token and is null without one, so that records flapped.
  @Test func whatAnAnonymousAnswerLeavesOutIsNotForgotten() async throws {
    try await TestWorld.run(Self.options { $0.tokens = [] }) { world in
      let token = try await world.token()
      let first = try await world.get("/github/users/octocat", as: token)
      #expect(try first.json["email"]?.isNull == true)
      try await world.sql(
        """
        UPDATE magpie.github_user SET profile = replace(profile, '"email":null', '"email":"octo@example.com"'),
          profile_etag = NULL, profile_credential = 'github:0123' WHERE login = 'octocat'
        """)
      try world.simulator.edit("octocat", bio: "New.")
      let second = try await world.get("/github/users/octocat", as: token, Self.wish)
      #expect(try second.json["bio"]?.string == "New.")
      #expect(try second.json["email"]?.string == "octo@example.com")
    }
  }

  // MARK: People

  /// openvsx#1708: `batman` and `BatMan` were two people, fetched twice.
  @Test func twoSpellingsOfALoginAreOnePersonAndOneRequest() async throws {
    try await TestWorld.run(Self.options { $0.servers = 2 }) { world in
      let token = try await world.token()
      try await withThrowingTaskGroup(of: Int64?.self) { group in
        for number in 0..<12 {
          let login = ["octocat", "OctoCat", "OCTOCAT"][number % 3]
          group.addTask {
            try await world.get("/github/users/\(login)", as: token, [.prefer: "wait=30"], to: number % 2)
              .json["id"]?.int
          }
        }
        for try await id in group { #expect(id == 583_231) }
      }
      #expect(world.simulator.requestCount == 1)
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user") == Int64(1))
    }
  }

  /// github-username-regex#1 and others: real logins that today's rule does not allow.
  @Test(arguments: ["Link-", "-ACE-", "0----0", "ann_corp", "dependabot[bot]", "a"])
  func loginsThatTodaysRuleForbidsAreServed(login: String) async throws {
    try await TestWorld.run(.init(.init(login, followers: 3))) { world in
      let token = try await world.token()
      let path = "/github/users/\(PercentEncoding.encode(login))"
      #expect(try await world.get(path, as: token).json["login"]?.string == login)
      #expect(try await world.get(path + "/followers", as: token).ids.count == 3)
      let cards = try await world.get("/github/users?logins=\(PercentEncoding.encode(login))", as: token)
      #expect(try cards.json["items"]?.elements.map { $0["status"]?.string } == ["ok"])
    }
  }

  /// octokit.net#2893: ids outgrew 32 bits.
  @Test func idsBeyondThirtyTwoBitsAreServed() async throws {
    try await TestWorld.run(.init(.init("large", followers: 2, id: 8_589_934_593))) { world in
      let token = try await world.token()
      #expect(try await world.get("/github/user/8589934593", as: token).json["login"]?.string == "large")
      #expect(try await world.get("/github/user/8589934593/followers", as: token).ids.count == 2)
      let cards = try await world.get("/github/users?ids=8589934593", as: token)
      #expect(try cards.json["items"]?.elements.map { $0["id"]?.int } == [8_589_934_593])
    }
  }

  /// isaacs/github#1451: the counter and the list's length differ. Webiu#363: counts were taken from the first page.
  @Test func counterAndListAreShownAsTheyAre() async throws {
    try await TestWorld.run(Self.options()) { world in
      let token = try await world.token()
      let follower = try #require(try world.simulator.followers(of: "octocat").last)
      try world.simulator.suspend(try #require(world.simulator.login(of: follower)))
      let profile = try await world.get("/github/users/octocat", as: token)
      #expect(try profile.json["followers"]?.int == 150)
      let pages = try await world.pages(from: "/github/users/octocat/followers?per_page=100", as: token)
      #expect(try pages.flatMap { try $0.ids }.count == 149)
      #expect(pages.last?.coverage == "149/149")
      #expect(try await world.get("/github/users/octocat", as: token).json["followers"]?.int == 150)
    }
  }

  // MARK: Many at once

  /// Webiu#531: thirty clients on cold keys were thirty requests. Here: one for each thing, and never more than is left.
  @Test func thirtyClientsOnColdKeysSpendExactlyTheBudgetAndWaitForTheReset() async throws {
    let options = Self.options { options in
      options.servers = 3
      options.workers = 2
      options.simulator.limits.core = 40
      options.simulator.users = [.init("octocat", followers: 60)]
    }
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let people = try world.simulator.followers(of: "octocat")
      // The first answer tells how small the budget is.
      #expect(try await world.get("/github/users/octocat", as: token).status == 200)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<30 {
          group.addTask {
            for number in 0..<people.count {
              let id = people[(number + client * 7) % people.count]
              let answer = try await world.get("/github/user/\(id)", as: token, [.prefer: "wait=5"], to: client % 3)
              #expect([200, 503, 504].contains(answer.status), "\(answer.text)")
            }
          }
        }
        try await group.waitForAll()
      }
      // 40 requests, each for somebody else, and not one that was refused.
      #expect(world.simulator.requestCount == 40)
      #expect(world.simulator.count("/**", status: 200) == 40)
      #expect(Set(world.simulator.log().map(\.target)).count == 40)

      world.simulator.advanceClock(by: 3_700)
      try await world.sql("UPDATE magpie.budget SET reset_at = now() - interval '1 second'")
      try await world.makeJobsDue()
      try await world.untilIdle()
      #expect(world.simulator.requestCount == 61)
      #expect(world.simulator.count("/**", status: 200) == 61)
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user WHERE profile IS NOT NULL") == Int64(61))
    }
  }
}
