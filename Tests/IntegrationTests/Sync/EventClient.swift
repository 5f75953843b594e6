import EventLoop
import Glibc
import TestSupport
import Testing

/// Reads an event stream from a socket, as HTTP/1.0 so that no chunks have to be taken apart.
final class EventClient: @unchecked Sendable {
  /// One event as it came.
  struct Event: Equatable, Sendable {
    var name = ""
    var id: Int64?
    var data = ""
  }

  // Safe: a test uses it from one task at a time.
  private let descriptor: Int32
  private var received: [UInt8] = []
  private(set) var isOver = false

  /// Connects and sends the request; nothing is read yet.
  init(_ baseURL: String, as token: String, lastEventID: Int64? = nil, query: String = "", receiveBuffer: Int32? = nil)
    throws
  {
    let port = baseURL.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if descriptor < 0 { throw SystemError("socket") }
    if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
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
    var head = "GET /v1/stream\(query) HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
    if let lastEventID { head += "Last-Event-ID: \(lastEventID)\r\n" }
    let bytes = Array((head + "\r\n").utf8)
    if send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) != bytes.count { throw SystemError("send") }
  }

  deinit { close(descriptor) }

  /// Reads what is there.
  func read(atMost limit: Int = .max) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var left = limit
    while left > 0 {
      let count = recv(descriptor, &buffer, min(left, buffer.count), 0)
      if count == 0 || count < 0 && errno != EAGAIN { isOver = true }
      if count <= 0 { return }
      received += buffer[..<count]
      left -= count
    }
  }

  var status: Int? {
    let text = String(decoding: received.prefix(40), as: UTF8.self)
    return text.hasPrefix("HTTP/1.1 ") ? Int(text.dropFirst(9).prefix(3)) : nil
  }

  /// All complete events so far.
  var events: [Event] {
    let text = String(decoding: received, as: UTF8.self)
    guard let headEnd = text.range(of: "\r\n\r\n") else { return [] }
    var blocks = text[headEnd.upperBound...].split(separator: "\n\n", omittingEmptySubsequences: false)
    blocks.removeLast()
    return blocks.map { block in
      var event = Event()
      for line in block.split(separator: "\n") {
        if line.hasPrefix("event: ") { event.name = String(line.dropFirst(7)) }
        if line.hasPrefix("id: ") { event.id = Int64(line.dropFirst(4)) }
        if line.hasPrefix("data: ") { event.data += line.dropFirst(6) }
      }
      return event
    }
  }

  func events(named name: String) -> [Event] { events.filter { $0.name == name } }

  /// The id of the last event that has one; looks only at the end of what came.
  var lastID: Int64? {
    let tail = String(decoding: received.suffix(12_000), as: UTF8.self)
    guard tail.hasSuffix("\n\n"), let place = tail.ranges(of: "\nid: ").last else { return nil }
    return Int64(tail[place.upperBound...].prefix { $0 != "\n" })
  }

  /// Reads until a condition holds.
  func until(_ what: String = "events come", _ condition: (EventClient) -> Bool) async throws {
    try await eventually(within: .seconds(60), what) {
      read()
      return condition(self)
    }
  }

  /// Waits for the first event, from which on nothing is missed.
  func opened() async throws { try await until("the stream is open") { !$0.events.isEmpty } }
}

extension String {
  fileprivate func range(of text: String) -> Range<String.Index>? { ranges(of: text).first }
}
