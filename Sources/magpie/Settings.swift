import EventLoop
import Glibc
import HTTPClient
import Magpie
import Upstream

/// What the environment says, checked. README.md has the words for each, under "Settings".
struct Settings {
  var listen: SocketAddress
  var adminListen: SocketAddress
  /// As it was set; see `publicURL(at:)`.
  private var setPublicURL: String?
  /// `nil`: a private cluster in `data`.
  var databaseURL: String?
  var migrateURL: String?
  var migrates: Bool
  var data: String
  var github: UpstreamService
  var githubOrigin: HTTPClient.Origin
  var githubTokens: [String]
  var photos: UpstreamService
  var giphy: UpstreamService
  /// `nil`: the relay is off.
  var giphyKey: Upstream.Credential?
  /// Calls an hour that the key allows.
  var giphyLimit: Int
  /// Of both.
  var mediaOrigins: Set<HTTPClient.Origin>
  var avatarHosts: PictureHosts
  var allowsSignUp: Bool
  var trustedProxies: [SocketAddress]
  var loops: Int
  var workers: Int
  var leaseSeconds: Double
  var timeToLive: TimeToLive
  var log: Log.Format
  var logLevel: Log.Level
  var echoes: Bool

  init() throws(UsageError) { try self.init(Environment()) }

  init(_ environment: Environment) throws(UsageError) {
    listen = try Settings.address("MAGPIE_LISTEN", environment, default: "127.0.0.1:8080")
    adminListen = try Settings.address("MAGPIE_ADMIN_LISTEN", environment, default: "127.0.0.1:8081")
    setPublicURL = try Settings.publicURL(environment)
    databaseURL = environment["DATABASE_URL"]
    migrateURL = environment["MAGPIE_MIGRATE_URL"]
    migrates = try environment.choice("MAGPIE_MIGRATE", default: "on", of: ["on", "off"]) == "on"
    data = environment["MAGPIE_DATA"] ?? ".magpie"
    let base = environment["MAGPIE_GITHUB_URL"] ?? "https://api.github.com"
    guard let origin = HTTPClient.Origin(base),
      let service = UpstreamService(
        base: base, userAgent: "Magpie/\(Version.current) (\(setPublicURL ?? "self-hosted"))")
    else { throw UsageError("MAGPIE_GITHUB_URL must be an http or https URL without a query") }
    github = service
    githubOrigin = origin
    githubTokens = environment.list("MAGPIE_GITHUB_TOKENS")
    _ = try Settings.credentials(githubTokens)
    let (photos, photoOrigin) = try Settings.service(
      "MAGPIE_PHOTOS_URL", environment, default: "https://jsonplaceholder.typicode.com", agent: service.userAgent)
    let (giphy, giphyOrigin) = try Settings.service(
      "MAGPIE_GIPHY_URL", environment, default: "https://api.giphy.com", agent: service.userAgent)
    self.photos = photos
    self.giphy = giphy
    mediaOrigins = [photoOrigin, giphyOrigin]
    giphyKey = try environment["MAGPIE_GIPHY_KEY"].map { text throws(UsageError) in
      guard let key = Upstream.Credential(token: text) else {
        throw UsageError("MAGPIE_GIPHY_KEY has something that cannot be a key")
      }
      return key
    }
    giphyLimit = try environment.number("MAGPIE_GIPHY_LIMIT", default: 100, in: 1...1_000_000)
    let hosts =
      environment["MAGPIE_AVATAR_HOSTS"] == nil
      ? ["avatars.githubusercontent.com"] : environment.list("MAGPIE_AVATAR_HOSTS")
    guard let pictureHosts = PictureHosts(hosts) else {
      throw UsageError("MAGPIE_AVATAR_HOSTS must be hosts, each perhaps with a port, or with http:// in front")
    }
    avatarHosts = pictureHosts
    allowsSignUp = try environment.choice("MAGPIE_SIGNUP", default: "closed", of: ["open", "closed"]) == "open"
    trustedProxies = try environment.list("MAGPIE_TRUSTED_PROXIES").map { text throws(UsageError) in
      guard let address = SocketAddress(host: text, port: 0) else {
        throw UsageError("MAGPIE_TRUSTED_PROXIES must be numeric addresses")
      }
      return address
    }
    loops = try environment.number("MAGPIE_LOOPS", default: Settings.cores, in: 1...256)
    workers = try environment.number("MAGPIE_WORKERS", default: 4, in: 1...256)
    leaseSeconds = try environment.seconds("MAGPIE_LEASE_SECONDS", default: 30, in: 0.5...3600)
    var life = TimeToLive()
    for (name, path) in [
      ("PROFILE", \TimeToLive.profile), ("LIST", \.list), ("REPO", \.repository), ("COMMITS", \.commits),
      ("SEARCH", \.search),
      ("NEGATIVE", \.negative), ("PHOTOS", \.photos), ("GIFS", \.gifs),
    ] {
      life[keyPath: path] = try environment.seconds(
        "MAGPIE_TTL_\(name)", default: life[keyPath: path], in: 0...31_536_000)
    }
    timeToLive = life
    let format = try environment.choice(
      "MAGPIE_LOG", default: isatty(STDERR_FILENO) == 1 ? "text" : "json", of: ["text", "json"])
    log = format == "text" ? .text : .json
    let level = try environment.choice(
      "MAGPIE_LOG_LEVEL", default: "info", of: Log.Level.allCases.map { "\($0)" })
    logLevel = Log.Level.allCases.first { "\($0)" == level } ?? .info
    echoes = try environment.choice("MAGPIE_ECHO", default: "off", of: ["on", "off"]) == "on"
  }

