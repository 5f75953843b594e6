/// Where an upstream is, and as whom we ask it.
public struct UpstreamService: Sendable {
  /// The base of its URLs without a closing slash, such as `https://api.github.com`.
  public let base: String
  /// The `User-Agent` to send: program, version and a contact.
  public let userAgent: String
  private let origin: Origin

  /// A service below a base URL. `nil` unless the base is `http` or `https` with a plain host and no query, and the
  /// agent is 1 to 256 printable ASCII characters.
  public init?(base: String, userAgent: String) {
    var base = base[...]
    while base.hasSuffix("/") { base.removeLast() }
    guard let origin = Origin(of: String(base)), !base.contains("?"), (1...256).contains(userAgent.utf8.count),
      userAgent.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
    else { return nil }
    self.base = String(base)
    self.userAgent = userAgent
    self.origin = origin
  }

  /// Whether a URL leads to the same scheme, host and port as the base. Anything that two readers could take for
  /// different hosts is not ours.
  public func owns(_ url: String) -> Bool { Origin(of: url) == origin }

  /// An absolute URL from what a `Location` or `Link` says; paths without a host are relative to the origin.
  /// `nil` for what is neither.
  func resolve(_ reference: String) -> String? {
    if reference.hasPrefix("/"), !reference.hasPrefix("//") {
      let url = origin.description + reference
      return Origin(of: url) == nil ? nil : url
    }
    return Origin(of: reference) == nil ? nil : reference
  }
}

/// Scheme, host and port of an absolute URL.
///
/// Deliberately narrow: user names, fragments, backslashes, blanks and everything outside ASCII are refused, since URL
/// readers disagree about them and this one guards where credentials go.
struct Origin: Equatable, CustomStringConvertible {
  /// The longest URL that is considered, in bytes.
  static let maxBytes = 4096

  let scheme: String
  let host: String
  let port: Int

  init?(of url: String) {
    guard url.utf8.count <= Self.maxBytes,
      url.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !#"\"<>^`|#"#.utf8.contains($0) }),
      let separator = url.firstRange(of: "://")
    else { return nil }
    scheme = url[..<separator.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" else { return nil }
    let authority = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" }
    let isBracketed = authority.hasPrefix("[")
    let hostEnd =
      isBracketed
      ? authority.firstIndex(of: "]").map { authority.index(after: $0) }
      : authority.firstIndex(of: ":") ?? authority.endIndex
    guard let hostEnd else { return nil }
    host = authority[..<hostEnd].lowercased()
    let isName = { (byte: UInt8) in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x2D, 0x2E: true
      default: false
      }
    }
    let isAddress = { (byte: UInt8) in byte == UInt8(ascii: ":") || (byte | 0x20 != 0x6D && isName(byte)) }
    let content = isBracketed ? host.dropFirst().dropLast() : host[...]
    guard !content.isEmpty, content.utf8.allSatisfy(isBracketed ? isAddress : isName) else { return nil }
    let rest = authority[hostEnd...]
    if rest.isEmpty {
      port = scheme == "https" ? 443 : 80
    } else {
      guard rest.hasPrefix(":"), rest.dropFirst().utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
        let number = Int(rest.dropFirst()), 1...65_535 ~= number
      else { return nil }
      port = number
    }
  }

  var description: String {
    let isDefault = port == (scheme == "https" ? 443 : 80)
    return "\(scheme)://\(host)" + (isDefault ? "" : ":\(port)")
  }
}
