import EventLoop
import HTTP

extension Connection {
  /// Requests sent ahead that are answered in a row before others get their turn.
  private static let maxInARow = 16

  /// Answers what can be answered at once, and gives the first request that cannot to a worker, which goes on from there.
  func takeRequests() {
    var count = 0
    while readHead() {
      count += 1
      if count > Connection.maxInARow || !answerAtOnce() { return home.dispatch(self) }
    }
  }

  // MARK: Heads

  /// Reads as much of the next head as is there. `true` when a request is ready for a handler.
  func readHead() -> Bool {
    while state.phase == .idle || state.phase == .head {
      if hasUnparsed {
        hasUnparsed = false
        switch parse() {
        case .complete: if begin() { return true }
        case .failed(let error): refuse(error)
        case .needMore: break
        }
      } else if !receiveHead() {
        break
      }
    }
    return false
  }

  private func parse() -> HeadParser.Outcome {
    guard let exchange else { return .needMore }
    let outcome = exchange.parser.parse(exchange.bytes)
    if outcome == .needMore, !exchange.parser.sawOnlyEmptyLines {
      state.headBegan(now: home.loop.now, home.deadlines)
    }
    return outcome
  }

  private func receiveHead() -> Bool {
    guard mayRead else { return false }
    let exchange = self.exchange ?? home.takeExchange()
    self.exchange = exchange
    if exchange.room.isEmpty { exchange.grow(to: Exchange.maxCapacity) }
    guard let count = receive(into: exchange.room) else {
      if exchange.filled == 0 { releaseExchange() }
      return false
    }
    if count == 0 {
      close()
      return false
    }
    exchange.filled += count
    hasUnparsed = true
    return true
  }

  /// Takes a complete head. `false` when it was answered right here.
  private func begin() -> Bool {
    if let error = admit() { return answer(error) }
    isHandled = true
    return true
  }

  /// Prepares for the handler, or tells why the request does not get that far.
  private func admit() -> HTTPError? {
    guard let exchange else { return .internalError }
    prepare(exchange)
    exchange.consumed = exchange.parser.head.length
    exchange.body.decoder = BodyDecoder(exchange.parser.head.framing)
    exchange.owesContinue = exchange.parser.head.expectsContinue
    if exchange.parser.head.hasForeignExpectation { return .expectationUnsupported }
    if let allows = home.shared.configuration.allowsHost, !allowsHost(of: exchange, allows) { return .misdirected }
    let counts = home.shared.counts
    let inFlight = counts.requestsInFlight.add(1, ordering: .relaxed).newValue
    if inFlight > home.shared.configuration.maxRequestsInFlight {
      counts.requestsInFlight.subtract(1, ordering: .relaxed)
      return .overloaded
    }
    if peerFinished { exchange.noteDisconnect() }
    return nil
  }

  private func prepare(_ exchange: Exchange) {
    state.requestBegan()
    exchange.connection = self
    exchange.peer = peer
    exchange.startedAt = home.loop.now
    exchange.idBits = home.random.next()
  }

  private func allowsHost(of exchange: Exchange, _ allows: (String) -> Bool) -> Bool {
    let head = exchange.parser.head
    guard let span = head.authority ?? head.host else { return true }  // HTTP/1.0 without Host
    return allows(Authority.host(exchange.bytes(span)))
  }

  private func answer(_ error: HTTPError) -> Bool {
    var response = home.shared.configuration.errorResponse(error, requestID)
    if error.closesConnection { response.fields.set(.connection, "close") }
    finish(response)
    return false
  }

  private var requestID: String { exchange.map { Request($0).id } ?? "" }

  /// Answers bytes that are no request, or none in time, and closes.
  func refuse(_ error: HTTPError) {
    let exchange = self.exchange ?? home.takeExchange()
    self.exchange = exchange
    prepare(exchange)
    exchange.parser.head.keepsAlive = false
    exchange.consumed = exchange.filled
    _ = answer(error)
  }

  // MARK: Bodies

