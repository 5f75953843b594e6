import Dispatch
import EventLoop
import Glibc
import HTTP
import HTTPServer

/// Runs a server on a free loopback port for the time of `body`, then drains it.
func withServer(
  _ address: String = "127.0.0.1:0", loops: Int = 1, configure: (inout Server.Configuration) -> Void = { _ in },
  answerAtOnce: Server.AnswerAtOnce? = nil, respond: @escaping Server.Respond, body: (Server) async throws -> Void
) async throws {
  let group = try EventLoopGroup(count: loops)
  var configuration = Server.Configuration()
  // A test that is not about time must not depend on how busy the machine is.
  configuration.headTimeout = .seconds(600)
  configuration.bodyIdleTimeout = .seconds(600)
  configuration.writeIdleTimeout = .seconds(600)
  configuration.keepAliveTimeout = .seconds(600)
  configure(&configuration)
  let server = Server(
    group: group, listener: try Listener(SocketAddress(address)!), configuration: configuration,
    answerAtOnce: answerAtOnce, respond: respond)
  try await server.start()
  do {
    try await body(server)
  } catch {
    await server.drain(timeout: .zero)
    group.stop()
    throw error
  }
  await server.drain(timeout: .zero)
  group.stop()
}

/// Answers with the request's body, 404 elsewhere than at `/_echo`.
let echo: Server.Respond = { request in
  guard request.target.path == "/_echo" else { return Response(.notFound) }
  do {
    return Response(contentType: "application/octet-stream", try await request.body(limit: 1 << 20))
  } catch {
    return (error as? HTTPError ?? .internalError).response(requestID: request.id)
  }
}

/// A client that says exactly what it is told and waits at most a minute for anything.
///
/// Its blocking calls run on queues of their own: on the pool that runs the tests they would keep the server's handlers from
/// the threads they wait for.
///
/// `@unchecked Sendable`: `received` is used on the receiving queue, and by the test between its calls.
final class TestClient: @unchecked Sendable {
  struct Timeout: Error {}

  /// An answer as it came.
  struct Answer: Equatable, Sendable {
    var status = 0
    var fields: Fields = [:]
    var body: [UInt8] = []
    var text: String { String(decoding: body, as: UTF8.self) }
  }

  private let descriptor: Int32
  private let sending = DispatchQueue(label: "client sends")
  private let receiving = DispatchQueue(label: "client receives")
  private var buffer: [UInt8] = []
  /// What stands before has been taken. Removing each line at once would move all that follows it.
  private var start = 0

  /// Bytes that have come and not been taken.
  var received: [UInt8] { Array(buffer[start...]) }
  var receivedCount: Int { buffer.count - start }

  init(_ server: Server, receiveBuffer: Int32? = nil) throws {
    let address = server.address
    descriptor = socket(address.isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    let connected: Int32
    if address.isIPv6 {
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      name.sin6_port = address.port.bigEndian
      name.sin6_addr = in6addr_loopback
      connected = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
        }
      }
    } else {
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = address.port.bigEndian
      name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      connected = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    if connected < 0 { throw SystemError("connect") }
  }

  deinit { close(descriptor) }

  private func run<R: Sendable>(
    on queue: DispatchQueue, _ body: @escaping @Sendable (TestClient) throws -> R
  ) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body(self) }) }
    }
  }

  func send(_ text: String) async throws { try await send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) async throws { try await run(on: sending) { try $0.sendNow(bytes) } }

  /// Reads once.
  func receiveSome() async throws {
    try await run(on: receiving) { if try !$0.receiveMore() { throw SystemError("recv", code: 0) } }
  }

  /// Everything until the server closes.
  func readToEnd() async throws -> String { try await run(on: receiving) { try $0.readToEndNow() } }

  /// Whether the server closes without another byte.
  func isClosed() async throws -> Bool {
    try await run(on: receiving) { try $0.receivedCount == 0 && !$0.receiveMore() }
  }

  /// The next answer, taken out of its framing.
  func answer(toHead: Bool = false) async throws -> Answer {
    try await run(on: receiving) { try $0.answerNow(toHead: toHead) }
  }

  private func sendNow(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0 { throw SystemError("send") }
      sent += count
    }
  }

  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// `false` at the end of the stream.
  private func receiveMore() throws -> Bool {
    if start > 1 << 20 {
      buffer.removeFirst(start)
      start = 0
    }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    if count < 0 { throw errno == EAGAIN ? Timeout() : SystemError("recv") }
    buffer += bytes[..<count]
    return count > 0
  }

  private func readToEndNow() throws -> String {
    while try receiveMore() {}
    defer { start = buffer.count }
    return String(decoding: received, as: UTF8.self)
  }

  private func answerNow(toHead: Bool) throws -> Answer {
    var answer = Answer()
    let lines = try readHead().split(separator: "\r\n")
    answer.status = Int(lines[0].split(separator: " ")[1])!
    for line in lines.dropFirst() {
      let colon = line.firstIndex(of: ":")!
      answer.fields.append(
        Fields.Name(String(line[..<colon]))!, String(line[line.index(after: colon)...].dropFirst()))
    }
    if toHead || answer.status < 200 || answer.status == 204 || answer.status == 304 { return answer }
    if answer.fields[.transferEncoding] == "chunked" {
      while true {
        let size = Int(try readLine(), radix: 16)!
        answer.body += try take(size)
        _ = try take(2)
        if size == 0 { return answer }
      }
    }
    answer.body = try take(Int(answer.fields[.contentLength]!)!)
    return answer
  }

  private func readHead() throws -> String {
    var lines = ""
    while true {
      let line = try readLine()
      if line.isEmpty { return lines }
      lines += line + "\r\n"
    }
  }

  private func readLine() throws -> String {
    while true {
      if let end = buffer[start...].firstIndex(of: 10) {
        defer { start = end + 1 }
        return String(decoding: buffer[start..<(end - 1)], as: UTF8.self)
      }
      if try !receiveMore() { throw SystemError("recv", code: 0) }
    }
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while receivedCount < count {
      if try !receiveMore() { throw SystemError("recv", code: 0) }
    }
    defer { start += count }
    return Array(buffer[start..<start + count])
  }
}

extension String {
  /// A request with `Host` and these lines.
  static func request(_ line: String, _ fields: String..., body: String = "") -> String {
    ([line + " HTTP/1.1", "Host: localhost"] + fields).joined(separator: "\r\n") + "\r\n\r\n" + body
  }
}

/// Something that happens once and that any number can wait for.
final class Signal: Sendable {
  private struct State {
    var happened = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Lock(State())

  func happen() {
    let waiters = state.withLock { state in
      state.happened = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let late = state.withLock { state in
        if !state.happened { state.waiters.append(continuation) }
        return state.happened
      }
      if late { continuation.resume() }
    }
  }
}
