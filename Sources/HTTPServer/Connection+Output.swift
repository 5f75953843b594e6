import EventLoop
import HTTP

extension Connection {
  /// Bytes of a stream that may wait for the client before its producer does.
  static let maxWaiting = 65_536
  /// Bodies up to this size are copied behind the head: one plain `send` is cheaper than gathering two buffers.
  private static let copiedBody = 4096

  /// Handles the request: asks the handler, sends what it answers.
  nonisolated(nonsending) func serve() async {
    guard exchange != nil else { return }
    let response = await home.shared.respond(request())
    if case .stream(let produce) = response.body, let stream = startStream(response) {
      do {
        try await produce(stream)
        if let rest = exchange?.streamRest.take() { home.goOn(with: rest, stream, of: self) } else { endStream() }
      } catch {
        cutStream()
      }
    } else {
      ended()
      finish(response)
    }
  }

  /// Answers the request here and now if that takes nobody else. No worker is woken for it, which would cost more than the answer.
  func answerAtOnce() -> Bool {
    guard let response = immediateResponse() else { return false }
    ended()
    finish(response)
    return true
  }

  /// On its own, so that the request is given back before the exchange is used again.
  @inline(never)
  private func immediateResponse() -> Response? { home.shared.answerAtOnce?(request()) }

  /// Not kept in a constant by the caller: an exchange is used again only when nothing refers to it any more.
  @inline(never)
  private func request() -> Request {
    // The callers have just read its head. Going on without one could only answer somebody else's request.
    guard let exchange else { preconditionFailure("a request is served without its exchange") }
    return Request(exchange)
  }

  /// The handler has given the request back.
  private func ended() {
    isHandled = false
    home.shared.counts.requestsInFlight.subtract(1, ordering: .relaxed)
  }

  // MARK: Whole answers

  /// Sends an answer and goes on to what comes after it.
  func finish(_ response: Response) {
    if state.phase == .closed {
      exchange?.status = response.status
      report(isComplete: false)
      return releaseExchange()
    }
    send(response)
    if output != nil {
      state.answerWaits(now: home.loop.now, home.deadlines)
    } else if state.phase != .closed {
      answered()
    }
  }

  /// On its own, so that it has let go of the exchange before `answered` recycles it.
  @inline(never)
  private func send(_ response: Response) {
    guard let exchange else { return }
    exchange.status = response.status
    let isHead = exchange.parser.head.method == .head
    var body = isHead || response.status.forbidsBody ? Response.Body.none : response.body
    writeHead(response, framing: framing(of: response), exchange)
    if case .pieces(let pieces) = body {
      if pieces.count <= System.maxPieces, body.count > Connection.copiedBody { return send(pieces) }
      // Once, and not again for each part that the kernel takes.
      body = .bytes(Array(pieces.joined()))
    }
    body.withBytes { bytes in
      if bytes.count <= Connection.copiedBody {
        home.out.append(bytes)
        send(UnsafeRawBufferPointer(start: nil, count: 0), of: .none)
      } else {
        send(bytes, of: body)
      }
    }
  }

  func framing(of response: Response) -> HeadWriter.Framing {
    if response.status.forbidsBody { return .none }
    switch response.body {
    case .none: return .length(0)
    case .bytes, .pieces: return .length(response.body.count)
    case .constant(let text): return .length(text.utf8CodeUnitCount)
    case .stream: return exchange?.parser.head.minorVersion == 0 ? .close : .chunked
    }
  }