  /// Gives the whole body to `continuation` when it is here.
  func readBody(limit: Int, _ continuation: UnsafeContinuation<[UInt8], any Error>) {
    guard isHandled, state.phase == .handling, !isStreaming, let exchange else {
      return continuation.resume(throwing: HTTPError.disconnected)
    }
    exchange.body.isUsed = true
    exchange.body.limit = limit
    exchange.body.waiter = continuation
    if let length = exchange.body.decoder.remaining {
      if length > limit { return failBody(.bodyTooLarge(limit: limit)) }
      exchange.body.bytes.reserveCapacity(length)
    }
    state.bodyAwaited(now: home.loop.now, home.deadlines)
    pumpBody()
    if exchange.body.waiter != nil { sendContinue(exchange) }
  }

  /// The handler wants the body and nothing of it is here: the client is told to go on (RFC 9110, 10.1.1).
  private func sendContinue(_ exchange: Exchange) {
    guard exchange.owesContinue else { return }
    exchange.owesContinue = false
    let line: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"
    let bytes = UnsafeRawBufferPointer(start: line.utf8Start, count: line.utf8CodeUnitCount)
    // Nothing else is waiting to be sent, so a kernel that does not take 25 bytes means a broken connection.
    let sent = try? System.send(descriptor, bytes)
    if sent != bytes.count { close() }
  }

  func pumpBody() {
    guard let exchange else { return }
    do throws(HTTPError) {
      exchange.consumed += try decode(exchange.unread, into: exchange)
      while !exchange.body.decoder.isComplete, mayRead {
        let wanted = min(exchange.body.decoder.remaining ?? home.scratch.count, home.scratch.count)
        let room = UnsafeMutableRawBufferPointer(rebasing: home.scratch[..<wanted])
        guard let count = receive(into: room) else { break }
        if count == 0 { throw .truncatedBody }
        state.bodyReceived(count, now: home.loop.now, home.deadlines)
        let received = UnsafeRawBufferPointer(rebasing: room[..<count])
        let used = try decode(received, into: exchange)
        exchange.body.leftover += received[used...]
      }
    } catch {
      return failBody(error)
    }
    if exchange.body.decoder.isComplete {
      state.bodyEnded()
      exchange.owesContinue = false
      let waiter = exchange.body.waiter
      exchange.body.waiter = nil
      waiter?.resume(returning: exchange.body.bytes)
    }
  }

  private func decode(_ input: UnsafeRawBufferPointer, into exchange: Exchange) throws(HTTPError) -> Int {
    guard !input.isEmpty else { return 0 }
    exchange.owesContinue = false
    // On a copy: the closure changes the same struct.
    var decoder = exchange.body.decoder
    let used = try decoder.decode(input) { exchange.body.bytes += $0 }
    exchange.body.decoder = decoder
    if exchange.body.bytes.count > exchange.body.limit { throw .bodyTooLarge(limit: exchange.body.limit) }
    return used
  }

  /// The body can never be had; the connection ends with the answer, since nobody knows where the next request would begin.
  func failBody(_ error: HTTPError) {
    guard let exchange else { return }
    state.bodyEnded()
    exchange.body.failure = error
    exchange.body.bytes = []
    let waiter = exchange.body.waiter
    exchange.body.waiter = nil
    waiter?.resume(throwing: error)
  }

  /// Drops the body that no handler wanted. Whoever called goes on with what came behind it: were it done from here, a client
  /// that sends many such requests ahead would decide how deep the calls go.
  func drain() {
    guard let exchange else { return }
    do throws(HTTPError) {
      exchange.consumed += try skip(exchange.unread, of: exchange)
      while !exchange.body.decoder.isComplete, mayRead {
        guard let count = receive(into: home.scratch) else { break }
        if count == 0 { throw .truncatedBody }
        let received = UnsafeRawBufferPointer(rebasing: home.scratch[..<count])
        let used = try skip(received, of: exchange)
        exchange.body.leftover += received[used...]
      }
    } catch {
      return startLingering()
    }
    if exchange.body.decoder.isComplete { becomeIdle() }
  }

  private func skip(_ input: UnsafeRawBufferPointer, of exchange: Exchange) throws(HTTPError) -> Int {
    let used = try exchange.body.decoder.decode(input) { _ in }
    exchange.body.isUsed = true
    if !mayDrop(used) { throw .badBody }
    return used
  }
}
