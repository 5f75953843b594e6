import EventLoop

/// One open stream, between the hub that has events for it and the task that sends them.
///
/// Idle ones are many, so they hold little: no connection, no timer, no buffer.
public final class StreamSubscription: Sendable {
  /// Why a stream ends.
  public enum End: Sendable {
    /// The server ends.
    case drain
    /// The session is not good any more.
    case revoked
    /// Too many bytes wait for the client.
    case slow
    /// The stream's place is below the horizon.
    case expired
    /// The client has gone.
    case gone
  }

  /// Bytes that may wait for the task, beside what the connection holds for the client.
  static let maxWaiting = 256 << 10

  private struct State {
    var chunks: [[UInt8]] = []
    var waiting = 0
    /// Up to this version events were added.
    var sent: Int64
    /// Up to this version the task has them.
    var given: Int64
    var nextPing: UInt64 = 0
    var end: End?
    var waiter: UnsafeContinuation<Void, Never>?
  }

  /// Whose changes it tells.
  public let account: Int64
  let token: [UInt8]
  let session: String
  private let release: @Sendable () -> Void
  private let state: Lock<State>

  init(
    account: Int64, token: [UInt8], session: String, version: Int64, release: @escaping @Sendable () -> Void
  ) {
    self.account = account
    self.token = token
    self.session = session
    self.release = release
    state = Lock(State(sent: version, given: version))
  }

  deinit { release() }

  /// Up to which version the task has everything.
  public var version: Int64 { state.withLock { $0.given } }

  /// Why it has ended, if it has.
  public var end: End? { state.withLock { $0.end } }

  /// The next bytes to be sent; `nil` at the end. To be called by one task at a time.
  public func next() async -> [UInt8]? {
    while true {
      let (bytes, isOver) = state.withLock { state -> ([UInt8]?, Bool) in
        if state.chunks.isEmpty { return (nil, state.end != nil) }
        defer {
          state.chunks = []
          state.waiting = 0
          state.given = state.sent
        }
        return (state.chunks.count == 1 ? state.chunks[0] : Array(state.chunks.joined()), false)
      }
      if let bytes { return bytes }
      if isOver { return nil }
      await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        let isReady = state.withLock { state in
          if !state.chunks.isEmpty || state.end != nil { return true }
          state.waiter = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    }
  }

  /// Ends it. What waits is still sent, unless nobody may see it.
  public func finish(_ end: End) {
    wake { state in
      if state.end != nil { return }
      state.end = end
      switch end {
      case .revoked, .gone, .slow: state.chunks = []
      case .drain, .expired: break
      }
    }
  }

  /// The task has sent events by itself, to catch up.
  public func caughtUp(to version: Int64) {
    state.withLock { state in
      state.sent = version
      state.given = version
    }
  }

  func joined(nextPing: UInt64) { state.withLock { $0.nextPing = nextPing } }

  /// Events from above `since` up to `version`. A stream that is further ahead gets only those it has not had.
  ///
  /// - Returns: how many were new to it, and whether they were too many for its client.
  func offer(_ events: EventBatch, since: Int64) -> (count: Int, isTooSlow: Bool) {
    var count = 0
    var isTooSlow = false
    wake { state in
      let chunk: [UInt8]
      if state.sent <= since {
        (chunk, count) = (events.bytes, events.count)
      } else {
        (chunk, count) = events.above(state.sent)
      }
      state.sent = max(state.sent, events.version)
      if !chunk.isEmpty { isTooSlow = !StreamSubscription.add(chunk, to: &state) }
    }
    return (count, isTooSlow)
  }

  /// A ping, if it is time for one.
  func ping(_ bytes: [UInt8], next: UInt64) {
    wake { state in
      state.nextPing = next
      // What waits is as good a sign of life.
      if state.chunks.isEmpty { _ = StreamSubscription.add(bytes, to: &state) }
    }
  }

  /// Something that has no place in the order of versions.
  func add(_ bytes: [UInt8]) { wake { _ = StreamSubscription.add(bytes, to: &$0) } }

  func isDue(at now: UInt64) -> Bool { state.withLock { $0.nextPing <= now && $0.end == nil } }

  /// `false` when that is the end, since too much waits already.
  private static func add(_ chunk: [UInt8], to state: inout State) -> Bool {
    guard state.end == nil else { return true }
    // A single large batch is fine: the bytes are shared by all streams of the account.
    if !state.chunks.isEmpty, state.waiting + chunk.count > maxWaiting {
      state.chunks = []
      state.end = .slow
      return false
    }
    state.chunks.append(chunk)
    state.waiting += chunk.count
    return true
  }

  private func wake(_ change: (inout State) -> Void) {
    let waiter = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      change(&state)
      guard !state.chunks.isEmpty || state.end != nil else { return nil }
      return state.waiter.take()
    }
    waiter?.resume()
  }
}

/// Events of one read, written once for all streams of the account.
struct EventBatch: Sendable {
  private let places: [(version: Int64, start: Int)]
  let bytes: [UInt8]
  let version: Int64

  var count: Int { places.count }

  init(_ page: Sync.Page) {
    var bytes: [UInt8] = []
    var places: [(version: Int64, start: Int)] = []
    page.forEachEntry { version, entry in
      places.append((version, bytes.count))
      StreamEvents.append(entry, version: version, to: &bytes)
    }
    self.bytes = bytes
    self.places = places
    version = page.version
  }

  /// Those above a version.
  func above(_ version: Int64) -> (bytes: [UInt8], count: Int) {
    guard let first = places.firstIndex(where: { $0.version > version }) else { return ([], 0) }
    return (Array(bytes[places[first].start...]), places.count - first)
  }
}
