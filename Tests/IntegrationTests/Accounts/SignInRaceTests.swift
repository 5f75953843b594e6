import HTTP
import Postgres
import TestSupport
import Testing
import WorldSupport

@testable import Magpie

/// Signing in while something else happens to the account, and signing in that fails halfway.
@Suite struct SignInRaceTests {
  private static let other = "another-word&7"

  private static func hash(_ password: String, ln: Int = 10) -> String {
    PasswordHash(password: Array(password.utf8), parameters: .init(ln: ln, r: 1, p: 1)).text
  }

  /// Does something to an account, and commits it once somebody who signs in waits for that.
  private static func change(
    _ change: Query, in world: TestWorld, while body: @escaping @Sendable () async throws -> Answer
  ) async throws -> Answer {
    try await world.owner.transaction { transaction in
      try await transaction.query(change)
      let answer = Task { try await body() }
      try await eventually(within: .seconds(30)) {
        try await world.value(
          """
          SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity s ON s.pid = l.pid
           WHERE NOT l.granted AND s.datname = current_database()
          """)
      }
      return answer
    }.value
  }

  /// Whether the hash is to be renewed on the way or not.
  @Test(arguments: ["/v1/sessions", "/v1/account/restore"], [true, false])
  func passwordThatWasChangedMeanwhileIsWrong(_ path: String, _ isOutdated: Bool) async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      if isOutdated {
        try await world.sql("UPDATE magpie.account SET password_hash = \(Self.hash(AccountWorld.password, ln: 11))")
      }
      let same: Fields = ["X-Request-Id": "same"]
      let wrong = try await world.signIn("ann", "wrong-guess", from: "192.0.2.1", same, path: path)
      let raced = try await Self.change(
        "UPDATE magpie.account SET password_hash = \(Self.hash(Self.other)) WHERE username = 'ann'", in: world
      ) { try await world.signIn("ann", from: "192.0.2.1", same, path: path) }
      #expect(raced.status == 401 && raced.body == wrong.body)
      #expect(try await world.value("SELECT count(*) FROM magpie.session") == Int64(0))
      // It is counted and written down like any other.
      #expect(try await world.value("SELECT max(t.failures) FROM magpie.attempt t") == Int32(2))
      #expect(
        try await world.value("SELECT count(*) FROM magpie.audit u WHERE u.action LIKE 'refused%'") == Int64(2))
      #expect(try await world.signIn("ann", Self.other).status == 201)
    }
  }

  @Test func passwordWhoseHashWasRenewedMeanwhileIsRight() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      try await world.sql("UPDATE magpie.account SET password_hash = \(Self.hash(AccountWorld.password, ln: 11))")
      let raced = try await Self.change(
        "UPDATE magpie.account SET password_hash = \(Self.hash(AccountWorld.password)) WHERE username = 'ann'",
        in: world
      ) { try await world.signIn("ann") }
      #expect(raced.status == 201)
      #expect(try await world.value("SELECT count(*) FROM magpie.session") == Int64(1))
      #expect(
        try await world.value("SELECT count(*) FROM magpie.audit u WHERE u.action LIKE 'refused%'") == Int64(0))
    }
  }

  /// Such as while many favorites are brought in.
  @Test func signingInWaitsForWhoHoldsTheAccount() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      let answer = try await world.owner.transaction { transaction in
        try await transaction.query("SELECT a.id FROM magpie.account a WHERE a.username = 'ann' FOR NO KEY UPDATE")
        let answer = Task { try await world.signIn("ann") }
        // Longer than a statement waits for a lock: until another one waits.
        var starts: Set<String> = []
        try await eventually(within: .seconds(30)) {
          let waiting = try await world.owner.query(
            """
            SELECT s.query_start::text FROM pg_stat_activity s
             WHERE s.datname = current_database() AND s.wait_event_type = 'Lock'
            """
          ).decode(String.self)
          starts.formUnion(waiting)
          return starts.count > 1
        }
        return answer
      }.value
      #expect(answer.status == 201)
    }
  }

  @Test func accountsAreMadeAndCodesUsedUpTogetherWithTheSession() async throws {
    try await AccountWorld.run({ $0.allowsSignUp = true }) { world async throws in
      let code: String = try await world.value("SELECT admin.create_account('bob')")
      func signUp() async throws -> Answer {
        try await world.send(
          .post, "/v1/accounts", as: nil, body: #"{"username": "ann", "password": "tr0ubador&3"}"#)
      }
      func redeem() async throws -> Answer {
        try await world.send(
          .post, "/v1/invitations/redeem", as: nil, body: #"{"code": "\#(code)", "password": "tr0ubador&3"}"#)
      }
      // As if somebody held what is to be written.
      try await world.sql(
        """
        CREATE FUNCTION magpie.no_session() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '55P03'; END$$
        """)
      try await world.sql(
        "CREATE TRIGGER no_session BEFORE INSERT ON magpie.session FOR EACH ROW EXECUTE FUNCTION magpie.no_session()")
      #expect(try await signUp().status == 503)
      #expect(try await redeem().status == 503)
      #expect(try await world.value("SELECT string_agg(a.username, ',') FROM magpie.account a") == "bob")
      #expect(
        try await world.value("SELECT a.password_hash IS NULL FROM magpie.account a WHERE a.username = 'bob'") == true)
      #expect(
        try await world.value("SELECT count(*) FROM magpie.invitation i WHERE i.redeemed_at IS NULL") == Int64(1))
      try await world.sql("DROP TRIGGER no_session ON magpie.session")
      #expect(try await signUp().status == 201)
      #expect(try await redeem().status == 201)
      #expect(try await signUp().status == 409)
      #expect(try await redeem().status == 403)
      #expect(try await world.value("SELECT count(*) FROM magpie.session") == Int64(2))
    }
  }

  @Test func administratorsDeletionWinsOverTheOwners() async throws {
    try await AccountWorld.run { world async throws in
      try await world.account("ann")
      let token = try await world.signedIn("ann")
      let deleted = try await world.send(
        .delete, "/v1/account", as: token, [.xForwardedFor: "192.0.2.1"], body: #"{"password": "tr0ubador&3"}"#)
      #expect(deleted.status == 204)
      try await world.sql("UPDATE magpie.account SET deleted_at = deleted_at - interval '2 days'")
      try await world.sql("UPDATE magpie.account SET deletion_asked_at = deleted_at")
      try await world.sql("SELECT admin.delete_account('ann')")
      #expect(try await world.signIn("ann", path: "/v1/account/restore").status == 401)
      // The thirty days are those of the first deletion.
      #expect(
        try await world.value("SELECT a.deleted_at < now() - interval '1 day' FROM magpie.account a") == true)
      try await world.sql("SELECT admin.enable_account('ann')")
      #expect(try await world.signIn("ann").status == 201)
    }
  }
}
