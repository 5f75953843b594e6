import Testing

@testable import UpstreamSimulator

@Suite struct OptionsTests {
  @Test func everyOptionIsTaken() throws {
    let options = try Simulator.Options([
      "--listen", "[::1]:0", "--url", "http://github:80", "--seed", "7", "--user", "octocat:1240", "--user",
      "bigstar:300000:5", "--token", "a=b=c",
      "--only-known-tokens", "--limit", "10", "--anonymous-limit", "2", "--concurrent", "3", "--latency-ms", "4",
      "--etags", "weak", "--oldest-first", "--clock", "2026-01-01T00:00:00Z", "--churn", "5s", "--replay", "file.json",
      "--replay-any-page", "--avatars",
    ])
    let configuration = options.configuration
    #expect(options.listen.description == "[::1]:0")
    #expect(configuration.url == "http://github:80")
    #expect(configuration.seed == 7)
    #expect(
      configuration.users == [.init("octocat", followers: 1240), .init("bigstar", followers: 300_000, following: 5)])
    #expect(configuration.tokens == ["a": "b=c"])
    #expect(!configuration.acceptsUnknownTokens)
    #expect(configuration.limits.core == 10)
    #expect(configuration.limits.anonymousCore == 2)
    #expect(configuration.limits.concurrent == 3)
    #expect(configuration.latencyMilliseconds == 4)
    #expect(configuration.entityTags == .weak)
    #expect(!configuration.newestFirst)
    #expect(configuration.servesAvatars)
    #expect(configuration.frozenClock == 1_767_225_600)
    #expect(configuration.churn == .seconds(5))
    #expect(options.replayFile == "file.json")
    #expect(options.replayIgnoresPaging)
    #expect(!options.wantsHelp)
  }

  @Test func nothingAtAllIsEnough() throws {
    let options = try Simulator.Options([])
    #expect(options.listen.description == "127.0.0.1:9090")
    #expect(options.configuration.url == nil)
    #expect(options.configuration.seed == 1)
    #expect(options.configuration.limits.core == 5000)
    #expect(options.configuration.newestFirst)
    #expect(options.configuration.churn == nil)
    #expect(try Simulator.Options(["--help"]).wantsHelp)
  }

  @Test(arguments: [
    (["--bogus"], "unknown option: --bogus"), (["octocat"], "unknown option: octocat"),
    (["--seed"], "--seed needs a value"),
    (["--url", "here"], "--url takes an http or https URL without a slash at its end"),
    (["--url", "http://here/"], "--url takes an http or https URL without a slash at its end"),
    (["--seed", "x"], "--seed cannot be x"), (["--listen", "here"], "--listen cannot be here"),
    (["--user", "a"], "--user cannot be a"), (["--user", "a:b"], "--user cannot be a:b"),
    (["--user", "a:1:x"], "--user cannot be a:1:x"), (["--token", "a"], "--token takes TOKEN=OWNER"),
    (["--limit", "-1"], "--limit cannot be -1"), (["--etags", "none"], "--etags cannot be none"),
    (["--clock", "noon"], "--clock cannot be noon"), (["--churn", "0"], "--churn takes 0.001 to 86400 seconds"),
  ])
  func nonsenseIsRefusedInOneLine(arguments: [String], line: String) {
    #expect(throws: Simulator.Options.Invalid(description: line)) { try Simulator.Options(arguments) }
  }

  @Test func helpNamesEveryOption() {
    for option in [
      "--listen", "--seed", "--user", "--token", "--only-known-tokens", "--limit", "--anonymous-limit", "--concurrent",
      "--latency-ms", "--etags", "--avatars", "--oldest-first", "--clock", "--churn", "--replay", "--replay-any-page",
      "--help",
    ] {
      #expect(
        Simulator.Options.help.contains("  \(option) ") || Simulator.Options.help.contains("  \(option)\n"), "\(option)"
      )
    }
  }
}
