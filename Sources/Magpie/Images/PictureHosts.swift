import HTTPClient

/// The only hosts from which pictures are fetched.
public struct PictureHosts: Sendable {
  /// Asked over HTTPS, at public addresses only.
  public let origins: Set<HTTPClient.Origin>
  /// Named with `http://` in front, for tests: asked over plain HTTP, and wherever they are.
  public let trusted: Set<HTTPClient.Origin>

  /// - Parameter entries: host names, each perhaps with a port, or with `http://` in front. `nil` for anything else.
  public init?(_ entries: [String]) {
    var origins: Set<HTTPClient.Origin> = []
    var trusted: Set<HTTPClient.Origin> = []
    for entry in entries {
      let isPlain = entry.hasPrefix("http://")
      let host = isPlain ? entry.dropFirst(7) : entry[...]
      guard !host.isEmpty, !host.contains("/"), !host.contains("?"), !host.contains("#"),
        let origin = HTTPClient.Origin("\(isPlain ? "http" : "https")://\(host)")
      else { return nil }
      if isPlain { trusted.insert(origin) } else { origins.insert(origin) }
    }
    self.origins = origins
    self.trusted = trusted
  }

  /// Whether a picture may be fetched from there. The parser is the one that also connects.
  func allows(_ url: String) -> Bool {
    guard let origin = HTTPClient.Origin(url) else { return false }
    return origins.contains(origin) || trusted.contains(origin)
  }
}
