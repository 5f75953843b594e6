import CLinux
import Glibc

/// A listening TCP socket, shared by all loops that accept from it. Closes its descriptor when released.
public final class Listener: Sendable {
  /// The socket, non-blocking.
  public let descriptor: Int32
  /// Where it listens; the port is the real one even when 0 was asked for.
  public let address: SocketAddress

  /// Binds and listens. IPv6 addresses take IPv4 too when they are the wildcard `::`.
  ///
  /// - Throws: `SystemError` naming the call, such as `bind: Address already in use`.
  public init(_ wanted: SocketAddress, backlog: Int32 = 4096) throws(SystemError) {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(wanted.isIPv6 ? AF_INET6 : AF_INET, type, 0)
    if descriptor < 0 { throw SystemError("socket") }
    do throws(SystemError) {
      var one: Int32 = 1
      var zero: Int32 = 0
      _ = setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
      if wanted.isIPv6 { _ = setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &zero, 4) }
      if wanted.withSockaddr({ bind(descriptor, $0, $1) }) < 0 { throw SystemError("bind") }
      if listen(descriptor, backlog) < 0 { throw SystemError("listen") }
      guard let address = Listener.localAddress(descriptor) else { throw SystemError("getsockname") }
      self.descriptor = descriptor
      self.address = address
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  deinit { System.close(descriptor) }

  /// Takes no more connections: the kernel refuses them from now on, in all processes that share the socket.
  public func stopListening() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  static func localAddress(_ descriptor: Int32) -> SocketAddress? { name(descriptor, getsockname) }

  /// The address of a connected socket's other end. `nil` for sockets that have none, such as a socket pair.
  public static func peerAddress(_ descriptor: Int32) -> SocketAddress? { name(descriptor, getpeername) }

  private static func name(
    _ descriptor: Int32, _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
    }
    return result == 0 ? SocketAddress(storage) : nil
  }
}
