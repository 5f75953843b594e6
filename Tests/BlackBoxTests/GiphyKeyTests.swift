import Glibc
import HTTP
import Postgres
import TestSupport
import Testing

/// The operator's key to GIPHY is seen by GIPHY and by nobody else, whatever goes wrong.
@Suite(.timeLimit(.minutes(5)))
struct GiphyKeyTests {
  private static let key = "CanaryKeyOfGiphy0000000000000002"

  private static let faults = [
    #""synthetic""#, #""no-pagination""#, #""echo-query""#, #""giphy-error","status":401"#,
    #""giphy-error","status":403"#,
    #""giphy-error","status":429"#, #""gateway-error","status":401"#, #""gateway-error","status":429"#,
    #""redirect","to":"/v1/gifs/search?api_key=\#(key)""#, #""html""#, #""html","status":403"#,
    #""status","status":502"#,
    #""invalid-json""#, #""truncated-json""#, #""huge","bytes":5000000"#, #""deep-json""#, #""other-shape""#, #""cut""#,
    #""reset""#, #""status","status":400"#,
  ]

  @Test func `the key is nowhere, whatever GIPHY does and wherever one looks`() async throws {
    try await Site.with { site async throws in
      let simulator = try await site.simulator(["--giphy-key", Self.key])
      let database = try await site.database()
      let server = try await site.serve(
        [],
        [
          "DATABASE_URL": database, "MAGPIE_GITHUB_URL": simulator.peer.url, "MAGPIE_GIPHY_URL": simulator.peer.url,
          "MAGPIE_GIPHY_KEY": Self.key, "MAGPIE_LOG_LEVEL": "debug",
        ])
      let token = try await site.token("alice", database)
      let visitor = server.api.account(token)
      var seen: [(place: String, text: String)] = []
      func look(_ path: String) async throws -> Int {
        let answer = try await visitor.get(path, ["Prefer": "wait=5"])
        seen.append((path, answer.text + answer.fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")))
        return answer.status
      }
      #expect(try await look("/giphy/v1/gifs/trending") == 200)
      for (number, fault) in Self.faults.enumerated() {
        try await simulator.command("faults", #"{"match":"/v1/**","times":1,"effect":\#(fault)}"#)
        _ = try await look("/giphy/v1/gifs/search?q=cat\(number)")
        _ = try await column(
          Int64.self,
          """
          WITH c AS (UPDATE magpie.credential SET disabled_at = NULL, blocked_until = '-infinity', bucket_at = now() RETURNING 1)
          SELECT count(*) FROM c
          """, of: database)
      }
      let entries = try await simulator.peer.get("/_sim/log?match=/v1/**&limit=1000").text
      #expect(entries.contains(Self.key), "it was asked with the key, or this shows nothing")

      seen.append(("metrics", try await server.admin.get("/metrics").text))
      seen.append(("command line", server.program.commandLine))
      let superuser = try await TestCluster.shared().superuser(database: TestCluster.name(of: database))
      let tables = try await column(
        String.self,
        """
        SELECT t.schemaname || '.' || t.tablename || query_to_xml(
            format('SELECT string_agg(t::text, chr(10)) AS rows FROM %I.%I AS t', t.schemaname, t.tablename), true, false, '')::text
          FROM pg_tables t WHERE t.schemaname IN ('magpie', 'admin')
        UNION ALL SELECT concat_ws(' ', 'pg_stat_activity', application_name, query) FROM pg_stat_activity
        """, of: superuser)
      #expect(tables.count > 30)
      #expect(tables.contains { $0.contains("upstream/invalid-answer") }, "what went wrong is kept with the jobs")
      seen += tables.map { (String($0.prefix(40)), $0) }
      // What a crash would leave behind. Swift's own handler, where it is on, writes a backtrace and lets the process go on.
      server.program.signal(SIGABRT)
      try await eventually { server.program.end != nil || server.program.log.contains("Backtrace took") }
      server.program.signal(SIGKILL)
      _ = try await server.program.waitForEnd()
      let log = server.program.output + server.program.log
      #expect(log.contains("\"route\":\"/giphy/v1/gifs/search\""))
      #expect(!log.contains("cat1"), "a query in the log")
      seen.append(("log", log))
      for (place, text) in seen { #expect(!text.contains(Self.key), "the key in \(place)") }
      for (place, text) in seen where place != "command line" {
        #expect(!text.contains("api_key="), "an address in \(place)")
      }
    }
  }
}
