import HTTP
import HTTPServer
import Magpie

/// Who a request says it comes from. Whether that is true, the database finds out together with the read itself.
enum Authorization {
  /// The hash of the token in `Authorization`, or else in a browser's cookie.
  ///
  /// Tokens of the wrong shape are refused here, without asking the database.
  ///
  /// - Parameter allowsTokenScheme: GitHub's older clients say `token` for `Bearer`.
  static func tokenHash(of request: Request, allowsTokenScheme: Bool = false) throws(APIError) -> [UInt8] {
    let found = request.withValue(of: .authorization) { value in
      value.map { hash(inCredentials: $0, allowsTokenScheme) }
    }
    guard let found else {
      guard let hash = try BrowserSessions.current?.tokenHash(of: request) else { throw APIError.unauthenticated }
      return noted(hash, request)
    }
    guard let hash = found else { throw APIError.badCredentials }
    return noted(hash, request)
  }

  /// The same; for `/giphy`, where it may also stand in the query as `api_key`, as GIPHY's clients have it.
  static func giphyTokenHash(of request: Request) throws(APIError) -> [UInt8] {
    guard request[.authorization] == nil, let key = request.target.query["api_key"], !key.isEmpty else {
      return try tokenHash(of: request, allowsTokenScheme: true)
    }
    guard let secret = Secret(key, kind: .token) else { throw APIError.badCredentials }
    return noted(secret.hash, request)
  }

  /// What the handler of a request has found by one of the two; `nil` when it has found or looked for none.
  static func token(of request: Request) -> [UInt8]? {
    if request.label == 0 { return nil }
    if request.target.path.hasPrefix("/giphy/") { return try? giphyTokenHash(of: request) }
    return try? tokenHash(of: request, allowsTokenScheme: true)
  }

  private static func noted(_ hash: [UInt8], _ request: Request) -> [UInt8] {
    if request.label == 0 { request.label = Askers.somebody }
    return hash
  }

  /// `nil` when the scheme is another, or what comes after it is no token.
  private static func hash(inCredentials value: UnsafeRawBufferPointer, _ allowsTokenScheme: Bool) -> [UInt8]? {
    guard let space = value.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    func isScheme(_ name: StaticString) -> Bool {
      value[..<space].elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)) {
        $0 | 0x20 == $1
      }
    }
    guard isScheme("bearer") || (allowsTokenScheme && isScheme("token")) else { return nil }
    let token = value[space...].drop { $0 == UInt8(ascii: " ") }
    return Secret.hash(of: UnsafeRawBufferPointer(rebasing: token), kind: .token)
  }
}
