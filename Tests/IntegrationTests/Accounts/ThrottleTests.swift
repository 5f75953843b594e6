import EventLoop
import HTTP
import HTTPServer
import Magpie
import Postgres
import TestSupport
import Testing
import WorldSupport

@testable import MagpieAPI

/// Guessing gets slow, and only for the one who guesses.
@Suite struct ThrottleTests {
  @Test func fifthFailureIsTheLastFreeOne() async throws {
    try await AccountWorld.run({ $0.servers = 2 }) { world async throws in
      try await world.account("ann")
      // Two processes count together, and neighbors in a network are one.
      var answers: [String: [Answer]] = [:]
      for name in ["ann", "nobody"] {
        for index in 0..<7 {
          answers[name, default: []].append(
            try await world.signIn(
              name, "wrong-guess", from: "192.0.2.\(index)", ["X-Request-Id": "same"], to: index % 2))
        }
      }
      for (name, answers) in answers {
        #expect(answers.prefix(5).allSatisfy { $0.status == 401 }, "\(name)")
        // The sixth may come after the first wait of a second on a slow machine, and begins one of two.
        #expect(answers.dropFirst(5).contains { $0.status == 429 }, "\(name)")
        let throttled = try #require(answers.first { $0.status == 429 })
        #expect(throttled.code == "auth/throttled")
        #expect(try #require(Int(throttled[.retryAfter] ?? "")) >= 1)
        #expect(try throttled.json["retry_after"]?.int.map(String.init) == throttled[.retryAfter])
      }
      // What is said of a name that nobody has is what is said of one that somebody has.
      #expect(answers["ann"]?[0].body == answers["nobody"]?[0].body)
      // The right password has to wait, too, where nobody has signed in from before; elsewhere it does not.
      try await world.sql(
        "UPDATE magpie.attempt SET blocked_until = now() + interval '1 hour' WHERE blocked_until IS NOT NULL")
      #expect(try await world.signIn("ann", from: "192.0.2.200").status == 429)
      #expect(try await world.signIn("ann", from: "192.0.3.1").status == 201)
      #expect(try await world.signIn("ANN", "wrong-guess", from: "192.0.2.9").status == 429)
      // Other ways to use the password are no way round.
      #expect(try await world.signIn("ann", from: "192.0.2.9", path: "/v1/account/restore").status == 429)
      let hashed: Int64 = try await world.value(
        "SELECT count(*) FROM magpie.attempt t WHERE t::text LIKE '%ann%' OR t::text LIKE '%192.0.%'")
      #expect(hashed == 0)
    }
  }

