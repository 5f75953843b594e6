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
    guard let value = request[.authorization] else {
      guard let hash = try BrowserSessions.current?.tokenHash(of: request) else { throw APIError.unauthenticated }
      return hash
    }
    guard let space = value.utf8.firstIndex(of: UInt8(ascii: " ")) else { throw APIError.badCredentials }
    let scheme = value[..<space].lowercased()
    guard scheme == "bearer" || (allowsTokenScheme && scheme == "token") else { throw APIError.badCredentials }
    let token = value[value.index(after: space)...].drop { $0 == " " }
    guard let secret = Secret(String(token), kind: .token) else { throw APIError.badCredentials }
    return secret.hash
  }
}
