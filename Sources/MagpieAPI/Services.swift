import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie
import Postgres

/// What the endpoints work with.
public struct Services: Sendable {
  /// Settings that clients can see.
  public struct Settings: Sendable {
    /// Base of absolute links, without a closing slash.
    public var publicURL: String
    /// API addresses that stand in stored documents, to be turned into this server's.
    public var githubBases: [String]
    /// Whether anybody may create an account.
    public var allowsSignUp = false
    /// Where the public listener is; `nil` in tests that have none.
    public var listenAddress: SocketAddress?
    /// Addresses of proxies whose `X-Forwarded-For` is believed.
    public var trustedProxies: [SocketAddress] = []
    /// Whether `/_echo` is there.
    public var echoes = false
    /// The server's version.
    public var version: String

    /// Everything that has no sensible default.
    public init(publicURL: String, githubBases: [String], version: String) {
      self.publicURL = publicURL
      self.githubBases = githubBases
      self.version = version
    }

    /// Whether pages come from another origin than this server's own, and need leave to use it.
    var sharesAcrossOrigins: Bool {
      listenAddress.map { WebOrigin.of("http://\($0)") != WebOrigin.of(publicURL) } ?? false
    }

    /// Turns the upstream's API addresses to this server's.
    var githubURLs: URLRewriter { URLRewriter(bases: githubBases, replacement: publicURL + "/github") }

    /// How the mirror is to keep the items of lists for the endpoints.
    public var listItemForm: Mirror.ItemForm {
      let addresses = githubURLs
      return { MagpieMember.opened($0, addresses) }
    }
  }

  let settings: Settings
  let accounts: Accounts
  let favorites: Favorites
  /// Of favorites, in the same database.
  var collections: Collections { favorites.collections }
  let mirror: Mirror
  let images: Images
  let refreshes: Refreshes
  let sync: Sync
  let hub: StreamHub
  let cursors: CursorCodec
  let githubURLs: URLRewriter
  let listTags: ListTags
  let browsers: BrowserSessions
  let idempotency: Idempotency
  private let trustedProxies: [[UInt8]]

  /// - Parameter cursorKey: signs cursors; the same for all processes.
  public init(
    settings: Settings, accounts: Accounts, favorites: Favorites, mirror: Mirror, images: Images,
    refreshes: Refreshes, sync: Sync, hub: StreamHub, cursorKey: [UInt8]
  ) {
    self.settings = settings
    self.accounts = accounts
    self.favorites = favorites
    self.mirror = mirror
    self.images = images
    self.refreshes = refreshes
    self.sync = sync
    self.hub = hub
    cursors = CursorCodec(key: cursorKey)
    githubURLs = settings.githubURLs
    listTags = ListTags(form: settings.listItemForm)
    idempotency = accounts.idempotency
    browsers = BrowserSessions(publicURL: settings.publicURL)
    trustedProxies = settings.trustedProxies.map(\.bytes)
  }

  /// Where a request comes from.
  func source(of request: Request) -> Accounts.Source {
    RequestSource.of(request, trusting: trustedProxies)
  }
}
