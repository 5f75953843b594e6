import Glibc
import HTTP
import Postgres
import TestSupport
import Testing

/// What must be seen by nobody, and what everybody may see.
@Suite(.timeLimit(.minutes(5)))
struct SecrecyTests {
  private static let tokens = ["ghp_CanaryOfTheFirstFile0000000000000001", "ghp_CanaryOfTheSecondFile000000000000002"]
  private static let password = "canary-password-of-alice"
  private static let databasePassword = "canary-password-of-the-database"

  @Test func `tokens are read again at SIGHUP, and secrets stay where they are`() async throws {
    try await Site.with { site async throws in
      let file = "\(site.directory)/tokens"
      let simulator = try await site.simulator([
        "--user", "octocat:230", "--user", "hubot:20", "--user", "third:20", "--only-known-tokens",
        "--token", "\(Self.tokens[0])=first", "--token", "\(Self.tokens[1])=second",
      ])
      try write("\(Self.tokens[0])\n", to: file)
      // Trusted, so the password is for nothing, but it is in the environment all the same.
      let database = try await site.database()
      let server = try await site.serve(
        [],
        [
          "DATABASE_URL": "\(database) password=\(Self.databasePassword)", "MAGPIE_GITHUB_URL": simulator.peer.url,
          "MAGPIE_GITHUB_TOKENS": "@\(file)", "MAGPIE_LOG_LEVEL": "debug",
        ])
      let code = try #require(
        try await column(String.self, "SELECT admin.create_account('alice')", of: database).first)
      let redeemed = try await server.api.send(
        .post, "/v1/invitations/redeem", body: #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
      #expect(redeemed.status == 201)
      let token = try #require(try redeemed.json["token"]?.string)
      let visitor = server.api.account(token)
      var seen: [String] = []
      func look(_ path: String, _ fields: Fields = [:]) async throws -> Answer {
        let answer = try await visitor.get(path, fields)
        seen.append(answer.text + answer.fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))
        return answer
      }
      #expect(try await look("/github/users/octocat/followers?per_page=100").status == 200)
      #expect(try await credentials(simulator, "/users/octocat/**") == ["first"])

      // The first is revoked; what is asked for waits for the second.
      try await simulator.command("tokens", #"{"token":"\#(Self.tokens[0])","revoked":true}"#)
      let refused = try await look("/github/users/hubot/followers", ["Prefer": "wait=20"])
      #expect(refused.status == 503)
      #expect(refused.code == "upstream/unauthorized")
      try write("\(Self.tokens[1])\n", to: file)
      server.program.signal(SIGHUP)
      try await eventually { server.program.log.contains("tokens read again") }
      #expect(try await look("/github/users/third/followers", ["Prefer": "wait=30"]).status == 200)
      #expect(try await credentials(simulator, "/users/third/**") == ["second"])

      // A file that cannot be used changes nothing.
      unlink(file)
      server.program.signal(SIGHUP)
      try await eventually { server.program.log.contains("tokens not read again") }
      #expect(server.program.end == nil)

      // Wrong in every way that could tempt a server to repeat what it got.
      _ = try await look("/v1/jobs/\(token)")
      _ = try await look("/github/users/\(token)?access_token=\(token)")
      let wrong = try await server.api.send(
        .post, "/v1/sessions", body: #"{"username":"\#(token)","password":"\#(Self.password)"}"#)
      #expect(wrong.status == 401)
      let again = try await server.api.send(
        .post, "/v1/invitations/redeem", body: #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
      #expect(again.status == 403)
      seen += [wrong.text, again.text, try await server.admin.get("/metrics").text]

      let commandLine = server.program.commandLine
      #expect(commandLine.contains("serve"))
      let sessions = try await column(
        String.self, "SELECT concat_ws(' ', application_name, query) FROM pg_stat_activity", of: database)
      server.program.signal(SIGTERM)
      #expect(try await server.program.waitForEnd() == .exit(0))
      let log = server.program.output + server.program.log
      #expect(log.contains("\"event\":\"ended\""))
      #expect(log.contains("\"route\":\"/github/users/{login}/followers\""))
      let secrets = Self.tokens + [Self.password, Self.databasePassword, code, token]
      let places =
        [("log", log), ("command line", commandLine)] + seen.map { ("answer", $0) } + sessions.map { ("session", $0) }
      for secret in secrets {
        for (place, text) in places {
          #expect(!text.contains(secret), "\(secret.prefix(8)) in \(place)")
        }
      }
    }
  }

  /// Whose budget the requests were counted in.
  private func credentials(_ simulator: SimulatorProgram, _ match: String) async throws -> Set<String> {
    let answer = try await simulator.peer.get("/_sim/log?match=\(match)")
    return Set(
      try #require(try answer.json["entries"]).elements.compactMap { entry in
        entry["status"]?.int == 200 ? entry["credential"]?.string : nil
      })
  }

  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "we"))
    fputs(text, file)
    fclose(file)
  }

  @Test func `the metrics are Prometheus text`() async throws {
    try await Site.with { site async throws in
      let database = try await site.database()
      let server = try await site.serve([], ["DATABASE_URL": database])
      let visitor = server.api.account(try await site.token("alice", database))
      for path in ["/v1/favorites", "/v1/favorites", "/v1/version", "/nowhere"] {
        _ = try await visitor.get(path)
      }
      // Nobody can make labels without number.
      for method in ["BREW", "WHEN"] {
        let answer = try await RawConnection.exchange(
          server.api.url, Array("\(method) / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        #expect(answer.hasPrefix("HTTP/1.1 501 "))
      }
      try await eventually { try await server.metric("magpie_connections") == 1 }
      let answer = try await server.admin.get("/metrics")
      #expect(answer.fields["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
      let samples = try PrometheusText.parse(answer.text)
      #expect(samples[#"magpie_requests_total{method="GET",route="/v1/favorites",status="200"}"#] == 2)
      #expect(samples[#"magpie_requests_total{method="GET",route="",status="404"}"#] == 1)
      #expect(samples[#"magpie_requests_total{method="other",route="",status="501"}"#] == 2)
      #expect(!answer.text.contains("BREW"))
      #expect(samples["magpie_jobs_running"] == 0)
    }
  }
}
