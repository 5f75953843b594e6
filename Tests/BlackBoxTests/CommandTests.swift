import EventLoop
import Glibc
import Postgres
import TestSupport
import Testing

/// What `magpie` does with its command line and its settings, and how it says no.
@Suite(.timeLimit(.minutes(5)))
struct CommandTests {
  /// One line on standard error that begins with the program's name, and the exit status.
  private func refusal(of program: Program, _ status: Int32) async throws -> String {
    #expect(try await program.waitForEnd() == .exit(status))
    #expect(program.output == "")
    let lines = program.log.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 2 && lines[1].isEmpty, "\(program.log)")
    #expect(lines[0].hasPrefix("magpie: "))
    return String(lines[0].dropFirst(8))
  }

  @Test(arguments: [
    ([], "no command; see magpie help"), (["fly"], "unknown command: fly; see magpie help"),
    (["serve", "--fast"], "unknown option: --fast; see magpie help"),
    (["work", "--no-worker"], "unknown option: --no-worker; see magpie help"),
    (["migrate", "now"], "unknown option: now; see magpie help"),
    (["version", "-v"], "unknown option: -v; see magpie help"),
  ])
  func `an unknown command or option ends with 64`(arguments: [String], line: String) async throws {
    try await Site.with { site async throws in
      #expect(try await refusal(of: site.magpie(arguments), 64) == line)
    }
  }

  @Test func `an unknown setting ends with 64, whatever its value`() async throws {
    try await Site.with { site async throws in
      #expect(
        try await refusal(of: site.magpie(["serve"], ["MAGPIE_LISTN": "hunter2"]), 64)
          == "unknown setting: MAGPIE_LISTN")
    }
  }

  @Test func `every setting that can be wrong is refused by name, without its value`() async throws {
    let wrong: [(String, [String])] = [
      ("MAGPIE_LISTEN", ["8080", "example.org:80", "127.0.0.1", "127.0.0.1:65536", "::1:80", "[127.0.0.1]:80"]),
      ("MAGPIE_ADMIN_LISTEN", ["127.0.0.1:x"]), ("MAGPIE_PUBLIC_URL", ["ftp://example.org", "example.org"]),
      ("MAGPIE_MIGRATE", ["yes"]), ("MAGPIE_GITHUB_URL", ["api.github.com", "file:///etc/passwd", "https://a/?b"]),
      ("MAGPIE_GITHUB_TOKENS", ["@/nowhere/secret", "secret with space"]), ("MAGPIE_SIGNUP", ["on"]),
      ("MAGPIE_LOOPS", ["0", "-1", "two", "257"]), ("MAGPIE_WORKERS", ["0", "257", "1.5"]),
      ("MAGPIE_LEASE_SECONDS", ["0.4", "3601", "nan", "soon"]), ("MAGPIE_TTL_PROFILE", ["-1", "inf"]),
      ("MAGPIE_TTL_LIST", ["x"]), ("MAGPIE_TTL_REPO", ["x"]), ("MAGPIE_TTL_COMMITS", ["x"]),
      ("MAGPIE_TTL_SEARCH", ["x"]), ("MAGPIE_TTL_NEGATIVE", ["x"]), ("MAGPIE_LOG", ["xml"]),
      ("MAGPIE_LOG_LEVEL", ["all"]), ("MAGPIE_ECHO", ["1"]), ("MAGPIE_TRUSTED_PROXIES", ["proxy.example"]),
      ("MAGPIE_GIPHY_URL", ["giphy"]), ("MAGPIE_PHOTOS_URL", ["photos"]),
      ("MAGPIE_AVATAR_HOSTS", ["a b", "https://a/b"]),
      ("MAGPIE_LOG_LEVEL", ["7"]),
    ]
    try await Site.with { site async throws in
      let nowhere = "host=127.0.0.1 port=1 user=magpie dbname=magpie"
      for (name, values) in wrong {
        for value in values {
          let line = try await refusal(of: site.magpie(["serve"], [name: value, "DATABASE_URL": nowhere]), 64)
          #expect(line.hasPrefix(name), "\(name)=\(value): \(line)")
          #expect(!line.contains("secret"), "\(name)=\(value): \(line)")
        }
      }
    }
  }

  @Test func `help, version and the API's description need no settings`() async throws {
    try await Site.with { site async throws in
      for (arguments, beginning) in [(["help"], "usage: magpie COMMAND"), (["version"], "magpie "), (["openapi"], "{")]
      {
        let program = try site.magpie(arguments)
        #expect(try await program.waitForEnd() == .exit(0))
        #expect(program.output.hasPrefix(beginning))
        #expect(program.log == "")
      }
    }
  }

  @Test func `a database that cannot be reached is one line and 1, for each command`() async throws {
    try await Site.with { site async throws in
      let nowhere = ["DATABASE_URL": "host=127.0.0.1 port=1 user=magpie dbname=magpie password=hunter2"]
      for command in [["serve"], ["work"], ["migrate"], ["migrate", "--check"]] {
        let program = try site.magpie(command, Site.settings.merging(nowhere) { $1 })
        let line = try await refusal(of: program, 1)
        #expect(line.hasPrefix("the database cannot be reached: "), "\(line)")
        #expect(!line.contains("hunter2"))
      }
    }
  }

  @Test func `a port that is taken is one line and 1, for the API and for the admin listener`() async throws {
    try await Site.with { site async throws in
      let taken = try Listener(try #require(SocketAddress("127.0.0.1:0")))
      let database = try await site.database()
      for (command, name) in [
        ("serve", "MAGPIE_LISTEN"), ("serve", "MAGPIE_ADMIN_LISTEN"), ("work", "MAGPIE_ADMIN_LISTEN"),
      ] {
        let settings = Site.settings.merging([name: "\(taken.address)", "DATABASE_URL": database]) { $1 }
        #expect(
          try await refusal(of: site.magpie([command], settings), 1)
            == "cannot listen on \(taken.address) (\(name)): Address already in use")
      }
    }
  }

  @Test func `a schema newer than the program is left alone`() async throws {
    try await Site.with { site async throws in
      let database = try await site.database()
      try await column(
        Bool.self,
        """
        INSERT INTO magpie.migration (name, checksum, is_repeatable) VALUES ('9999_later.sql', sha256('x'), false)
        RETURNING true
        """, of: database)
      for (command, migrates) in [("serve", "on"), ("serve", "off"), ("work", "on"), ("migrate", "on")] {
        let settings = Site.settings.merging(["DATABASE_URL": database, "MAGPIE_MIGRATE": migrates]) { $1 }
        let line = try await refusal(of: site.magpie([command], settings), 1)
        #expect(line.hasSuffix("the database's schema is newer than this binary: it has 9999_later.sql"), "\(line)")
      }
    }
  }

  @Test func `an empty database is migrated by whoever starts, once, however many start`() async throws {
    try await Site.with { site async throws in
      let database = try await TestCluster.database()
      let settings = Site.settings.merging(["DATABASE_URL": database]) { $1 }
      let unwilling = settings.merging(["MAGPIE_MIGRATE": "off"]) { $1 }
      for command in ["serve", "work"] {
        #expect(
          try await refusal(of: site.magpie([command], unwilling), 1)
            == "the schema is older than this program; run magpie migrate")
      }
      let check = try await refusal(of: site.magpie(["migrate", "--check"], ["DATABASE_URL": database]), 1)
      #expect(check.hasPrefix("not applied yet: 0001_roles.sql, "))

      let programs = try [
        site.magpie(["serve"], settings), site.magpie(["serve"], settings), site.magpie(["work"], settings),
      ]
      for program in programs { _ = try await site.ready(program) }
      let applied = try await column(String.self, "SELECT name FROM magpie.migration", of: database)
      #expect(Set(applied).count == applied.count)
      #expect(applied.contains("0001_roles.sql"))

      for arguments in [["migrate", "--check"], ["migrate"]] {
        let program = try site.magpie(arguments, ["DATABASE_URL": database])
        #expect(try await program.waitForEnd() == .exit(0))
        #expect(program.output == "the schema is up to date\n")
      }
      _ = try await site.serve([], unwilling)
    }
  }
}
