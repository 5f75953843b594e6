import EventLoop
import Glibc
import TestSupport

/// A TCP connection to a server on this machine, for what no HTTP client would send. Non-blocking: whoever waits looks again
/// and again.
final class RawConnection: Sendable {
  private let descriptor: Int32

  /// - Parameter url: such as `http://127.0.0.1:8080`.
  init(_ url: String) throws {
    let port = url.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if descriptor < 0 { throw SystemError("socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result != 0 { throw SystemError("connect") }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  deinit { close(descriptor) }

  /// Sends all of it, or as much as the server takes before it closes.
  func send(_ bytes: [UInt8]) async throws {
    var sent = 0
    try await eventually {
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        if count < 0 { return errno != EAGAIN }
        sent += count
      }
      return true
    }
  }

  func send(_ text: String) async throws { try await send(Array(text.utf8)) }

  /// No more will be sent.
  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Everything until the server closes.
  func readToEnd() async throws -> String {
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    try await eventually {
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0 { return errno != EAGAIN }
        if count == 0 { return true }
        received += buffer[..<count]
      }
    }
    return String(decoding: received, as: UTF8.self)
  }

  /// One exchange after which the server closes.
  static func exchange(_ url: String, _ bytes: [UInt8], finishes: Bool = false) async throws -> String {
    let connection = try RawConnection(url)
    try await connection.send(bytes)
    if finishes { connection.finishSending() }
    return try await connection.readToEnd()
  }
}