  /// Base of absolute links, without a closing slash.
  ///
  /// - Parameter address: where the API really listens, for the case that nothing else was set.
  func publicURL(at address: SocketAddress) -> String { setPublicURL ?? "http://\(address)" }

  private static func publicURL(_ environment: Environment) throws(UsageError) -> String? {
    guard var url = environment["MAGPIE_PUBLIC_URL"] else { return nil }
    while url.hasSuffix("/") { url.removeLast() }
    guard HTTPClient.Origin(url) != nil else { throw UsageError("MAGPIE_PUBLIC_URL must be an http or https URL") }
    return url
  }

  /// Tokens as they are, and those in files named `@path`, one a line: such a file is read again at SIGHUP.
  static func credentials(_ entries: [String]) throws(UsageError) -> [Upstream.Credential] {
    var credentials: [Upstream.Credential] = []
    for entry in entries {
      let tokens: [String]
      if entry.hasPrefix("@") {
        guard let text = TextFile.read(String(entry.dropFirst())) else {
          throw UsageError("MAGPIE_GITHUB_TOKENS names a file that cannot be read")
        }
        tokens = text.split(whereSeparator: { $0.isNewline || $0 == " " }).map(String.init)
      } else {
        tokens = [entry]
      }
      for token in tokens {
        guard let credential = Upstream.Credential(token: token) else {
          throw UsageError("MAGPIE_GITHUB_TOKENS has an entry that cannot be a token")
        }
        credentials.append(credential)
      }
    }
    return credentials
  }

  private static func service(
    _ name: String, _ environment: Environment, default fallback: String, agent: String
  ) throws(UsageError) -> (UpstreamService, HTTPClient.Origin) {
    let base = environment[name] ?? fallback
    guard let origin = HTTPClient.Origin(base), let service = UpstreamService(base: base, userAgent: agent) else {
      throw UsageError("\(name) must be an http or https URL without a query")
    }
    return (service, origin)
  }

  private static func address(
    _ name: String, _ environment: Environment, default fallback: String
  ) throws(UsageError) -> SocketAddress {
    guard let address = SocketAddress(environment[name] ?? fallback) else {
      throw UsageError("\(name) must be an address with a port, such as 127.0.0.1:8080 or [::]:8080")
    }
    return address
  }

  private static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}

/// Small text files.
enum TextFile {
  static let maxBytes = 1 << 20

  static func read(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: maxBytes)
    let count = fread(&bytes, 1, bytes.count, file)
    return ferror(file) == 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }
}
