import EventLoop
import HTTP
import HTTPServer
import Magpie

/// Where a request comes from, as far as that can be believed.
enum RequestSource {
  /// The peer's address; or, when the peer is a proxy one trusts, what it says in `X-Forwarded-For`, read from the right as
  /// far as proxies one trusts have written it: what stands left of that, anybody may have made up.
  static func of(_ request: Request, trusting proxies: [[UInt8]]) -> Accounts.Source {
    var address = request.peer?.bytes ?? []
    if proxies.contains(address), let forwarded = request.fields[joined: .xForwardedFor] {
      for entry in forwarded.split(separator: ",").reversed() {
        guard let next = RequestSource.address(entry) else { break }
        address = next
        if !proxies.contains(address) { break }
      }
    }
    return source(address)
  }

  /// The neighbors of an address: 24 bits of IPv4, and 64 of IPv6, of which one household has as many addresses as it likes.
  static func source(_ address: [UInt8]) -> Accounts.Source {
    let isIPv6 = address.count == 16
    return Accounts.Source(
      network: text(address.prefix(isIPv6 ? 8 : 3)), address: text(address.prefix(isIPv6 ? 8 : 4)))
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String { bytes.map { String($0) }.joined(separator: ".") }

  /// An address, perhaps with a port, IPv6 perhaps in brackets.
  private static func address(_ entry: Substring) -> [UInt8]? {
    var text = String(entry.drop { $0 == " " || $0 == "\t" })
    while text.last == " " || text.last == "\t" { text.removeLast() }
    let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    return (SocketAddress(host: bare, port: 0) ?? SocketAddress(text))?.bytes
  }
}
