import HTTP
import Postgres
import Testing
import WorldSupport

/// Writes that PostgreSQL rolls back since they stood in the way of another: they are done all the same, and done once.
@Suite struct DeadlockTests {
  /// A write, what it answers, and how many versions it takes.
  struct Write: Sendable, CustomTestStringConvertible {
    let method: HTTP.Method
    let path: String
    var body: String?
    let status: Int
    var versions: Int64 = 1

    var testDescription: String { "\(method) \(path)" }
  }

  static let collection = "0193f8a2-5f0e-7c3a-9b1d-2f4e6a8c0d1e"

  static let writes = [
    Write(method: .put, path: "/v1/favorites/photo/7", body: #"{"note": "n"}"#, status: 201),
    Write(method: .put, path: "/v1/favorites/photo/1", body: #"{"note": "n"}"#, status: 200),
    Write(method: .patch, path: "/v1/favorites/photo/1", body: #"{"note": "n"}"#, status: 200),
    Write(method: .patch, path: "/v1/favorites/photo/3", body: #"{"before": "photo/1"}"#, status: 200, versions: 3),
    Write(method: .delete, path: "/v1/favorites/photo/1", status: 204),
    Write(method: .post, path: "/v1/favorites/photo/4/restore", status: 201),
    Write(
      method: .post, path: "/v1/sync",
      body: #"{"since": 0, "changes": [\#(change("put", 7)), \#(change("delete", 1))]}"#,
      status: 200, versions: 2),
    Write(
      method: .post, path: "/v1/account/import",
      body: #"[{"login": "mojombo", "avatarUrl": "https://avatars.githubusercontent.com/u/1?v=4"}]"#, status: 200),
    Write(method: .post, path: "/v1/collections", body: #"{"name": "n"}"#, status: 201),
    Write(method: .patch, path: "/v1/collections/\(collection)", body: #"{"name": "n"}"#, status: 200),
    Write(method: .delete, path: "/v1/collections/\(collection)", status: 204),
  ]

  private static func change(_ operation: String, _ id: Int) -> String {
    #"{"op": "\#(operation)", "kind": "photo", "id": "\#(id)"}"#
  }

  @Test(arguments: writes) func whoIsRolledBackTriesAgain(_ write: Write) async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1))
    options.hasWorker = false
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      for id in 1...4 { _ = try await world.send(.put, "/v1/favorites/photo/\(id)", as: token) }
      _ = try await world.send(.delete, "/v1/favorites/photo/4", as: token)
      _ = try await world.send(
        .post, "/v1/collections", as: token, body: #"{"id": "\#(Self.collection)", "name": "Cats"}"#)
      let before: Int64 = try await world.value("SELECT a.version FROM magpie.account a")
      // A sequence keeps its value when its transaction is rolled back, so each of the first two runs fails.
      try await world.sql("CREATE SEQUENCE public.run")
      try await world.sql(
        """
        CREATE FUNCTION public.stand_in_the_way() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          IF nextval('public.run') <= 2 THEN RAISE EXCEPTION USING ERRCODE = '40P01', MESSAGE = 'deadlock detected'; END IF;
          RETURN NULL;
        END $$
        """)
      for table in ["favorite", "collection"] {
        try await world.sql(
          """
          CREATE TRIGGER stand_in_the_way AFTER INSERT OR UPDATE OR DELETE ON magpie.\(unsafe: table)
            FOR EACH ROW EXECUTE FUNCTION public.stand_in_the_way()
          """)
      }
      let answer = try await world.send(write.method, write.path, as: token, body: write.body)
      #expect(answer.status == write.status, "\(answer.text)")
      let runs: Int64 = try await world.value("SELECT last_value FROM public.run")
      #expect(runs == 2 + write.versions)
      let after: Int64 = try await world.value("SELECT a.version FROM magpie.account a")
      #expect(after - before == write.versions)
      #expect(world.servers[0].failures.entries.isEmpty)
    }
  }
}
