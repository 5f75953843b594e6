import HTTP
import HTTPServer
import Magpie

/// The route table, and around it what belongs to no route: cookies of browsers, and what pages of another origin may do.
public struct API: Sendable {
  private let table: RouteTable
  private let browsers: BrowserSessions
  private let sharing: CrossOrigin?
  private let askers: Askers
  private let hub: StreamHub?

  /// What answers on the public listener.
  ///
  /// - Parameters:
  ///   - accounts: know whose request it was, for the log.
  ///   - hub: told of writes, for open streams.
  public init(_ table: RouteTable, settings: Services.Settings, accounts: Accounts, hub: StreamHub? = nil) {
    self.table = table
    self.hub = hub
    askers = Askers(accounts: accounts)
    browsers = BrowserSessions(publicURL: settings.publicURL)
    sharing = settings.sharesAcrossOrigins ? CrossOrigin(origin: browsers.origin) : nil
  }

  /// Answers a request for which nobody is waited for.
  @Sendable
  public func answerAtOnce(_ request: Request) -> Response? {
    guard var response = table.answerAtOnce(request) else { return nil }
    sharing?.amend(&response, to: request)
    return response
  }

  /// Answers a request.
  @Sendable
  public func respond(to request: Request) async -> Response {
    guard let sharing else { return await answer(request) }
    var response = await answer(request)
    sharing.amend(&response, to: request)
    return response
  }

  private func answer(_ request: Request) async -> Response {
    guard request.withValue(of: .cookie, { $0 != nil }) else { return await followed(request) }
    return await BrowserSessions.$current.withValue(browsers) { await followed(request) }
  }

  /// After a handler that has looked for a token: the account is noted for the log, and what may have changed it is told to its
  /// other devices, after the commit and outside of it.
  private func followed(_ request: Request) async -> Response {
    let response = await table.respond(to: request)
    guard let token = Authorization.token(of: request) else { return response }
    if request.label == Askers.somebody {
      let isAnswered = response.status != .unauthorized && response.status.code < 500
      await askers.label(request, token: token, isAnswered: isAnswered)
    }
    let hasWritten = !request.method.isSafe && (200..<300).contains(response.status.code)
    if hasWritten, request.target.path.hasPrefix("/v1/") { hub?.wrote(token) }
    return response
  }
}

/// Cross-origin resource sharing (Fetch, 3.2) for one origin: that of `MAGPIE_PUBLIC_URL`, where it is not this server's own.
/// Only with a token in `Authorization`; cookies are not for other origins.
struct CrossOrigin: Sendable {
  let origin: String

  /// An answer to an origin that is not ours is left without these fields, and is no error: browsers then keep it to themselves.
  func amend(_ response: inout Response, to request: Request) {
    let vary = response.fields[joined: .vary]
    response.fields.set(.vary, vary.map { "\($0), Origin" } ?? "Origin")
    guard request[.origin] == origin else { return }
    response.fields.set(.accessControlAllowOrigin, origin)
    response.fields.set(
      .accessControlExposeHeaders,
      "ETag, Link, Location, Retry-After, Cache-Status, Age, X-Request-Id, Idempotency-Replayed, Magpie-Coverage, Magpie-Job, "
        + "Magpie-Fetched-At, Magpie-Validated-At, Magpie-Matches")
    guard request.method == .options, request[.accessControlRequestMethod] != nil, response.status == .noContent else {
      return
    }
    response.fields.set(.accessControlAllowMethods, response.fields[joined: .allow] ?? "")
    response.fields.set(
      .accessControlAllowHeaders,
      "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Prefer, Cache-Control, Last-Event-ID, "
        + "X-Request-Id")
    response.fields.set(.accessControlMaxAge, "600")
  }
}
