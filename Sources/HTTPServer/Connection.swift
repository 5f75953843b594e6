import EventLoop
import HTTP

/// One client's connection: reads heads, has them handled, sends the answers in order, one at a time.
///
/// `@unchecked Sendable`: used on the loop's thread only. Small, since ten thousand idle ones are normal: all that a request
/// needs is in the `Exchange` it borrows.
final class Connection: ReadinessHandler, @unchecked Sendable {
  let descriptor: Int32
  let home: ServerLoop
  let peer: SocketAddress?
  /// The name under which `PeerCounts` has counted it, if it has.
  var countedAs: [UInt8]?
  var slot = 0
  var state: ConnectionState
  var exchange: Exchange?
  /// What the client has not taken yet.
  var output: PendingOutput?

  /// More may be in the socket. Readiness is reported once, so this is kept until a read comes up short.
  var mayRead = false
  /// The exchange holds bytes that the parser has not seen.
  var hasUnparsed = false
  /// The client sends nothing any more: reported by the kernel, or seen as the end of the stream.
  var peerFinished = false
  /// A worker has the exchange's request.
  var isHandled = false
  var isStreaming = false
  var next = ConnectionState.Next.request
  private var dropped: Int32 = 0
  private var registration: Registration?

  /// Takes the descriptor over when it does not throw.
  init(_ descriptor: Int32, _ home: ServerLoop) throws(SystemError) {
    self.descriptor = descriptor
    self.home = home
    peer = Listener.peerAddress(descriptor)
    state = ConnectionState(now: home.loop.now, home.deadlines)
    // Both directions from the start and once a change: no call is needed when the direction of interest changes.
    registration = try home.loop.register(descriptor, for: [.read, .write, .peerClosed], trigger: .edge, self)
    home.add(self)
  }

  /// Whether nothing of a request is here. Empty lines before one are nothing (RFC 9112, 2.2).
  var isIdle: Bool { state.phase == .idle && exchange?.parser.sawOnlyEmptyLines ?? true }

  func ready(_ readiness: Readiness) {
    if state.phase == .closed { return }
    if !readiness.isDisjoint(with: .failed) { return close() }
    if readiness.contains(.peerClosed) {
      peerFinished = true
      if isHandled { exchange?.noteDisconnect() }
    }
    if readiness.contains(.read) { mayRead = true }
    if readiness.contains(.write), output != nil { flush() }
    proceed()
  }

  /// Does what the present phase can do with what is there.
  func proceed() {
    switch state.phase {
    case .idle, .head: takeRequests()
    case .handling: if exchange?.body.waiter != nil { pumpBody() }
    case .draining:
      drain()
      if state.phase == .idle { takeRequests() }
    case .lingering: linger()
    case .writing, .closed: break
    }
  }

  func expire(_ now: UInt64) {
    switch state.expiry(now: now) {
    case nil: break
    case .close: close()
    case .refuseHead: refuse(.timeout)
    case .failBody: failBody(.timeout)
    }
  }

  // MARK: The end

  /// Reads and drops the rest of the request's body, so that the next request begins where it should.
  func startDraining() {
    dropped = 0
    // It is answered and reported. What is dropped from now on is no part of it.
    exchange?.connection = nil
    state.drainBegan(now: home.loop.now, home.deadlines)
  }

  /// Sends the end of the stream and waits a moment for the client's: closing at once would make the kernel answer unread bytes
  /// with a reset, which can overtake the answer (RFC 9112, 9.6).
  func startLingering() {
    releaseExchange()
    System.shutdownWrite(descriptor)
    dropped = 0
    state.lingerBegan(now: home.loop.now, home.deadlines)
    linger()
  }

  func linger() {
    while mayRead, dropped <= ConnectionState.maxLingered {
      guard let count = receive(into: home.scratch) else { return }
      if count == 0 { return close() }
      dropped += Int32(count)
    }
    if dropped > ConnectionState.maxLingered { close() }
  }

  /// Whether dropping so many more bytes is still worth keeping the connection.
  func mayDrop(_ count: Int) -> Bool {
    dropped += Int32(count)
    return dropped <= ConnectionState.maxDropped
  }

  /// Serves a request that is already in the socket, or else closes: a client that was just accepted has nearly always sent one.
  func closeUnlessRequested() {
    mayRead = true
    proceed()
    if isIdle { close() }
  }

  /// At once. A handler that is at work is told and finishes without an effect.
  func close() {
    if state.phase == .closed { return }
    state.closed()
    if let registration { home.loop.cancel(registration) }
    System.close(descriptor)
    output = nil
    if isHandled {
      exchange?.noteDisconnect()
      failWaiters()
    } else {
      if exchange?.connection != nil { report(isComplete: false) }
      releaseExchange()
    }
    home.remove(self)
  }

  private func failWaiters() {
    if let waiter = exchange?.body.waiter {
      exchange?.body.waiter = nil
      waiter.resume(throwing: HTTPError.disconnected)
    }
    if let waiter = exchange?.writeWaiter {
      exchange?.writeWaiter = nil
      waiter.resume(throwing: HTTPError.disconnected)
    }
  }

  // MARK: Exchanges

  /// Makes room for the next request. Bytes that came ahead are kept.
  func recycle() {
    guard var exchange = take() else { return }
    if isKnownUniquelyReferenced(&exchange) {
      exchange.reuse()
    } else {
      // A handler kept its request: that one keeps the buffer, too.
      let other = home.takeExchange()
      other.append(exchange.unread)
      exchange.body.leftover.withUnsafeBytes { other.append($0) }
      exchange.connection = nil
      exchange = other
    }
    hasUnparsed = exchange.filled > 0
    if hasUnparsed { self.exchange = exchange } else { home.giveBack(exchange) }
  }

  /// The head has been read and its request been given back: what room is left in the buffer is of no use to a stream.
  func shrinkExchange() {
    guard var exchange = take() else { return }
    if isKnownUniquelyReferenced(&exchange) { exchange.shrink() }
    self.exchange = exchange
  }

  func releaseExchange() {
    guard var exchange = take() else { return }
    exchange.connection = nil
    if isKnownUniquelyReferenced(&exchange) { home.giveBack(exchange) }
  }

  private func take() -> Exchange? {
    defer { exchange = nil }
    return exchange
  }

  /// Reads once. `nil` when nothing is there; 0 at the end of the stream and when the connection is broken.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    do throws(SystemError) {
      guard let count = try System.receive(descriptor, into: buffer) else {
        mayRead = false
        return nil
      }
      // A short read has emptied the socket: whatever comes later is reported again. Only the end may be right behind.
      if count < buffer.count, !peerFinished { mayRead = false }
      if count == 0 {
        peerFinished = true
        mayRead = false
      }
      return count
    } catch {
      peerFinished = true
      mayRead = false
      return 0
    }
  }
}
