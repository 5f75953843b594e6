import EventLoop
import HTTP
import HTTPServer
import Magpie

/// `GET /github/avatars/{id}?s=40|80|160|460`: somebody's picture from the store; initials when there is none.
struct AvatarEndpoint: Sendable {
  let services: Services
  /// How long a client may show a picture without asking, and with asking behind.
  static let cacheControl = "private, max-age=300, stale-while-revalidate=86400"
  /// The same for initials: there may be a picture soon.
  static let initialsCacheControl = "private, max-age=60"

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let sizes = AvatarRequest.Size.allCases.map { String($0.rawValue) }
    let size = try Parameters(request.target).choice("s", of: sizes).flatMap { Int($0) }
      .flatMap(AvatarRequest.Size.init(rawValue:))
    guard case .id(let id) = try GitHubPath.person(of: request) else { throw GitHubProblem.userNotFound }
    let wanted = AvatarRequest(id: id, size: size ?? .medium)
    guard var (avatar, account) = try await services.images.avatar(wanted, token: token) else {
      throw APIError.badCredentials
    }
    if avatar.isAbsent { throw GitHubProblem.userNotFound }
    var fields: Fields = ["Cache-Status": avatar.isStale ? "magpie; fwd=stale" : "magpie; hit"]
    let wish = Wish(request)
    var job: Int64?
    if avatar.isStale || wish.refreshes, !wish.onlyStored {
      let wait = avatar.image == nil ? wish.waitForFirst : wish.waitForFresher
      let ticket = try await order(wanted, avatar, wish, waits: wait > .zero, account)
      if let ticket { fields.append("Magpie-Job", "/v1/jobs/\(ticket.id)") }
      job = ticket?.id
      let isUnknown = avatar.image == nil && avatar.login == nil
      if isUnknown, wish.respondsAsync, let ticket { throw Accepted(job: ticket.id) }
      if wait > .zero || isUnknown || ticket == nil, try await comes(ticket, wait, isUnknown: isUnknown) {
        guard let again = try await services.images.avatar(wanted, token: token) else { throw APIError.badCredentials }
        (avatar, account) = again
        fields = ["Cache-Status": "magpie; fwd=miss"]
      }
    }
    fields.append(.vary, "Authorization")
    if let image = avatar.image {
      fields.append("Content-Location", "/images/\(image.name)")
      return PictureAnswer.stored(image, for: request, cacheControl: AvatarEndpoint.cacheControl, fields)
    }
    guard let login = avatar.login else {
      if avatar.isAbsent { throw GitHubProblem.userNotFound }
      throw wish.onlyStored ? GitHubProblem.notStored : GitHubProblem.notReady(job)
    }
    return PictureAnswer.drawn(
      Initials.draw(login: login, id: id, size: wanted.size), for: request,
      cacheControl: AvatarEndpoint.initialsCacheControl, fields)
  }

  /// `nil`: it has come since it was looked for.
  private func order(
    _ wanted: AvatarRequest, _ avatar: StoredAvatar, _ wish: Wish, waits: Bool, _ account: Int64
  ) async throws -> Job.Ticket? {
    if avatar.image == nil, waits, !wish.refreshes {
      return try await services.refreshes.requestMissing(wanted, account: account)
    }
    return try await services.refreshes.request(
      wanted, priority: waits ? .interactive : .soon, startsOver: wish.refreshes, account: account)
  }

  /// Whether the job ends while the client waits. If nobody knows whose picture it is, there is nothing to show meanwhile, and
  /// the upstream must be asked for the person first: what speaks against that is thrown.
  private func comes(_ ticket: Job.Ticket?, _ wait: Duration, isUnknown: Bool) async throws -> Bool {
    let end = System.monotonicNanoseconds() &+ wait.wholeNanoseconds
    let waiting = JobWait(services: services, resource: isUnknown ? "core" : nil)
    switch try await waiting.end(of: ticket, by: end) {
    case .done: return true
    case .closed(let outlook) where isUnknown: throw GitHubProblem.closed(outlook, ticket?.id)
    case .obstacle(let code, let wait) where isUnknown: throw GitHubProblem.obstacle(code, wait: wait, ticket?.id)
    case .closed, .obstacle, .timedOut: return false
    }
  }
}

/// `GET /images/{sha256}`: a stored picture by its content, for everybody and for ever.
struct ImageEndpoint: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    guard let image = try await services.images.image(named: request.parameters["sha256"] ?? "") else {
      throw APIError(.notFound, "images/not-found", "There is no such picture.")
    }
    return PictureAnswer.stored(image, for: request, cacheControl: "public, max-age=31536000, immutable")
  }
}
