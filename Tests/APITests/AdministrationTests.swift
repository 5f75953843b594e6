import Magpie
import Postgres
import TestSupport
import Testing
import WorldSupport

/// What administrators do in SQL, and what each role of the database may see.
@Suite struct AccountAdministrationTests {
  private static func run(_ body: @escaping @Sendable (TestWorld) async throws -> Void) async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    try await TestWorld.run(options, body)
  }

  private static func state(_ database: Database, _ query: Query) async -> String? {
    do {
      try await database.query(query)
      return nil
    } catch {
      return error.sqlState?.rawValue ?? "\(error)"
    }
  }

  @Test func mistakesOfAdministratorsAreTold() async throws {
    try await Self.run { world async throws in
      let admin = try await TestWorld.database(world.url, role: "magpie_admin", world.group)
      #expect(await Self.state(admin, "SELECT admin.create_account('ann', 'Ann')") == nil)
      let mistakes: [(Query, String)] = [
        ("SELECT admin.create_account('ANN')", "MG409"), ("SELECT admin.create_account('a b')", "MG422"),
        ("SELECT admin.create_account('ab')", "MG422"), ("SELECT admin.create_account(NULL)", "MG422"),
        ("SELECT admin.create_account('bob', '')", "MG422"),
        ("SELECT admin.create_account('bob', repeat('x', 101))", "MG422"),
        ("SELECT admin.reset_password('bob')", "MG404"), ("SELECT admin.reset_password(NULL)", "MG404"),
        ("SELECT admin.issue_token('bob', 'd')", "MG404"), ("SELECT admin.issue_token('ann', 'd', '{root}')", "MG422"),
        ("SELECT admin.issue_token('ann', 'd', '{}')", "MG422"),
        ("SELECT admin.issue_token('ann', repeat('x', 101))", "MG422"),
        ("SELECT admin.issue_token('ann', 'd', NULL, '10000-01-01')", "MG422"),
        ("SELECT admin.revoke_tokens('bob')", "MG404"), ("SELECT admin.disable_account('bob', 'x')", "MG404"),
        ("SELECT admin.delete_account('bob')", "MG404"), ("SELECT admin.refresh('github-user:a/b')", "MG422"),
        ("SELECT admin.refresh('octocat')", "MG422"), ("SELECT admin.refresh('github-user:a', 'now')", "MG422"),
        ("SELECT admin.refresh(NULL)", "MG422"), ("SELECT admin.refresh('github-user:a', NULL)", "MG422"),
      ]
      for (query, expected) in mistakes { #expect(await Self.state(admin, query) == expected, "\(query)") }
      #expect(await Self.state(admin, "SELECT admin.issue_token('ann', NULL)") == nil)
      #expect(await Self.state(admin, "SELECT admin.refresh('github-followers:OctoCat', 'soon')") == nil)
      #expect(try await world.value("SELECT j.subject FROM magpie.job j") == "octocat")
      #expect(try await world.value("SELECT count(*) FROM magpie.account") == Int64(1))
      #expect(await Self.state(admin, "SELECT admin.create_account('bob')") == nil)
      for query: Query in [
        "SELECT admin.disable_account('BOB', 'late')", "SELECT admin.delete_account('bob')",
        "SELECT admin.enable_account('bob')",
        "SELECT admin.disable_account('bob', 'again')", "SELECT admin.reset_password('bob')",
        "SELECT admin.issue_token('bob', 'd')",
      ] {
        #expect(await Self.state(admin, query) == nil)
        // Never anybody else.
        #expect(try await world.value("SELECT a.state FROM admin.accounts a WHERE a.username = 'ann'") == "invited")
      }
      #expect(
        try await world.value(
          "SELECT concat_ws(' ', a.state, a.disabled_reason, a.devices) FROM admin.accounts a WHERE a.username = 'bob'")
          == "disabled again 1")
      let revoked: Int = try await world.value("SELECT admin.revoke_tokens('ann')")
      #expect(revoked == 1)
      let rows = try await admin.query(
        "SELECT concat_ws(' ', a.state, a.devices, a.favorites) FROM admin.accounts a ORDER BY a.id")
      #expect(try rows.decode(String.self) == ["invited 0 0", "disabled 1 0"])
      for view in ["accounts", "devices", "favorites", "audit", "freshness"] {
        #expect(await Self.state(admin, Query(unsafe: "SELECT * FROM admin.\(view)")) == nil, "\(view)")
      }
      await admin.stop()
    }
  }

  @Test func secretsMadeInSQLAreThoseTheServerKnows() async throws {
    try await Self.run { world async throws in
      for _ in 0..<20 {
        let text: String = try await world.value("SELECT magpie.new_secret('mgp_')")
        #expect(Secret(text, kind: .token)?.text == text)
      }
      for _ in 0..<20 {
        let text = Secret(random: .invitation).text
        let random = String(text.dropFirst(4).prefix(30))
        #expect(try await world.value("SELECT magpie.crc32_base62(\(random))") == String(text.suffix(6)))
      }
    }
  }

  @Test func nobodySeesAccountsWithoutAToken() async throws {
    try await Self.run { world async throws in
      let token = try await world.token()
      _ = try await world.send(.put, "/v1/favorites/photo/1", as: token)
      _ = try await world.send(.put, "/v1/favorites/photo/2", as: token)
      _ = try await world.send(.delete, "/v1/favorites/photo/2", as: token)
      let app = world.servers[0].database
      for table in ["account", "session", "favorite", "favorite_tombstone"] {
        let hidden = try await app.query(Query(unsafe: "SELECT count(*) FROM magpie.\(table)")).decode(Int64.self)
        #expect(hidden == [0], "\(table)")
        // With somebody else's account there is nothing either, and nothing can be written for another.
        let other = try await world.token(of: "bob")
        let hash = try #require(Secret(other, kind: .token)).hash
        let foreign = try await app.query(
          Query(
            unsafe: "SELECT count(*) FROM magpie.\(table) t WHERE t.\(table == "account" ? "id" : "account_id") = 1"),
          after: ["SELECT magpie.authenticate(\(hash))"]
        ).decode(Int64.self)
        #expect(foreign == [0], "\(table)")
      }
      #expect(
        await Self.state(app, "INSERT INTO magpie.favorite (account_id, kind, subject_id) VALUES (1, 'photo', '9')")
          == "42501")
      #expect(try await app.query("UPDATE magpie.favorite SET note = 'x' RETURNING 1").count == 0)
      #expect(try await app.query("DELETE FROM magpie.favorite RETURNING 1").count == 0)
      for query: Query in [
        "SELECT * FROM magpie.invitation", "SELECT * FROM magpie.audit",
        "UPDATE magpie.account SET password_hash = '$x'",
        "DELETE FROM magpie.account", "INSERT INTO magpie.favorite_tombstone DEFAULT VALUES",
        "SELECT admin.issue_token('ann', 'x')",
        "SELECT magpie.new_secret('mgp_')", "CREATE TABLE magpie.mine ()",
      ] {
        #expect(await Self.state(app, query) == "42501", "\(query)")
      }
      // The account does not outlive its statement.
      let hash = try #require(Secret(token, kind: .token)).hash
      #expect(try await app.query("SELECT magpie.authenticate(\(hash)) IS NOT NULL").decode(Bool.self) == [true])
      #expect(try await app.query("SELECT magpie.current_account() IS NULL").decode(Bool.self) == [true])
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(1))
    }
  }

  @Test func workersSeeNoAccounts() async throws {
    try await Self.run { world async throws in
      _ = try await world.token()
      let worker = try await TestWorld.database(world.url, role: "magpie_worker", world.group)
      for table in ["account", "session", "invitation", "favorite", "favorite_tombstone", "audit", "secret"] {
        #expect(await Self.state(worker, Query(unsafe: "SELECT * FROM magpie.\(table)")) == "42501", "\(table)")
      }
      for call: Query in [
        "SELECT magpie.authenticate('\\x00')", "SELECT * FROM magpie.credentials('ann')",
        "SELECT magpie.redeem_invitation('\\x00', '$x')", "SELECT magpie.create_account('x', '$x', 'x')",
        "SELECT account_id FROM magpie.job_asker",
      ] {
        #expect(await Self.state(worker, call) == "42501", "\(call)")
      }
      await worker.stop()
    }
  }

  @Test func changesAreAuditedWithoutHashes() async throws {
    try await Self.run { world async throws in
      let token = try await world.token()
      _ = try await world.send(.put, "/v1/favorites/photo/1", as: token)
      try await world.sql("UPDATE magpie.account SET password_hash = '$scrypt$secret'")
      try await world.sql("SELECT admin.revoke_tokens('ann')")
      let rows = try await world.owner.query("SELECT u.action, u.relation FROM magpie.audit u ORDER BY u.id")
      let entries = try rows.decode((String, String).self).map { "\($0.0) \($0.1)" }
      #expect(entries == ["insert account", "insert session", "password account", "update session"])
      let text: String = try await world.value("SELECT string_agg(u::text, '') FROM magpie.audit u")
      #expect(!text.contains("scrypt") && !text.contains("token_hash"))
    }
  }
}
