import EventLoop
import HTTP

/// The names under which the server may be asked for, as `Host` or in the target; anything else is answered 421.
///
/// A page of some website can have its own name lead to this server (DNS rebinding) and then ask it as if it were the page's own,
/// from inside a network that the page's author cannot reach. Its requests still carry the page's name, which has to be one that
/// can be registered. Addresses, and names that nobody can register, need no list.
public struct ServedHosts: Sendable {
  private let publicHost: String?
  private static let privateEndings = [".localhost", ".local", ".internal", ".home.arpa", ".test"]

  /// - Parameter publicURL: the address that clients are told; its host is served. `nil`: there is none.
  public init(publicURL: String?) {
    let host = publicURL.flatMap(WebOrigin.of)?.split(separator: "/").last
    publicHost = host.map { $0.hasPrefix("[") ? String($0) : String($0.prefix { $0 != ":" }) }
  }

  /// Whether a host (in small letters, without its port) is this server.
  @Sendable
  public func contains(_ host: String) -> Bool {
    let name = host.hasSuffix(".") ? host.dropLast() : host[...]
    guard let dot = name.lastIndex(of: ".") else { return true }
    let last = name[dot...].dropFirst()
    let isAddress = !last.isEmpty && last.utf8.allSatisfy { 0x30...0x39 ~= $0 } || name.contains(":")
    if isAddress || publicHost.map({ name == $0 }) ?? false { return true }
    return ServedHosts.privateEndings.contains { name.hasSuffix($0) }
  }
}
