extension HTTPClient {
  /// Scheme, host and port of a URL (RFC 6454), normalized by the parser that also makes the connection.
  public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// What a client can speak.
    public enum Scheme: String, Sendable {
      case http
      case https
    }

    /// How the host is spoken to.
    public let scheme: Scheme
    /// In lower case; IPv6 addresses in brackets.
    public let host: String
    /// The scheme's own (80, 443) when the URL names none.
    public let port: Int

    init(scheme: Scheme, host: String, port: Int) {
      self.scheme = scheme
      self.host = host
      self.port = port
    }

    /// Takes the origin of a URL, whose path and query do not matter. `nil` when it is not an absolute `http` or `https`
    /// URL, or names a user.
    public init?(_ url: String) {
      guard let origin = try? ParsedURL(url).origin() else { return nil }
      self = origin
    }

    /// Such as `https://api.github.com:443`.
    public var description: String { "\(scheme.rawValue)://\(host):\(port)" }
  }
}
