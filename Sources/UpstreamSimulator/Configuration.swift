extension Simulator {
  /// How a simulator starts. All of it but the seed can be steered later.
  public struct Configuration: Sendable {
    /// Somebody with a name and lists of a known length.
    public struct User: Sendable, Equatable {
      /// 1 to 60 letters, digits, `-` or `_`, perhaps with `[bot]` behind.
      public var login: String
      /// Length of the seeded list of followers, at most 4,194,304 together with `following`.
      public var followers: Int
      /// Length of the seeded list of people followed.
      public var following: Int
      /// `nil`: one made from the login.
      public var id: Int64?
      /// Seeded repositories, at most 4,000.
      public var repositories = 0
      /// Seeded gists.
      public var gists = 0
      /// Seeded memberships in organizations.
      public var organizations = 0

      /// Somebody with that many followers.
      public init(_ login: String, followers: Int, following: Int = 0, id: Int64? = nil) {
        self.login = login
        self.followers = followers
        self.following = following
        self.id = id
      }
    }

    /// Requests a window, and what happens beyond.
    public struct Limits: Sendable {
      /// An hour, with a token.
      public var core = 5000
      /// An hour, without.
      public var anonymousCore = 60
      /// A minute, with a token.
      public var search = 30
      /// A minute, without.
      public var anonymousSearch = 10
      /// An hour, for a GIPHY key.
      public var giphy = 100
      /// Requests of one credential at the same time; one more is a secondary refusal.
      public var concurrent = 100
      /// Status of primary refusals, 403 or 429.
      public var primaryStatus = 403
      /// Status of secondary refusals, 403 or 429.
      public var secondaryStatus = 403
      /// `retry-after` of secondary refusals in seconds; `nil` leaves it out, as GitHub does at times.
      public var retryAfter: Int? = 60
      /// Whether answers say what is left, and `/rate_limit` exists: a GitHub Enterprise server without limits has neither.
      public var tellsBudgets = true

      /// GitHub's numbers.
      public init() {}
    }

    /// Which form entity tags have.
    public enum EntityTags: String, Sendable {
      /// Weak when the request takes gzip, else strong: as GitHub's are.
      case automatic
      /// Always `W/"…"`.
      case weak
      /// Always `"…"`.
      case strong
    }

    /// Everything made up is made from it.
    public var seed: UInt64 = 1
    /// Named users. Four million others exist anyway.
    public var users: [User] = []
    /// Tokens and their owners; tokens of one owner share the owner's budgets.
    public var tokens: [String: String] = [:]
    /// Whether a token that is not in `tokens` is good, too, with budgets of its own.
    public var acceptsUnknownTokens = true
    /// GIPHY keys that are good; `nil`: all of them.
    public var giphyKeys: Set<String>?
    /// Budgets.
    public var limits = Limits()
    /// Form of entity tags.
    public var entityTags = EntityTags.automatic
    /// Whether new followers stand at the front of a list.
    public var newestFirst = true
    /// Milliseconds every answer takes.
    public var latencyMilliseconds = 0
    /// Seconds since 1970 at which the clock stands still; `nil` lets it run with the machine's.
    public var frozenClock: Int64?
    /// Requests the log holds.
    public var logCapacity = 10_000
    /// Bytes of finished pages kept.
    public var pageCacheBytes = 32 * 1024 * 1024
    /// Whether people's pictures are the simulator's own, below `/avatars`, and not GitHub's.
    public var servesAvatars = false
    /// Recorded exchanges to serve instead of made-up people; see `Replay`.
    public var replay: Replay?
    /// How clients reach the simulator, without a slash at the end, for the links in answers; `nil`: by the address it listens
    /// at.
    public var url: String?
    /// How often the lists of the named users change by themselves; `nil`: never.
    public var churn: Duration?

    /// A simulator with nobody named.
    public init() {}
  }
}
