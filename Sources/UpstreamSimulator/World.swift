import HTTP

/// Everything that changes while the simulator runs, but for the gates. Kept under one lock; nothing here waits.
struct World: Sendable {
  let base: String
  let renderer: UserRenderer
  let repositoryRenderer: RepositoryRenderer
  let entityTags: Simulator.Configuration.EntityTags
  var limits: Simulator.Configuration.Limits
  var latencyMilliseconds: Int
  var replay: Replay?

  var network: Network
  var repositories: Repositories
  var budgets: Budgets
  var tokens: Tokens
  var clock: SimulatedClock
  var faults = Faults()
  var traffic: Traffic
  var pages: PageCache
  var searches = SearchIndex()
  var library: PhotoLibrary
  var gifLibrary: GifLibrary
  /// Changes made by `churnOnce` so far.
  var churns: UInt64 = 0
  /// Refusals for limits so far.
  var refusals = (primary: 0, secondary: 0)
  private var inFlight: [Credential: Int] = [:]

  init(_ configuration: Simulator.Configuration, base: String) throws(Network.Refusal) {
    self.base = base
    renderer = UserRenderer(base: base, avatars: configuration.servesAvatars ? "\(base)/avatars" : nil)
    entityTags = configuration.entityTags
    limits = configuration.limits
    latencyMilliseconds = configuration.latencyMilliseconds
    replay = configuration.replay
    network = try Network(configuration)
    let seed = Seed(value: configuration.seed)
    repositories = Repositories(seed: seed)
    repositoryRenderer = RepositoryRenderer(base: base, users: renderer, seed: seed)
    for user in configuration.users {
      if let id = network.id(ofLogin: user.login) { repositories.seed(min(4_000, user.repositories), owner: id) }
    }
    library = PhotoLibrary(seed: seed)
    gifLibrary = GifLibrary(seed: seed)
    gifLibrary.limit = configuration.limits.giphy
    gifLibrary.keys = configuration.giphyKeys
    budgets = Budgets(configuration.limits)
    tokens = Tokens(owners: configuration.tokens, acceptsUnknown: configuration.acceptsUnknownTokens)
    clock = SimulatedClock(frozenAt: configuration.frozenClock)
    traffic = Traffic(capacity: configuration.logCapacity)
    pages = PageCache(maxBytes: configuration.pageCacheBytes)
  }

  // MARK: A request's way

  /// What is settled when a request comes in.
  struct Entry: Sendable {
    /// `nil`: bad credentials.
    let credential: Credential?
    /// More requests of the credential are under way than may be.
    let isCrowded: Bool
  }

  mutating func enter(_ ask: Ask) -> Entry {
    let credential = tokens.credential(ask.fields[.authorization])
    guard let credential else { return Entry(credential: nil, isCrowded: false) }
    inFlight[credential, default: 0] += 1
    return Entry(credential: credential, isCrowded: inFlight[credential, default: 0] > limits.concurrent)
  }

  /// The fault that happens to this request, and how long its answer takes.
  mutating func interfere(_ ask: Ask) -> (fault: Fault.Effect?, milliseconds: Int) {
    let fault = faults.take { $0.matches(ask.target) }
    if case .slow(let milliseconds) = fault { return (nil, latencyMilliseconds + milliseconds) }
    return (fault, latencyMilliseconds)
  }

  /// Answers, counts and logs.
  mutating func answer(_ ask: Ask, _ entry: Entry, fault: Fault.Effect?) -> Reply {
    let media = replay == nil ? MediaRoute(ask.target) : nil
    let route = Route(ask.target)
    let reply =
      if let media { self.media(ask, media, fault) } else {
        replay == nil ? reply(ask, route, entry, fault) : replayed(ask, fault)
      }
    if let credential = entry.credential {
      let left = inFlight[credential, default: 1] - 1
      inFlight[credential] = left > 0 ? left : nil
    }
    traffic.record(
      ask, route: media?.name ?? route.name, status: reply.loggedStatus, credential: entry.credential, now: clock.now)
    return reply
  }

