import EventLoop
import HTTP

extension Connection {
  /// Sends the head of a streaming answer. `nil` when nobody would see the rest: the answer is to be finished without it.
  func startStream(_ response: Response) -> ResponseStream? {
    shrinkExchange()
    guard let exchange, state.phase == .handling, exchange.parser.head.method != .head,
      !response.status.forbidsBody
    else { return nil }
    exchange.status = response.status
    let framing = framing(of: response)
    if framing == .close { exchange.parser.head.keepsAlive = false }
    writeHead(response, framing: framing, exchange)
    isStreaming = true
    // From here on it only waits; the limit is for requests that compute or ask the database.
    home.shared.counts.requestsInFlight.subtract(1, ordering: .relaxed)
    send(UnsafeRawBufferPointer(start: nil, count: 0), of: .none)
    if output != nil { state.writeBlocked(now: home.loop.now, home.deadlines) }
    return ResponseStream(exchange: exchange)
  }

  /// Sends one chunk (RFC 9112, 7.1), or the bare bytes to an HTTP/1.0 client.
  func writeChunk(_ bytes: [UInt8], _ continuation: UnsafeContinuation<Void, any Error>) {
    guard isStreaming, state.phase == .handling, let exchange else {
      return continuation.resume(throwing: HTTPError.disconnected)
    }
    home.out.removeAll()
    let chunked = exchange.parser.head.minorVersion > 0
    if chunked {
      home.out.append(hexadecimal: bytes.count)
      home.out.append("\r\n")
    }
    bytes.withUnsafeBytes { home.out.append($0) }
    if chunked { home.out.append("\r\n") }
    sendOrQueue()
    if state.phase == .closed {
      continuation.resume(throwing: HTTPError.disconnected)
    } else if let output, output.waiting > Connection.maxWaiting {
      exchange.writeWaiter = continuation
    } else {
      continuation.resume()
    }
  }

  /// Sends the loop's buffer, behind what is waiting already.
  private func sendOrQueue() {
    if output != nil {
      output?.append(home.out.bytes)
    } else {
      send(UnsafeRawBufferPointer(start: nil, count: 0), of: .none)
      if output != nil { state.writeBlocked(now: home.loop.now, home.deadlines) }
    }
  }

  func resumeProducer() {
    guard let waiter = exchange?.writeWaiter else { return }
    exchange?.writeWaiter = nil
    waiter.resume()
  }

  func endStream() {
    isHandled = false
    guard state.phase == .handling, let exchange else { return streamIsOver() }
    home.out.removeAll()
    if exchange.parser.head.minorVersion > 0 { home.out.append("0\r\n\r\n") }
    sendOrQueue()
    if output != nil {
      output?.endsStream = true
      state.answerWaits(now: home.loop.now, home.deadlines)
    } else if state.phase != .closed {
      answered()
    } else {
      streamIsOver()
    }
  }

  /// Ends without the last chunk, so that the client sees that something is missing (RFC 9112, 8).
  func cutStream() {
    isHandled = false
    if state.phase == .closed { streamIsOver() } else { close() }
  }

  private func streamIsOver() {
    report(isComplete: false)
    releaseExchange()
  }
}
