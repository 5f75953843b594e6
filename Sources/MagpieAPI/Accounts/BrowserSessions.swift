import HTTP
import HTTPServer
import Magpie

/// Sessions of browsers: the token is in a cookie that scripts cannot read, so every other site can have it sent along, and
/// requests that change something must show that they come from our own pages.
struct BrowserSessions: Sendable {
  /// Seconds after which a browser is signed out in any case; the same as in `magpie.open_session`.
  static let lifetime = 30 * 86_400
  /// What our pages send along. A form of another site cannot, and a script of another site has to ask first.
  static let proof: Fields.Name = "X-Magpie-CSRF"

  /// Set while a request that came with cookies is answered: whoever reads the token finds the rules for them here.
  @TaskLocal static var current: BrowserSessions?

  /// Where our pages are from, as `Origin` has it.
  let origin: String
  /// Off only for plain HTTP on loopback, where there is nobody to listen.
  let isSecure: Bool

  init(publicURL: String) {
    origin = WebOrigin.of(publicURL) ?? ""
    isSecure = !WebOrigin.isPlainLoopback(origin)
  }

  /// `__Host-` has browsers refuse a cookie that another host, or plain HTTP, has set.
  var cookieName: String { isSecure ? "__Host-mgp" : "mgp" }

  /// The hash of the token in the cookie; `nil` when there is none.
  ///
  /// - Throws: 401 for what is no token, or more than one; 403 for a request that may come from another site.
  func tokenHash(of request: Request) throws(APIError) -> [UInt8]? {
    let cookies = request.fields[values: .cookie]
    var found: Set<Substring> = []
    for pair in cookies.flatMap({ $0.split(separator: ";") }) {
      let pair = pair.drop { $0 == " " || $0 == "\t" }
      guard let equals = pair.firstIndex(of: "="), pair[..<equals] == cookieName else { continue }
      found.insert(pair[pair.index(after: equals)...])
    }
    guard let text = found.first else { return nil }
    guard found.count == 1, let secret = Secret(String(text), kind: .token) else { throw APIError.badCredentials }
    try requireOwnPage(request)
    return secret.hash
  }

  /// Refuses a request that changes something unless one of our own pages has sent it. Also for signing in: another site
  /// could sign its visitor in to an account of its own.
  func requireOwnPage(_ request: Request) throws(APIError) {
    if request.method.isSafe { return }
    let comesFromHere =
      if let site = request[.secFetchSite] { site == "same-origin" } else { request[.origin] == origin }
    let type = request[.contentType]?.prefix { $0 != ";" && $0 != " " }.lowercased()
    guard comesFromHere, request[BrowserSessions.proof] == "1", !request.hasBody || type == "application/json" else {
      throw APIError(
        .forbidden, "auth/cross-site",
        "With a cookie, changes need X-Magpie-CSRF: 1, Content-Type: application/json for a body, and our own origin.")
    }
  }

  /// Hands the token to the browser.
  func set(_ token: Secret, in response: inout Response) {
    response.fields.append(
      .setCookie, "\(cookieName)=\(token.text); \(attributes); Max-Age=\(BrowserSessions.lifetime)")
  }

  /// Has the browser forget it, if it was a browser that asked.
  func clear(in response: inout Response, to request: Request) {
    if request[.authorization] != nil { return }
    response.fields.append(.setCookie, "\(cookieName)=; \(attributes); Max-Age=0")
  }

  /// Lax and not Strict: a link in a mail should open signed in, and no GET changes anything.
  private var attributes: String { "Path=/;\(isSecure ? " Secure;" : "") HttpOnly; SameSite=Lax" }
}

/// Origins as browsers write them (RFC 6454, 6.2).
enum WebOrigin {
  /// The origin of a URL; `nil` when it is none of http or https.
  static func of(_ url: String) -> String? {
    guard let mark = url.firstRange(of: "://") else { return nil }
    let scheme = url[..<mark.lowerBound].lowercased()
    guard let port = ["http": ":80", "https": ":443"][scheme] else { return nil }
    var authority = url[mark.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }.lowercased()
    if authority.hasSuffix(port) { authority.removeLast(port.count) }
    return authority.isEmpty ? nil : "\(scheme)://\(authority)"
  }

  /// Whether it is plain HTTP to this machine.
  static func isPlainLoopback(_ origin: String) -> Bool {
    let places = ["http://127.", "http://localhost", "http://[::1]"]
    guard let place = places.first(where: { origin.hasPrefix($0) }) else { return false }
    let rest = origin.dropFirst(place.count)
    return place.hasSuffix(".") || rest.isEmpty || rest.hasPrefix(":")
  }
}
