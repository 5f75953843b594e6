import EventLoop
import HTTP

/// What the kernel did not take at once: the rest of head or chunks, then the rest of the body.
struct PendingOutput {
  var bytes: [UInt8] = []
  var bytesSent = 0
  var body = Response.Body.none
  var bodySent = 0
  /// The last chunk of a stream is among the bytes.
  var endsStream = false

  var waiting: Int { bytes.count - bytesSent }
}

extension PendingOutput {
  var isEmpty: Bool { bytesSent == bytes.count && bodySent == body.count }

  /// Puts more behind the bytes that wait. Those of a stream whose reader is always a little behind are never all sent, so that
  /// what was sent is given up here, once it is as much as may wait.
  mutating func append(_ more: UnsafeRawBufferPointer) {
    if bytesSent > Connection.maxWaiting {
      bytes.removeFirst(bytesSent)
      bytesSent = 0
    }
    bytes += more
  }

  /// Sends what the kernel takes; 0 when it takes nothing or nothing is left.
  mutating func send(_ descriptor: Int32) throws(SystemError) -> Int {
    if isEmpty { return 0 }
    let sent: Int
    do {
      sent = try bytes.withUnsafeBytes { bytes in
        try body.withBytes { body in
          try System.send(
            descriptor, UnsafeRawBufferPointer(rebasing: bytes.dropFirst(bytesSent)),
            UnsafeRawBufferPointer(rebasing: body.dropFirst(bodySent))) ?? 0
        }
      }
    } catch let error as SystemError {
      throw error
    } catch {
      throw SystemError("sendmsg", code: 0)
    }
    let ofBytes = min(sent, bytes.count - bytesSent)
    bytesSent += ofBytes
    bodySent += sent - ofBytes
    if bytesSent == bytes.count {
      bytes = []
      bytesSent = 0
    }
    return sent
  }
}

extension Response.Body {
  var count: Int {
    if case .pieces(let pieces) = self { return pieces.reduce(0) { $0 + $1.count } }
    return withBytes { $0.count }
  }

  /// The bytes of a body that is complete.
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    switch self {
    case .none, .stream: return try body(UnsafeRawBufferPointer(start: nil, count: 0))
    case .bytes(let bytes): return try bytes.withUnsafeBytes(body)
    case .pieces(let pieces): return try Array(pieces.joined()).withUnsafeBytes(body)
    case .constant(let text):
      return try body(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
  }
}
