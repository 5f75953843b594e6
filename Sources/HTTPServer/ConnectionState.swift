/// Where a connection is in its life, and until when it may stay there. Pure: time comes in, decisions go out.
///
/// ```
/// idle ──byte──▶ head ──complete──▶ handling ──answer──▶ (writing) ──▶ idle | draining ──▶ idle | lingering ──▶ closed
/// ```
struct ConnectionState {
  enum Phase {
    /// Between requests.
    case idle
    /// Some bytes of a head are here.
    case head
    /// A handler has the request; it may be reading the body or streaming.
    case handling
    /// The answer waits for the client to take it.
    case writing
    /// The answer is out; the rest of the request's body is being read and dropped.
    case draining
    /// Nothing is sent any more; what the client still sends is dropped, so that it sees the answer and not a reset.
    case lingering
    case closed
  }

  /// What to do when a deadline has passed.
  enum Expiry {
    /// Nobody waits for an answer.
    case close
    /// Answer 408, then close.
    case refuseHead
    /// The handler's read of the body fails with a timeout.
    case failBody
  }

  /// What follows an answer.
  enum Next {
    case request
    case drain
    case close
  }

  /// What is known when an answer is about to be sent.
  struct Answer {
    var requestKeepsAlive: Bool
    var responseCloses = false
    var serverDrains = false
    var bodyIsComplete = true
    /// Bytes of the body still to come, if its length is known.
    var bodyRemaining: Int?
    var bodyFailed = false
    /// The client still waits for `100 Continue`, so whether the body will come is open.
    var owesContinue = false
  }

  /// Bytes of an unread body, or of anything after the end, that are read just to drop them.
  static let maxDropped = 65_536
  /// Bytes dropped while lingering, at most: what a client may have on its way when it learns that its body is too large. Were
  /// they left in the socket, the reset would take the answer with it.
  static let maxLingered = 16 << 20

  private(set) var phase = Phase.idle
  /// When the present phase is over; `.max` for never.
  private(set) var deadline: UInt64
  private var requests: UInt32 = 0
  /// The deadline is the body's, not that of an answer that streams.
  private var awaitsBody = false
  private var bodyBegan: UInt64 = 0
  private var bodyBytes: UInt64 = 0

  init(now: UInt64, _ deadlines: Deadlines) { deadline = now + deadlines.keepAlive }

  // MARK: Requests

  mutating func headBegan(now: UInt64, _ deadlines: Deadlines) {
    guard phase == .idle else { return }
    phase = .head
    deadline = now + deadlines.head
  }

  mutating func requestBegan() {
    phase = .handling
    deadline = .max
    requests &+= 1
    awaitsBody = false
    bodyBytes = 0
  }

  mutating func bodyAwaited(now: UInt64, _ deadlines: Deadlines) {
    awaitsBody = true
    bodyBegan = now
    deadline = bodyDeadline(now, deadlines)
  }

  mutating func bodyReceived(_ count: Int, now: UInt64, _ deadlines: Deadlines) {
    bodyBytes += UInt64(count)
    deadline = bodyDeadline(now, deadlines)
  }

  mutating func bodyEnded() {
    awaitsBody = false
    deadline = .max
  }

  /// The sooner of "nothing came for too long" and "too little came in all".
  private func bodyDeadline(_ now: UInt64, _ deadlines: Deadlines) -> UInt64 {
    let earned = bodyBytes.multipliedFullWidth(by: 1_000_000_000)
    let rate = max(deadlines.bodyRate, 1)
    let seconds = earned.high >= rate ? UInt64.max / 4 : rate.dividingFullWidth(earned).quotient
    return min(now + deadlines.bodyIdle, bodyBegan + deadlines.bodyIdle + min(seconds, UInt64.max / 4))
  }

  // MARK: Answers

  /// What comes after an answer; asked before it is sent, since the head must announce a close.
  func next(after answer: Answer, maxRequests: Int) -> Next {
    if !answer.requestKeepsAlive || answer.responseCloses || answer.serverDrains || answer.bodyFailed
      || Int(requests) >= maxRequests
    {
      return .close
    }
    if answer.bodyIsComplete { return .request }
    if answer.owesContinue { return .close }
    if let remaining = answer.bodyRemaining, remaining > ConnectionState.maxDropped { return .close }
    return .drain
  }

  /// The client does not take bytes now.
  mutating func writeBlocked(now: UInt64, _ deadlines: Deadlines) { deadline = now + deadlines.writeIdle }

  /// The last bytes of a streaming answer so far were taken.
  mutating func writeUnblocked() { deadline = .max }

  /// The answer is made but not taken.
  mutating func answerWaits(now: UInt64, _ deadlines: Deadlines) {
    phase = .writing
    deadline = now + deadlines.writeIdle
  }

  mutating func becameIdle(now: UInt64, _ deadlines: Deadlines) {
    phase = .idle
    deadline = now + deadlines.keepAlive
  }

  mutating func drainBegan(now: UInt64, _ deadlines: Deadlines) {
    phase = .draining
    deadline = now + deadlines.bodyIdle
  }

  mutating func lingerBegan(now: UInt64, _ deadlines: Deadlines) {
    phase = .lingering
    deadline = now + deadlines.linger
  }

  mutating func closed() {
    phase = .closed
    deadline = .max
  }

  /// What is due at `now`, if anything.
  func expiry(now: UInt64) -> Expiry? {
    if now < deadline { return nil }
    switch phase {
    case .idle, .writing, .draining, .lingering: return .close
    case .head: return .refuseHead
    case .handling: return awaitsBody ? .failBody : .close
    case .closed: return nil
    }
  }
}
