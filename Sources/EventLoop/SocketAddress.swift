import Glibc

/// A numeric IPv4 or IPv6 address with a port, as in `127.0.0.1:8080` or `[::1]:8080`.
public struct SocketAddress: Equatable, Sendable, CustomStringConvertible {
  /// The address without brackets.
  public let host: String
  /// 0 to 65535; 0 lets the kernel choose when listening.
  public let port: UInt16
  /// Whether the address is an IPv6 one.
  public let isIPv6: Bool

  /// `nil` when the text is not a numeric address with a port.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = text[text.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(digits) else {
      return nil
    }
    var host = text[..<colon]
    let bracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if bracketed { host = host.dropFirst().dropLast() }
    self.init(host: String(host == "localhost" ? "127.0.0.1" : host), port: port)
    if isIPv6 != bracketed { return nil }
  }

  /// `nil` when the host is not a numeric address.
  public init?(host: String, port: UInt16) {
    var four = in_addr()
    var six = in6_addr()
    if inet_pton(AF_INET, host, &four) == 1 {
      isIPv6 = false
    } else if inet_pton(AF_INET6, host, &six) == 1 {
      isIPv6 = true
    } else {
      return nil
    }
    self.host = host
    self.port = port
  }

  /// As it stands in a URL: IPv6 addresses in brackets.
  public var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether only this machine can reach it.
  public var isLoopback: Bool { host.hasPrefix("127.") || host == "::1" }

  /// The address as it goes over the wire, 4 or 16 bytes. IPv4 in the form of IPv6 (`::ffff:192.0.2.1`) is IPv4.
  public var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
    inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, &bytes)
    let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
    return bytes.starts(with: mapped) && bytes.count == 16 ? Array(bytes.suffix(4)) : bytes
  }

  func withSockaddr<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> R) rethrows -> R {
    var storage = sockaddr_storage()
    return try withUnsafeMutablePointer(to: &storage) { pointer in
      let length: Int
      if isIPv6 {
        length = pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
          six.pointee.sin6_family = sa_family_t(AF_INET6)
          six.pointee.sin6_port = port.bigEndian
          inet_pton(AF_INET6, host, &six.pointee.sin6_addr)
          return MemoryLayout<sockaddr_in6>.size
        }
      } else {
        length = pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
          four.pointee.sin_family = sa_family_t(AF_INET)
          four.pointee.sin_port = port.bigEndian
          inet_pton(AF_INET, host, &four.pointee.sin_addr)
          return MemoryLayout<sockaddr_in>.size
        }
      }
      return try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body($0, socklen_t(length)) }
    }
  }

  init?(_ storage: sockaddr_storage) {
    var storage = storage
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let family = Int32(storage.ss_family)
    let port: UInt16? = withUnsafePointer(to: &storage) { pointer in
      if family == AF_INET {
        return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
          var address = four.pointee.sin_addr
          inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
          return UInt16(bigEndian: four.pointee.sin_port)
        }
      }
      if family == AF_INET6 {
        return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
          var address = six.pointee.sin6_addr
          inet_ntop(AF_INET6, &address, &text, socklen_t(text.count))
          return UInt16(bigEndian: six.pointee.sin6_port)
        }
      }
      return nil
    }
    guard let port else { return nil }
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    self.init(host: String(decoding: bytes, as: UTF8.self), port: port)
  }
}
