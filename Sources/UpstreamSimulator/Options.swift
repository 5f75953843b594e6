import EventLoop
import HTTP

extension Simulator {
  /// The command line of `upstream-simulator`.
  public struct Options: Sendable {
    /// Why the command line is refused: one line for people.
    public struct Invalid: Error, Equatable, CustomStringConvertible {
      /// The line.
      public let description: String
    }

    /// Where to listen.
    public var listen: SocketAddress
    /// How the simulator starts, but for `replay`.
    public var configuration = Configuration()
    /// File with recorded exchanges.
    public var replayFile: String?
    /// Whether `page` and `per_page` may be missing in recordings.
    public var replayIgnoresPaging = false
    /// Whether only the help is wanted.
    public var wantsHelp = false

    /// What `--help` prints.
    public static let help = """
      upstream-simulator: a scriptable GitHub, photo service and GIPHY, all made up

        --listen ADDRESS      where to listen (127.0.0.1:9090; port 0: any)
        --url URL             how clients reach it, for links (http:// and the address)
        --seed N              what everything is made from (1)
        --user LOGIN:N[:M]    somebody with N followers who follows M; may be repeated
        --token TOKEN=OWNER   a good token and whose budget it uses; may be repeated
        --only-known-tokens   other tokens are bad
        --limit N             requests an hour with a token (5000)
        --anonymous-limit N   requests an hour without (60)
        --giphy-key KEY       a good GIPHY key, others are bad; may be repeated
        --giphy-limit N       calls an hour of a GIPHY key (100)
        --concurrent N        requests at the same time (100)
        --latency-ms N        how long every answer takes (0)
        --etags FORM          automatic, weak or strong (automatic)
        --avatars             people's pictures are its own, not GitHub's
        --oldest-first        new followers stand at the end of lists
        --clock TIME          clock standing still, as 2026-01-01T00:00:00Z
        --churn SECONDS       followers of the users change that often, as 5s or 0.5
        --replay FILE         serve recorded exchanges instead
        --replay-any-page     recordings without page and per_page match any
        --help

      Steering: POST JSON to /_sim/…, see docs/simulator.md.

      """

    /// Reads the arguments behind the program's name.
    ///
    /// - Throws: `Invalid` for unknown options and values that make no sense.
    public init(_ arguments: [String]) throws(Invalid) {
      guard let standard = SocketAddress("127.0.0.1:9090") else { throw Invalid(description: "no address") }
      listen = standard
      var rest = arguments[...]
      while let option = rest.popFirst() {
        if try takeSwitch(option) { continue }
        guard Options.withValue.contains(option) else {
          throw Invalid(description: "unknown option: \(option)")
        }
        guard let value = rest.popFirst() else { throw Invalid(description: "\(option) needs a value") }
        try take(option, value)
      }
    }

    private static let withValue: Set<String> = [
      "--listen", "--url", "--seed", "--user", "--token", "--limit", "--anonymous-limit", "--concurrent",
      "--latency-ms", "--giphy-key", "--giphy-limit",
      "--etags", "--clock", "--churn", "--replay",
    ]

    private mutating func takeSwitch(_ option: String) throws(Invalid) -> Bool {
      switch option {
      case "--help", "-h": wantsHelp = true
      case "--only-known-tokens": configuration.acceptsUnknownTokens = false
      case "--avatars": configuration.servesAvatars = true
      case "--oldest-first": configuration.newestFirst = false
      case "--replay-any-page": replayIgnoresPaging = true
      default: return false
      }
      return true
    }

    private mutating func take(_ option: String, _ value: String) throws(Invalid) {
      switch option {
      case "--listen": listen = try Options.require(SocketAddress(value), option, value)
      case "--url":
        guard value.hasPrefix("http://") || value.hasPrefix("https://"), !value.hasSuffix("/") else {
          throw Invalid(description: "--url takes an http or https URL without a slash at its end")
        }
        configuration.url = value
      case "--seed": configuration.seed = try Options.require(UInt64(value), option, value)
      case "--user":
        configuration.users.append(try Options.require(Configuration.User(value), option, value))
      case "--token":
        let parts = value.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw Invalid(description: "--token takes TOKEN=OWNER") }
        configuration.tokens[parts[0]] = parts[1]
      case "--limit": configuration.limits.core = try Options.count(option, value)
      case "--anonymous-limit": configuration.limits.anonymousCore = try Options.count(option, value)
      case "--giphy-key": configuration.giphyKeys = (configuration.giphyKeys ?? []).union([value])
      case "--giphy-limit": configuration.limits.giphy = try Options.count(option, value)
      case "--concurrent": configuration.limits.concurrent = try Options.count(option, value)
      case "--latency-ms": configuration.latencyMilliseconds = try Options.count(option, value)
      case "--etags":
        configuration.entityTags = try Options.require(
          Configuration.EntityTags(rawValue: value), option, value)
      case "--clock":
        configuration.frozenClock =
          try Options.require(Timestamp(value), option, value).microseconds / 1_000_000
      case "--churn":
        let seconds = try Options.require(
          Double(value.hasSuffix("s") ? String(value.dropLast()) : value), option, value)
        guard seconds >= 0.001, seconds <= 86_400 else {
          throw Invalid(description: "--churn takes 0.001 to 86400 seconds")
        }
        configuration.churn = .milliseconds(Int64(seconds * 1000))
      default: replayFile = value
      }
    }

    private static func require<T>(_ value: T?, _ option: String, _ text: String) throws(Invalid) -> T {
      guard let value else { throw Invalid(description: "\(option) cannot be \(text)") }
      return value
    }

    private static func count(_ option: String, _ text: String) throws(Invalid) -> Int {
      let number = Int(text).flatMap { $0 >= 0 && $0 <= 1_000_000_000 ? $0 : nil }
      return try require(number, option, text)
    }
  }
}

extension Simulator.Configuration.User {
  /// Reads `LOGIN:FOLLOWERS` or `LOGIN:FOLLOWERS:FOLLOWING`.
  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), !parts[0].isEmpty, let followers = Int(parts[1]) else { return nil }
    guard let following = parts.count == 3 ? Int(parts[2]) : 0 else { return nil }
    self.init(String(parts[0]), followers: followers, following: following)
  }
}
