import EventLoop
import HTTP
import Synchronization

/// What one request needs while it is read and answered: the buffer its head stands in, the parser, the body so far. Pooled by
/// the loop and lent to a connection from the first byte of a request to the end of its answer; idle connections have none.
///
/// `@unchecked Sendable`: the loop writes the buffer, the head and the id only before a handler sees them, and uses the object
/// for another request only when nobody else refers to it any more. Until then a `Request` may read them from any thread. The
/// body and `connection` belong to the loop's thread; `disconnect` and `label` are locked or atomic.
final class Exchange: @unchecked Sendable {
  /// Room for nearly every head with what follows it.
  static let initialCapacity = 8192
  /// Room for the largest head; more bytes than that are never kept.
  static let maxCapacity = 49_152

  private struct Disconnect {
    var happened = false
    var actions: [@Sendable () -> Void] = []
  }

  let loop: EventLoop
  private(set) var memory: UnsafeMutableRawPointer
  private(set) var capacity: Int
  /// Bytes in the buffer, from its start.
  var filled = 0
  /// Bytes at its start that belong to the head and to what was taken of the body.
  var consumed = 0
  var parser = HeadParser()
  var idBits: UInt64 = 0
  var peer: SocketAddress?

  var connection: Connection?
  var route: Route?
  var startedAt: UInt64 = 0
  var status = Status.ok
  var bytesSent = 0
  var body = RequestBody()
  /// The client waits for `100 Continue` before it sends the body.
  var owesContinue = false
  var writeWaiter: UnsafeContinuation<Void, any Error>?
  /// Goes on with the stream when its producer has returned.
  var streamRest: ResponseStream.Producer?

  private let disconnect = Lock(Disconnect())
  let label = Atomic<Int64>(0)

  init(loop: EventLoop, capacity: Int = Exchange.initialCapacity) {
    self.loop = loop
    self.capacity = capacity
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// What has been received.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: filled) }

  /// What has been received and not been used yet.
  var unread: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory + consumed, count: filled - consumed) }

  /// Where the next bytes go.
  var room: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: memory + filled, count: capacity - filled)
  }

  func bytes(_ span: RequestHead.Span) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + Int(span.start), count: Int(span.count))
  }

  func text(_ span: RequestHead.Span) -> String { String(decoding: bytes(span), as: UTF8.self) }

  /// Moves to a larger buffer. Only while the head is being read: later, others look into the buffer.
  func grow(to wanted: Int) {
    guard wanted > capacity else { return }
    let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    larger.copyMemory(from: memory, byteCount: filled)
    memory.deallocate()
    memory = larger
    capacity = wanted
  }

  /// Keeps no more memory than its bytes need. Only when nobody else refers to this object. A stream may be open for days.
  func shrink() {
    guard filled < capacity else { return }
    let size = max(filled, 16)
    let smaller = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    smaller.copyMemory(from: memory, byteCount: filled)
    memory.deallocate()
    memory = smaller
    capacity = size
  }

  /// Ready for the next request, whose first bytes may be here already. Only when nobody else refers to this object.
  func reuse() {
    let left = filled - consumed
    if left > 0, consumed > 0 { memory.copyMemory(from: memory + consumed, byteCount: left) }
    filled = left
    consumed = 0
    parser.reset()
    connection = nil
    route = nil
    bytesSent = 0
    if body.isUsed {
      let ahead = body.leftover
      body = RequestBody()
      ahead.withUnsafeBytes { append($0) }
    } else {
      body.decoder = BodyDecoder(.none)
    }
    owesContinue = false
    streamRest = nil
    label.store(0, ordering: .relaxed)
    disconnect.withLock { $0 = Disconnect() }
  }

  /// Forgets everything, the bytes included.
  func clear() {
    consumed = filled
    body.leftover = []
    reuse()
  }

  /// Adds bytes for the next request.
  func append(_ bytes: UnsafeRawBufferPointer) {
    grow(to: filled + bytes.count)
    if let base = bytes.baseAddress { room.baseAddress?.copyMemory(from: base, byteCount: bytes.count) }
    filled += bytes.count
  }

  // MARK: Disconnection

  var isDisconnected: Bool { disconnect.withLock { $0.happened } }

  func onDisconnect(_ action: @escaping @Sendable () -> Void) {
    let late = disconnect.withLock { state in
      if !state.happened { state.actions.append(action) }
      return state.happened
    }
    if late { action() }
  }

  func noteDisconnect() {
    let actions = disconnect.withLock { state in
      state.happened = true
      defer { state.actions = [] }
      return state.actions
    }
    for action in actions { action() }
  }
}

/// The body of a request as far as it has been read.
struct RequestBody {
  var decoder = BodyDecoder(.none)
  var bytes: [UInt8] = []
  var limit = 0
  /// A handler has asked for it.
  var isUsed = false
  var waiter: UnsafeContinuation<[UInt8], any Error>?
  /// What came behind it in the same read: the beginning of the next request.
  var leftover: [UInt8] = []
  /// Why it can never be had.
  var failure: HTTPError?
}