  @Test func waitDoublesAndEndsInAQuarterOfAnHour() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      for failures in 1...20 {
        let answer = try await world.signIn("ann", "wrong-guess")
        #expect(answer.status == 401, "\(failures)")
        let wait: Double? = try await world.value(
          "SELECT extract(epoch FROM max(blocked_until - (expires_at - interval '1 hour')))::float8 FROM magpie.attempt WHERE failures < 25"
        )
        let expected = failures < 5 ? nil : Swift.min(900, Double(1 << (failures - 5)))
        #expect(wait == expected, "\(failures)")
        // As if the time had passed.
        try await world.sql("UPDATE magpie.attempt SET blocked_until = now()")
      }
      // An hour without an attempt, and all is forgiven.
      try await world.sql("UPDATE magpie.attempt SET blocked_until = now() + interval '1 minute', expires_at = now()")
      #expect(try await world.signIn("ann", "wrong-guess").status == 401)
      #expect(try await world.value("SELECT max(failures) FROM magpie.attempt") == Int32(1))
      try await world.sql("SELECT magpie.sweep_attempts()")
      #expect(try await world.value("SELECT count(*) FROM magpie.attempt") == Int64(3))
      try await world.sql("UPDATE magpie.attempt SET expires_at = now()")
      try await world.sql("SELECT magpie.sweep_attempts()")
      #expect(try await world.value("SELECT count(*) FROM magpie.attempt") == Int64(0))
    }
  }

  /// Many wrong passwords for one name, from several places at once, while its owner comes back.
  @Test func stormDoesNotLockTheOwnerOut() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      let home = "198.51.100.7"
      #expect(try await world.signIn("ann", from: home).status == 201)
      let before = world.servers[0].passwords.count
      let statuses = Record<Int>()
      try await withThrowingTaskGroup { group in
        for index in 0..<80 {
          group.addTask {
            let answer = try await world.signIn("ann", "guess-\(index)", from: "203.0.\(index % 2).\(index)")
            statuses.add(answer.status)
            #expect(answer.status == 401 || answer[.retryAfter] != nil)
          }
        }
        group.addTask {
          let answer = try await world.signIn("ann", from: home)
          #expect(answer.status == 201)
        }
        try await group.waitForAll()
      }
      let count = Dictionary(grouping: statuses.entries) { $0 }.mapValues(\.count)
      #expect(Set(count.keys).isSubset(of: [401, 429, 503]))
      #expect((count[401] ?? 0) <= 2 * 12 && (count[429] ?? 0) >= 80 - 2 * 12, "\(count)")
      // Each of two networks had its five, and perhaps some after their waits.
      #expect(world.servers[0].passwords.count - before <= 2 * 12 + 2)
      #expect(try await world.signIn("ann", from: home).status == 201)
      // A neighbor of the owner is a stranger, and is counted apart.
      for _ in 0..<8 { _ = try await world.signIn("ann", "guess", from: "198.51.100.8") }
      #expect(try await world.signIn("ann", from: home).status == 201)
      // At home it is the owner's own mistakes that count.
      for _ in 0..<5 { #expect(try await world.signIn("ann", "guess", from: home).status == 401) }
      try await world.sql("UPDATE magpie.attempt SET blocked_until = now() + interval '1 hour' WHERE failures = 5")
      #expect(try await world.signIn("ann", from: home).status == 429)
    }
  }

  @Test func networkAndAllTogetherHaveTheirLimits() async throws {
    try await AccountWorld.run { world async throws in
      // Many names from one place: each has had one guess.
      try await world.account("ann")
      try await world.account("bob")
      #expect(try await world.signIn("bob", from: "192.0.2.7").status == 201)
      let source = Accounts.Source(network: "192.0.2", address: "192.0.2.9")
      func wait(_ name: String, _ source: Accounts.Source, _ kind: String = "password") async throws -> Int {
        try await world.value(
          "SELECT wait_seconds FROM magpie.begin_attempt(\(kind), \(name), \(source.network), \(source.address))")
      }
      for index in 0..<30 { #expect(try await wait("name-\(index)", source) == 0, "\(index)") }
      try await world.sql("UPDATE magpie.attempt SET blocked_until = blocked_until + interval '1 hour'")
      #expect(try await world.signIn("ann", from: "192.0.2.9").status == 429)
      #expect(try await world.signIn("bob", from: "192.0.2.7").status == 201)
      // Many places, a hundred and twenty in a minute.
      var free = 0
      for index in 0..<120 {
        let network = "10.0.\(index)"
        free += try await wait("ann", Accounts.Source(network: network, address: network)) == 0 ? 1 : 0
      }
      #expect((80...92).contains(free), "\(free)")
      #expect(try await world.signIn("ann", from: "203.0.113.1").status == 429)
      #expect(try await world.signIn("bob", from: "192.0.2.7").status == 201)
      // So the table is small.
      #expect(try await world.value("SELECT count(*) <= 250 FROM magpie.attempt") == true)
    }
  }

  @Test func codesAndSigningUpAreThrottled() async throws {
    try await AccountWorld.run({ $0.allowsSignUp = true }) { world async throws in
      try await world.sql(
        """
        SELECT count(*) FROM generate_series(1, 29), LATERAL magpie.count_attempt(
          magpie.attempt_key('source', '', '192.0.2'), 30, interval '1 hour', true, now() + generate_series * interval '0 s')
        """)
      func redeem(_ code: String) async throws -> Answer {
        try await world.send(
          .post, "/v1/invitations/redeem", as: nil, [.xForwardedFor: "192.0.2.1"],
          body: #"{"code": "\#(code)", "password": "tr0ubador&3"}"#)
      }
      let before = world.servers[0].passwords.count
      #expect(try await redeem(Secret(random: .invitation).text).status == 403)
      try await world.sql("UPDATE magpie.attempt SET blocked_until = blocked_until + interval '1 hour'")
      let code: String = try await world.value("SELECT admin.create_account('ann')")
      #expect(try await redeem(code).status == 429)
      // A code that is not good costs no hash.
      #expect(world.servers[0].passwords.count == before)
      try await world.sql("DELETE FROM magpie.attempt")
      #expect(try await redeem(code).status == 201)

      func signUp(_ name: String, from address: String) async throws -> Answer {
        try await world.send(
          .post, "/v1/accounts", as: nil, [.xForwardedFor: address],
          body: #"{"username": "\#(name)", "password": "tr0ubador&3"}"#)
      }
      #expect(try await signUp("bob", from: "192.0.2.1").status == 201)
      try await world.sql(
        "UPDATE magpie.attempt SET failures = 60, blocked_until = expires_at WHERE key = magpie.attempt_key('sign-up', '', '192.0.2')"
      )
      let throttled = try await signUp("cem", from: "192.0.2.2")
      #expect(throttled.status == 429 && throttled.code == "auth/throttled")
      #expect(try await signUp("cem", from: "192.0.3.2").status == 201)
    }
  }

  @Test func refusalsAreWrittenDownWithoutNames() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      _ = try await world.signIn("ann", "my-secret-typed-here")
      _ = try await world.signIn("my-secret-typed-here", "x")
      #expect(
        try await world.value("SELECT count(*) FROM magpie.audit WHERE action = 'refused sign-in'") == Int64(2))
      #expect(
        try await world.value(
          "SELECT count(*) FROM admin.audit WHERE action = 'refused sign-in' AND username = 'ann'") == Int64(1))
      #expect(
        try await world.value("SELECT count(*) FROM magpie.audit u WHERE u::text LIKE '%my-secret%'") == Int64(0))
    }
  }

  /// What stands in front of a believed proxy's own word is anybody's.
  @Test func sourcesAreReadFromTheRight() throws {
    let group = try EventLoopGroup(count: 1)
    defer { group.stop() }
    func request(_ forwarded: [String]) throws -> Request {
      var fields: Fields = [:]
      for value in forwarded { fields.append(.xForwardedFor, value) }
      return try Request(.get, "/", fields, loop: group.loops[0])
    }
    // A request without a connection has no peer: an empty address stands for it.
    let peer: [[UInt8]] = [[]]
    let proxy: [UInt8] = [10, 0, 0, 1]
    for (forwarded, expected) in [
      (["203.0.113.9"], "203.0.113.9"), (["1.2.3.4, 203.0.113.9"], "203.0.113.9"),
      (["1.2.3.4", "203.0.113.9"], "203.0.113.9"), (["1.2.3.4, 203.0.113.9, 10.0.0.1"], "203.0.113.9"),
      (["203.0.113.9:4711"], "203.0.113.9"), (["::ffff:203.0.113.9"], "203.0.113.9"),
      (["1.2.3.4, nonsense, 10.0.0.1"], "10.0.0.1"), (["10.0.0.1"], "10.0.0.1"),
      (["2001:db8:1:2:3:4:5:6"], "32.1.13.184.0.1.0.2"), (["[2001:db8:1:2::9]:80"], "32.1.13.184.0.1.0.2"),
      (["nonsense"], ""), ([], ""),
    ] {
      #expect(
        RequestSource.of(try request(forwarded), trusting: peer + [proxy]).address == expected, "\(forwarded)")
    }
    #expect(RequestSource.of(try request(["203.0.113.9"]), trusting: []).address == "")
    #expect(RequestSource.source([203, 0, 113, 9]) == Accounts.Source(network: "203.0.113", address: "203.0.113.9"))
  }
}