  private mutating func replayed(_ ask: Ask, _ fault: Fault.Effect?) -> Reply {
    if let fault, let broken = edgeFailure(fault) { return broken }
    var reply = replay?.answer(ask.target, base: base) ?? .message(.notFound, "Not Found")
    if let fault { distort(&reply, fault) }
    return reply
  }

  private mutating func media(_ ask: Ask, _ route: MediaRoute, _ fault: Fault.Effect?) -> Reply {
    if let fault, let broken = edgeFailure(fault) { return broken }
    guard ask.method == .get || ask.method == .head else { return .message(.notFound, "Not Found") }
    switch route {
    case .gifs, .unknownGifs: return gifs(ask, route, fault)
    default: return photos(ask, route, fault)
    }
  }

  /// The order is GitHub's as far as it is known: who are you, do you go too fast, is there such a thing, is it new.
  private mutating func reply(_ ask: Ask, _ route: Route, _ entry: Entry, _ fault: Fault.Effect?) -> Reply {
    if let fault, let broken = edgeFailure(fault) { return broken }
    if ask.fields[.userAgent]?.isEmpty ?? true { return .missingUserAgent }
    guard ask.method == .get || ask.method == .head else { return .message(.notFound, "Not Found") }
    if case .avatar(let id) = route { return avatar(id, ask, fault) }
    if let version = ask.fields["X-GitHub-Api-Version"], !Reply.versions.contains(version) {
      return .unsupportedVersion(version)
    }
    guard let credential = entry.credential else { return .message(.unauthorized, "Bad credentials") }
    if case .unknown = route { return .message(.notFound, "Not Found") }
    let now = clock.now
    if entry.isCrowded || fault == .secondaryLimit { return secondaryRefusal(credential, route.resource, now) }
    if route == .rateLimit { return rateLimit(credential, now) }
    let resource = route.resource
    if fault == .primaryLimit { budgets.set(credential, resource, remaining: 0, reset: nil, now: now) }
    guard budgets.charge(credential, resource, now: now) else { return primaryRefusal(credential, resource, now) }

    var reply = found(ask, route, credential, fault)
    if reply.status == .ok, !route.isSearch { validate(&reply, ask, credential, now) }
    if reply.status == .notModified, credential.isAuthorized { budgets.refund(credential, resource, now: now) }
    budgets.tell(credential, resource, now: now, in: &reply.fields)
    if let fault { distort(&reply, fault) }
    return reply
  }

  /// Turns the answer into a 304 when the client has it already.
  private func validate(_ reply: inout Reply, _ ask: Ask, _ credential: Credential, _ now: Int64) {
    let takesGzip = ask.fields[joined: .acceptEncoding]?.lowercased().contains("gzip") ?? false
    let isWeak = entityTags == .weak || (entityTags == .automatic && takesGzip)
    let tag = EntityTag(
      opaque: (reply.fields[.etag] ?? "") + String(Seed.number(of: credential.label), radix: 16), isWeak: isWeak)
    reply.fields.set(.etag, tag?.description ?? "")
    reply.fields.append(
      .cacheControl, "\(credential.isAuthorized ? "private" : "public"), max-age=60, s-maxage=60")
    reply.fields.append(
      .vary, credential.isAuthorized ? "Accept, Authorization, Cookie, X-GitHub-OTP" : "Accept")
    reply.fields.append(.vary, "Accept-Encoding, Accept, X-Requested-With")
    reply.fields.append("X-GitHub-Api-Version-Selected", ask.fields["X-GitHub-Api-Version"] ?? "2022-11-28")
    let outcome = Conditional.evaluate(
      ask.fields, etag: tag, lastModified: reply.fields[.lastModified].flatMap(HTTPDate.parse), method: ask.method)
    guard outcome == .notModified else { return }
    reply.status = .notModified
    reply.body = []
    reply.links = []
    reply.fields.remove(.contentType)
  }
}
