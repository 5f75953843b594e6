import EventLoop
import Glibc
import Testing

/// A server that says exactly what a test wants, well-formed or not. Loop-bound, like its connections.
final class RawServer: ReadinessHandler, @unchecked Sendable {
  // Safe: used on the loop's thread only, except for the constant `address`.
  typealias Script = @Sendable (RawConnection) async throws -> Void

  let address: SocketAddress
  private let loop: EventLoop
  private let listener: Listener
  private let script: Script
  private var registration: Registration?
  private var connections: [RawConnection] = []

  /// Connections accepted so far.
  var accepted: Int { connections.count }

  /// Listens on loopback; each connection runs the script, then is closed.
  init(_ loop: EventLoop, _ script: @escaping Script) throws {
    listener = try Listener(#require(SocketAddress("127.0.0.1:0")))
    address = listener.address
    self.loop = loop
    self.script = script
    registration = try loop.register(listener.descriptor, for: .read, trigger: .level, self)
  }

  func ready(_ readiness: Readiness) {
    while let descriptor = try? System.accept(listener.descriptor) {
      guard let connection = try? RawConnection(loop, descriptor) else { continue }
      connections.append(connection)
      let script = script
      Task(executorPreference: loop) {
        try? await script(connection)
        connection.close()
      }
    }
  }

  func stop() {
    if let registration { loop.cancel(registration) }
    registration = nil
    for connection in connections { connection.close() }
  }
}

/// The server's end of one connection.
final class RawConnection: ReadinessHandler, @unchecked Sendable {
  // Safe: used on the loop's thread only.
  struct Closed: Error {}

  private let loop: EventLoop
  private let descriptor: Int32
  private var registration: Registration?
  private var received: [UInt8] = []
  private var ended = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  init(_ loop: EventLoop, _ descriptor: Int32) throws {
    self.loop = loop
    self.descriptor = descriptor
    registration = try loop.register(descriptor, for: [.read, .write, .peerClosed], trigger: .edge, self)
  }

  func ready(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 65536)
    do {
      while let count = try buffer.withUnsafeMutableBytes({ try System.receive(descriptor, into: $0) }) {
        if count == 0 {
          ended = true
          break
        }
        received += buffer[..<count]
      }
    } catch {
      ended = true
    }
    wakeAll()
  }

  private func wakeAll() {
    let woken = waiters
    waiters = []
    for waiter in woken { waiter.resume() }
  }

  private func change() async {
    if registration == nil { return }
    await withCheckedContinuation { waiters.append($0) }
  }

  /// The next request's head as text, without its empty line, and its body of the announced length.
  func request() async throws -> (head: [String], body: String) {
    let separator = Array("\r\n\r\n".utf8)
    while true {
      if let end = received.indices.first(where: { received[$0...].starts(with: separator) }) {
        let head = String(decoding: received[..<end], as: UTF8.self).split(separator: "\r\n").map(String.init)
        received.removeFirst(end + 4)
        let length = head.first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
        while received.count < length {
          if ended || registration == nil { throw Closed() }
          await change()
        }
        let body = String(decoding: received[..<length], as: UTF8.self)
        received.removeFirst(length)
        return (head, body)
      }
      if ended || registration == nil { throw Closed() }
      await change()
    }
  }

  /// Sends all of it, however long the peer takes.
  func send(_ text: String) async throws { try await send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) async throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      if ended || registration == nil { throw Closed() }
      let count = try rest.withUnsafeBytes { try System.send(descriptor, $0) }
      if let count { rest = rest.dropFirst(count) } else { await change() }
    }
  }

  /// Waits until the peer has gone.
  func peerClosed() async {
    while !ended, registration != nil { await change() }
  }

  /// Ends the connection with a reset instead of an orderly close.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    close()
  }

  func close() {
    guard let registration else { return }
    loop.cancel(registration)
    self.registration = nil
    System.close(descriptor)
    wakeAll()
  }
}
