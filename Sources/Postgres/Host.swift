import Glibc

/// One of the servers that a connection string names.
struct Host: Sendable, Equatable {
  /// A name, an address, or the directory of a Unix socket; empty for libpq's default.
  var name = ""
  /// Numeric. The name then only serves to check the server's certificate and to find a password.
  var address = ""
  /// Empty for libpq's default.
  var port = ""

  /// Pairs libpq's three lists: names and addresses one to one, and one port each, or one for all.
  ///
  /// - Throws: `PostgresError` of kind `invalid` when the lists do not fit.
  static func all(hosts: String?, addresses: String?, ports: String?) throws(PostgresError) -> [Host] {
    func split(_ text: String?) -> [String] {
      guard let text, !text.isEmpty else { return [] }
      return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    let (hosts, addresses, ports) = (split(hosts), split(addresses), split(ports))
    let count = max(hosts.count, addresses.count, 1)
    guard hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count, ports.count <= 1 || ports.count == count
    else { throw PostgresError(.invalid, "the connection string has other numbers of hosts, addresses and ports") }
    return (0..<count).map { index in
      Host(
        name: hosts.isEmpty ? "" : hosts[index], address: addresses.isEmpty ? "" : addresses[index],
        port: ports.isEmpty ? "" : ports.count == 1 ? ports[0] : ports[index])
    }
  }

  /// The name, if an address has to be found for it: not for sockets (`/…` and abstract `@…`) and numeric addresses.
  var nameToLookUp: String? {
    guard address.isEmpty, let first = name.utf8.first, first != UInt8(ascii: "/"), first != UInt8(ascii: "@") else {
      return nil
    }
    return Host.isNumeric(name) ? nil : name
  }

  private static func isNumeric(_ name: String) -> Bool {
    var bytes = in6_addr()
    // A zone, as in fe80::1%eth0, is no part of what inet_pton takes.
    let address = String(name.prefix { $0 != "%" })
    return inet_pton(AF_INET, address, &bytes) == 1 || inet_pton(AF_INET6, address, &bytes) == 1
  }

  /// The same host once for each of its addresses; none when its name is not among those that were found. When nothing was
  /// looked up, the host as it is.
  func resolved(_ addresses: [String: [String]]?) -> [Host] {
    guard let addresses, let name = nameToLookUp else { return [self] }
    return (addresses[name] ?? []).map { address in
      var host = self
      host.address = address
      return host
    }
  }

  /// libpq's three lists again, each left out when it would be empty.
  static func options(_ hosts: [Host]) -> [(keyword: String, value: String)] {
    [("host", \Host.name), ("hostaddr", \.address), ("port", \.port)].compactMap { keyword, part in
      hosts.allSatisfy { $0[keyPath: part].isEmpty }
        ? nil : (keyword, hosts.map { $0[keyPath: part] }.joined(separator: ","))
    }
  }
}