  /// Decides what comes after the answer and writes its head into the loop's buffer.
  func writeHead(_ response: Response, framing: HeadWriter.Framing, _ exchange: Exchange) {
    next = state.next(
      after: ConnectionState.Answer(
        requestKeepsAlive: exchange.parser.head.keepsAlive,
        responseCloses: response.fields.asksToClose,
        serverDrains: home.isDraining,
        bodyIsComplete: exchange.body.decoder.isComplete,
        bodyRemaining: exchange.body.decoder.remaining,
        bodyFailed: exchange.body.failure != nil,
        owesContinue: exchange.owesContinue),
      maxRequests: home.shared.configuration.maxRequestsPerConnection)
    home.out.removeAll()
    HeadWriter.write(
      response, framing: framing, closes: next == .close, date: home.date.line(now: home.loop.now),
      server: home.serverField, id: (exchange.parser.head.requestID, exchange), to: &home.out)
  }

  /// Sends the loop's buffer and then `bytes`; keeps what the kernel does not take.
  func send(_ bytes: UnsafeRawBufferPointer, of body: Response.Body) {
    let head = home.out.bytes
    do throws(SystemError) {
      let sent =
        (bytes.isEmpty
          ? try System.send(descriptor, head) : try System.send(descriptor, head, bytes)) ?? 0
      exchange?.bytesSent += sent
      if sent == head.count + bytes.count { return }
      var pending = PendingOutput(body: body, bodySent: max(0, sent - head.count))
      pending.bytes = Array(head.dropFirst(sent))
      output = pending
    } catch {
      close()
    }
  }

  /// Sends the loop's buffer and then the pieces; what the kernel does not take, which is seldom, is put together and kept.
  private func send(_ pieces: [[UInt8]]) {
    let head = home.out.bytes
    do throws(SystemError) {
      let sent = try System.send(descriptor, head, pieces) ?? 0
      exchange?.bytesSent += sent
      let body = Response.Body.pieces(pieces)
      if sent == head.count + body.count { return }
      var pending = PendingOutput(
        body: .bytes(body.withBytes { Array($0.dropFirst(max(0, sent - head.count))) }), bodySent: 0)
      pending.bytes = Array(head.dropFirst(sent))
      output = pending
    } catch {
      close()
    }
  }

  /// Sends more of what is waiting, now that the kernel takes bytes again.
  func flush() {
    guard var pending = output else { return }
    var progress = false
    do throws(SystemError) {
      while true {
        let sent = try pending.send(descriptor)
        guard sent > 0 else { break }
        progress = true
        exchange?.bytesSent += sent
      }
    } catch {
      return close()
    }
    if !pending.isEmpty {
      output = pending
      if progress { state.writeBlocked(now: home.loop.now, home.deadlines) }
      if isStreaming, pending.waiting <= Connection.maxWaiting { resumeProducer() }
      return
    }
    output = nil
    if isStreaming, !pending.endsStream {
      state.writeUnblocked()
      resumeProducer()
    } else {
      answered()
    }
  }

  /// The answer is out.
  func answered() {
    isStreaming = false
    report(isComplete: true)
    switch next {
    case .request: becomeIdle()
    case .drain:
      startDraining()
      drain()
    case .close: startLingering()
    }
  }

  func becomeIdle() {
    recycle()
    state.becameIdle(now: home.loop.now, home.deadlines)
    if peerFinished { mayRead = true }  // to find the end of the stream behind the last request
    // What was promised before the end began, the answer of a stream or for a slow reader, holds no longer. After the turn:
    // whoever has sent the next request already is served.
    if home.isDraining {
      home.loop.schedule(after: .zero) { [self] in if isIdle { closeUnlessRequested() } }
    }
  }

  func report(isComplete: Bool) {
    guard let observe = home.shared.configuration.observer.requestEnded, let exchange else { return }
    var request = Request(exchange)
    request.route = exchange.route
    observe(
      Server.Report(
        request: request, status: exchange.status, bytesSent: exchange.bytesSent,
        duration: System.monotonicNanoseconds() &- exchange.startedAt, isComplete: isComplete))
  }
}

extension Fields {
  /// `Connection: close`.
  var asksToClose: Bool { self[.connection].map { ASCII.equalsIgnoringCase($0, "close") } ?? false }
}
