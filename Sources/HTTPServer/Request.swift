import EventLoop
import HTTP

/// A request whose head has been read and checked. A small value; texts are made from the received bytes when asked for.
///
/// It may be kept and used after the answer, from any thread; only the body can no longer be read then.
public struct Request: Sendable {
  let exchange: Exchange
  var route: Route?

  init(_ exchange: Exchange) { self.exchange = exchange }

  private var head: RequestHead {
    @inline(__always) _read { yield exchange.parser.head }
  }

  /// The method.
  public var method: Method { exchange.parser.head.method }

  /// The checked target. Made anew at each call: keep it in a constant.
  public var target: Target {
    let text = exchange.text(head.target)
    return Target(checked: head.impliesSlash ? "/" + text : text)
  }

  /// Host and port that the request is for: of the target in absolute form, or else of `Host`. `nil` only in HTTP/1.0.
  public var authority: String? { (head.authority ?? head.host).map(exchange.text) }

  /// All fields in order. Made anew at each call; `subscript` is cheaper for single ones.
  public var fields: Fields {
    let count = exchange.parser.head.fieldCount
    var fields = Fields(capacity: count)
    for index in 0..<count {
      let field = exchange.parser.head.fields[index]
      fields.append(checked: Fields.Name(unchecked: exchange.text(field.name)), exchange.text(field.value))
    }
    return fields
  }

  /// The first value of a field.
  public subscript(name: Fields.Name) -> String? { span(of: name).map(exchange.text) }

  /// All values of a list field as one, joined by commas (RFC 9110, 5.3); `nil` when there is no line.
  public subscript(joined name: Fields.Name) -> String? {
    guard var index = place(of: name) else { return nil }
    var text = exchange.text(exchange.parser.head.fields[index].value)
    while let next = place(of: name, from: index + 1) {
      text += ", " + exchange.text(exchange.parser.head.fields[next].value)
      index = next
    }
    return text
  }

  /// The bytes of the first value of a field, without a copy. They must not leave the closure.
  public func withValue<R>(of name: Fields.Name, _ body: (UnsafeRawBufferPointer?) throws -> R) rethrows -> R {
    try body(span(of: name).map(exchange.bytes))
  }

  private func span(of name: Fields.Name) -> RequestHead.Span? {
    place(of: name).map { exchange.parser.head.fields[$0].value }
  }

  /// Where the next line of a field is.
  private func place(of name: Fields.Name, from start: Int = 0) -> Int? {
    var wanted = name.description
    return wanted.withUTF8 { wanted in
      for index in start..<max(start, exchange.parser.head.fieldCount) {
        let field = exchange.parser.head.fields[index]
        guard Int(field.name.count) == wanted.count else { continue }
        let bytes = exchange.bytes(field.name)
        if zip(bytes, wanted).allSatisfy({ ASCII.lowercase($0) == ASCII.lowercase($1) }) { return index }
      }
      return nil
    }
  }

  /// The pattern of the route that answers, such as `/users/{login}`; `nil` before the router.
  public var pattern: String? { route?.pattern }

  /// The captures of the route that answers.
  public var parameters: Parameters { Parameters(exchange: exchange, route: route) }

  /// The client's `X-Request-Id` if it was harmless, or else a random one. The answer carries it.
  public var id: String { head.requestID.map(exchange.text) ?? RequestID.text(exchange.idBits) }

  /// The other end of the connection; `nil` when it is no TCP connection.
  public var peer: SocketAddress? { exchange.peer }

  /// The loop of the connection, on which handlers run.
  public var loop: EventLoop { exchange.loop }

  /// Whether a body follows the head.
  public var hasBody: Bool { head.framing != .none }

