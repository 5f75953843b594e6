import HTTP
import Magpie
import Postgres
import TestSupport
import Testing
import WorldSupport

/// POST requests under a key.
@Suite struct IdempotencyTests {
  private static let path = "/github/users/octocat/refresh"
  private static let body = #"{"what": ["profile"]}"#

  private static func order(
    _ world: TestWorld, _ key: String?, as token: String, body: String = body, path: String = path, to server: Int = 0
  ) async throws -> Answer {
    var fields: Fields = [:]
    if let key { fields.append(.idempotencyKey, key) }
    return try await world.send(.post, path, as: token, fields, body: body, to: server)
  }

  @Test func sameKeyIsTheSameAnswer() async throws {
    try await AccountWorld.run({ $0.servers = 2 }) { world async throws in
      let token = try await world.token()
      let first = try await Self.order(world, "key-1", as: token)
      #expect(first.status == 202 && first["Idempotency-Replayed"] == nil)
      try await world.sql("DELETE FROM magpie.job")
      // Bare or in quotes, on any server.
      for (key, server) in [("key-1", 0), ("\"key-1\"", 1)] {
        let again = try await Self.order(world, key, as: token, to: server)
        #expect(again.status == 202 && again.body == first.body)
        #expect(again["Idempotency-Replayed"] == "true")
        #expect(again[.contentType] == first[.contentType] && again[.cacheControl] == first[.cacheControl])
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
      // Another body, and another target of the same route.
      let other = try await Self.order(world, "key-1", as: token, body: #"{"what": ["followers"]}"#)
      #expect(other.status == 422 && other.code == "request/idempotency-mismatch")
      #expect(try await Self.order(world, "key-1", as: token, path: "/github/users/hubot/refresh").status == 422)
      // Another route, another account, no key: other requests.
      let byID = try await Self.order(world, "key-1", as: token, path: "/github/user/1/refresh")
      #expect(byID["Idempotency-Replayed"] == nil && byID.code != "request/idempotency-mismatch")
      let bob = try await world.token(of: "bob")
      let foreign = try await Self.order(world, "key-1", as: bob)
      #expect(foreign.status == 202 && foreign["Idempotency-Replayed"] == nil)
      #expect(try await Self.order(world, nil, as: token)["Idempotency-Replayed"] == nil)
      // The account's other device is the same account.
      #expect(try await Self.order(world, "key-1", as: try await world.token())["Idempotency-Replayed"] == "true")
      // A mistake is answered as before, too.
      let mistake = try await Self.order(world, "key-2", as: token, body: #"{"what": ["nothing"]}"#)
      let repeated = try await Self.order(world, "key-2", as: token, body: #"{"what": ["nothing"]}"#)
      #expect(mistake.status == 422 && repeated.status == 422 && repeated.body == mistake.body)
      #expect(repeated["Idempotency-Replayed"] == "true")
      // A day later it is forgotten, by the sweep as well.
      try await world.sql("UPDATE magpie.idempotency_key SET expires_at = now() WHERE fields IS NOT NULL")
      #expect(try await Self.order(world, "key-1", as: token)["Idempotency-Replayed"] == nil)
      #expect(try await world.value("SELECT magpie.sweep_answers() >= 2") == true)
      #expect(try await world.value("SELECT count(*) FROM magpie.idempotency_key") == Int64(1))
      let text: String = try await world.value("SELECT string_agg(k::text, '') FROM magpie.idempotency_key k")
      #expect(!text.contains("key-1"))
    }
  }

  @Test func keysHaveAForm() async throws {
    try await AccountWorld.run { world async throws in
      let token = try await world.token()
      let longest = String(repeating: "k", count: 255)
      for key in ["k", longest, "\"\(longest)\"", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"] {
        #expect(try await Self.order(world, key, as: token).status == 202, "\(key.prefix(10))")
      }
      for key in ["", "\"\"", longest + "k", "\"\(longest)k\"", "a b", "é", "\"a", "a\"b", "a\\b", "\""] {
        let answer = try await Self.order(world, key, as: token)
        #expect(answer.status == 400 && answer.code == "request/invalid-idempotency-key", "\(key.prefix(10))")
      }
      var two: Fields = [.idempotencyKey: "a"]
      two.append(.idempotencyKey, "b")
      #expect(try await world.send(.post, Self.path, as: token, two, body: Self.body).status == 400)
      #expect(try await world.send(.post, Self.path, as: nil, [.idempotencyKey: "a"], body: Self.body).status == 401)
      let reader = try await world.token(scopes: ["read"])
      let refused = try await Self.order(world, "reader", as: reader)
      #expect(refused.status == 403)
      // What was refused for its rights is not kept: with more rights it goes through.
      try await world.sql("UPDATE magpie.session SET scopes = '{read,write}'")
      #expect(try await Self.order(world, "reader", as: reader).status == 202)
      try await world.sql(
        """
        INSERT INTO magpie.idempotency_key (account_id, route, key_hash, fingerprint, run, lease_until, expires_at)
        SELECT a.id, 'POST /x', sha256(i::text::bytea), sha256(''), gen_random_uuid(), now(), now() + interval '1 day'
          FROM magpie.account a, generate_series(1, 10000) i
        """)
      let full = try await Self.order(world, "one more", as: token)
      #expect(full.status == 400)
      let more = try await Self.order(world, "one-more", as: token)
      #expect(more.status == 429 && more.code == "request/too-many-keys")
      #expect(try await Self.order(world, "k", as: token).status == 202)
    }
  }

  @Test func firstThatStillRunsIsWaitedForUntilItIsDead() async throws {
    try await AccountWorld.run { world async throws in
      let token = try await world.token()
      #expect(try await Self.order(world, "key", as: token).status == 202)
      try await world.sql("UPDATE magpie.idempotency_key SET status = NULL, lease_until = now() + interval '1 minute'")
      let early = try await Self.order(world, "key", as: token)
      #expect(early.status == 409 && early.code == "request/idempotency-running" && early[.retryAfter] == "1")
      try await world.sql("UPDATE magpie.idempotency_key SET lease_until = now()")
      let later = try await Self.order(world, "key", as: token)
      #expect(later.status == 202 && later["Idempotency-Replayed"] == nil)
      #expect(try await Self.order(world, "key", as: token)["Idempotency-Replayed"] == "true")
      // Many at once are one.
      let statuses = Record<Int>()
      try await withThrowingTaskGroup { group in
        for _ in 0..<8 {
          group.addTask {
            let answer = try await Self.order(world, "many", as: token)
            statuses.add(answer["Idempotency-Replayed"] == nil ? answer.status : 0)
          }
        }
        try await group.waitForAll()
      }
      #expect(statuses.entries.count { $0 == 202 } == 1)
      #expect(statuses.entries.allSatisfy { [0, 202, 409].contains($0) })
    }
  }

  /// The way of a write that is one transaction: its answer is stored with it, or neither is.
  @Test func answerIsStoredWithTheWrite() async throws {
    try await AccountWorld.run { world async throws in
      let token = try #require(Secret(try await world.token(), kind: .token)).hash
      let database = world.servers[0].database
      let keys = Idempotency(database: database)
      let key = Idempotency.Key("k", route: "POST /v1/sync", target: "/v1/sync", body: [1])
      let answer = try #require(
        Idempotency.Answer(status: 200, fields: ["ETag", "\"a\""], body: Array(#"{"version":1}"#.utf8)))
      func insert(_ claim: IdempotencyClaim) async throws {
        try await database.transaction { transaction in
          _ = try await transaction.query(
            "INSERT INTO magpie.favorite (account_id, kind, subject_id) VALUES (magpie.current_account(), 'photo', '1')",
            after: ["SELECT magpie.authenticate(\(token), 'write')"])
          try await transaction.query(claim.storing(answer))
        }
        claim.noteStored()
      }
      guard case .started(let slow) = try await keys.begin(key, token: token) else { throw Unexpected() }
      guard case .running = try await keys.begin(key, token: token) else { throw Unexpected() }
      try await world.sql("UPDATE magpie.idempotency_key SET lease_until = now()")
      guard case .started(let quick) = try await keys.begin(key, token: token) else { throw Unexpected() }
      // The first was taken for dead; when it wakes up, nothing of it remains.
      let error = await #expect(throws: PostgresError.self) { try await insert(slow) }
      #expect(error?.sqlState?.rawValue == "MG409")
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(0))
      try await insert(quick)
      try await keys.store(answer, quick)
      try await keys.forget(quick)
      try await keys.forget(slow)
      guard case .answered(let stored) = try await keys.begin(key, token: token) else { throw Unexpected() }
      #expect(stored.status == 200 && stored.fields == answer.fields && stored.body == answer.body)
      #expect(try await world.value("SELECT count(*) FROM magpie.favorite") == Int64(1))
      guard case .nobody = try await keys.begin(key, token: Array(repeating: 0, count: 32)) else { throw Unexpected() }
      #expect(Idempotency.Answer(status: 200, fields: [], body: Array(repeating: 0, count: (8 << 20) + 1)) == nil)
    }
  }

  /// Every route that writes once: dying between the write and its answer must leave neither.
  @Test(arguments: [
    ("/v1/sync", #"{"since": 0, "changes": [{"op": "put", "kind": "gif", "id": "new"}]}"#, "magpie.favorite"),
    ("/v1/collections", #"{"name": "Birds"}"#, "magpie.collection"),
    (
      "/v1/activity", #"{"kind": "copied", "subject": "gif:new"}"#,
      "(SELECT generate_series(1, count) FROM magpie.activity) a"
    ),
    ("/v1/favorites/photo/9/restore", "", "magpie.favorite"),
  ])
  func writeIsUndoneWhenItsAnswerIsNotStored(path: String, body: String, what: String) async throws {
    try await AccountWorld.run { world async throws in
      let token = try await world.token()
      #expect(try await world.send(.put, "/v1/favorites/photo/9", as: token).status == 201)
      #expect(try await world.send(.delete, "/v1/favorites/photo/9", as: token).status == 204)
      let count = "SELECT count(*) FROM \(what)"
      try await world.sql(
        "CREATE FUNCTION magpie.die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'dead'; END $$")
      try await world.sql(
        "CREATE TRIGGER die BEFORE UPDATE ON magpie.idempotency_key FOR EACH ROW EXECUTE FUNCTION magpie.die()")
      #expect(try await Self.order(world, "key", as: token, body: body, path: path).status == 500)
      #expect(try await world.value("\(unsafe: count)") == Int64(0))
      try await world.sql("DROP TRIGGER die ON magpie.idempotency_key")
      let first = try await Self.order(world, "key", as: token, body: body, path: path)
      #expect((200...201).contains(first.status) && first["Idempotency-Replayed"] == nil)
      #expect(try await world.value("\(unsafe: count)") == Int64(1))
      let again = try await Self.order(world, "key", as: token, body: body, path: path)
      #expect(again["Idempotency-Replayed"] == "true" && again.body == first.body)
      #expect(try await world.value("\(unsafe: count)") == Int64(1))
    }
  }

  /// A key on a request that hands out tokens is no way to get one again.
  @Test func tokensAreNotKept() async throws {
    try await AccountWorld.run({ $0.allowsSignUp = true }) { world async throws in
      try await world.account("ann")
      let key: Fields = [.idempotencyKey: "k"]
      let first = try await world.signIn("ann", AccountWorld.password, key)
      let second = try await world.signIn("ann", AccountWorld.password, key)
      #expect(first.status == 201 && second.status == 201)
      #expect(try first.json["token"]?.string != second.json["token"]?.string)
      #expect(try await world.value("SELECT count(*) FROM magpie.idempotency_key") == Int64(0))
    }
  }

  private struct Unexpected: Error {}
}