  /// Reads the whole body, and answers it again when called again.
  ///
  /// The first call sends `100 Continue` to a client that waits for it, so sizes and rights should be checked before.
  ///
  /// - Parameter limit: the most bytes that are taken.
  /// - Throws: `HTTPError`: too large, compressed, badly framed, too slow, cut off. The connection ends with the answer then.
  public func body(limit: Int) async throws -> [UInt8] {
    if !hasBody { return [] }
    let exchange = exchange
    if loop.isCurrent {
      return try await withUnsafeThrowingContinuation { exchange.awaitBody(limit: limit, $0) }
    }
    return try await loop.hosting {
      guard loop.isCurrent else { throw HTTPError.disconnected }
      return try await withUnsafeThrowingContinuation { exchange.awaitBody(limit: limit, $0) }
    }
  }

  /// Whether the client has stopped sending for good, which nearly always means that it has gone.
  public var isCancelled: Bool { exchange.isDisconnected }

  /// Calls `action` once when the client goes away before the answer is complete; at once when it has gone already. To end a
  /// wait whose result nobody would see. Called on any thread.
  public func onDisconnect(_ action: @escaping @Sendable () -> Void) { exchange.onDisconnect(action) }

  /// A number that the application attaches for its own log, such as an account's id; 0 at first.
  public var label: Int64 {
    get { exchange.label.load(ordering: .relaxed) }
    nonmutating set { exchange.label.store(newValue, ordering: .relaxed) }
  }
}

extension Request {
  /// The parts of the path that a route's pattern names.
  public struct Parameters: Sendable {
    let exchange: Exchange
    let route: Route?

    /// The decoded segment that stands where the pattern has `{name}`.
    public subscript(name: String) -> String? {
      guard let place = route?.captures.first(where: { $0.name == name })?.segment else { return nil }
      return exchange.withPath { path in
        let segments = path.dropFirst().split(
          separator: UInt8(ascii: "/"), maxSplits: place + 1, omittingEmptySubsequences: false)
        guard place < segments.count else { return nil }
        return PercentEncoding.decode(bytes: segments[place], plusIsSpace: false).map {
          String(decoding: $0, as: UTF8.self)
        }
      }
    }
  }

  /// A request without a connection, for calling handlers and routers directly.
  ///
  /// - Throws: `HTTPError` as for a request on the wire.
  public init(
    _ method: Method, _ target: String, _ fields: Fields = [:], body: [UInt8] = [], loop: EventLoop
  ) throws(HTTPError) {
    var text = "\(method.rawValue) \(target) HTTP/1.1\r\n"
    if !fields.contains(.host) { text += "Host: localhost\r\n" }
    for field in fields { text += "\(field.name): \(field.value)\r\n" }
    if !body.isEmpty { text += "Content-Length: \(body.count)\r\n" }
    text += "\r\n"
    let exchange = Exchange(loop: loop, capacity: Exchange.maxCapacity)
    text.withUTF8 { exchange.append(UnsafeRawBufferPointer($0)) }
    switch exchange.parser.parse(exchange.bytes) {
    case .failed(let error): throw error
    case .needMore: throw .badRequestLine
    case .complete: break
    }
    exchange.consumed = exchange.parser.head.length
    exchange.idBits = .random(in: .min ... .max)
    exchange.body.isUsed = true
    exchange.body.bytes = body
    self.init(exchange)
  }
}

extension Exchange {
  /// The path as it came, without the query.
  func withPath<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    if parser.head.impliesSlash { return try [UInt8(ascii: "/")].withUnsafeBytes(body) }
    let target = bytes(parser.head.target)
    let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
    return try body(UnsafeRawBufferPointer(rebasing: target[..<end]))
  }

  /// Gives the body to `continuation` as soon as it is here. On the loop.
  func awaitBody(limit: Int, _ continuation: UnsafeContinuation<[UInt8], any Error>) {
    if parser.head.isCompressed { return continuation.resume(throwing: HTTPError.contentCodingUnsupported) }
    if let failure = body.failure { return continuation.resume(throwing: failure) }
    if body.isUsed, body.decoder.isComplete {
      if body.bytes.count > limit { return continuation.resume(throwing: HTTPError.bodyTooLarge(limit: limit)) }
      return continuation.resume(returning: body.bytes)
    }
    guard let connection, body.waiter == nil else { return continuation.resume(throwing: HTTPError.disconnected) }
    connection.readBody(limit: limit, continuation)
  }
}
