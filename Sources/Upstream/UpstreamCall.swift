import HTTP

/// A GET that some upstream should answer, as plain values: who sends it is no business of this module.
public struct UpstreamCall: Sendable {
  /// The absolute URL.
  public var url: String
  /// The fields to send, in order. `Host`, `Connection` and the like are the sender's.
  public var fields: Fields
  /// The longest body to accept, in bytes after decoding; a longer one must be given up.
  public var maxBytes: Int
  /// The time from the first attempt to connect to the last byte.
  public var timeout: Duration

  /// A call with everything said.
  public init(url: String, fields: Fields, maxBytes: Int, timeout: Duration = .seconds(15)) {
    self.url = url
    self.fields = fields
    self.maxBytes = maxBytes
    self.timeout = timeout
  }
}

/// What an upstream said, whole.
public struct UpstreamAnswer: Sendable {
  /// The status code, 100 to 599.
  public var status: Int
  /// All field lines in their order.
  public var fields: Fields
  /// The body after decoding.
  public var body: [UInt8]
  /// When the answer came, in seconds since 1970 by our clock.
  public var receivedAt: Int64

  /// An answer with everything said.
  public init(status: Int, fields: Fields, body: [UInt8], receivedAt: Int64) {
    self.status = status
    self.fields = fields
    self.body = body
    self.receivedAt = receivedAt
  }

  /// The time of the answer by the upstream's clock, by ours when it does not tell. Times it names are measured
  /// from here, so that a clock that is wrong on either side does no harm.
  public var date: Int64 { fields[.date].flatMap(HTTPDate.parse) ?? receivedAt }

  /// `Retry-After` as seconds from the answer, in either of its forms (RFC 9110, 10.2.3). `nil` when it is absent or
  /// makes no sense; a moment in the past is 0, and more than ``Limit/maxSeconds`` is cut to that.
  public var retryAfter: Int64? {
    guard let text = fields[.retryAfter] else { return nil }
    if let seconds = Int64(text) { return seconds >= 0 ? min(seconds, Limit.maxSeconds) : nil }
    return HTTPDate.parse(text).map { min(max($0 - date, 0), Limit.maxSeconds) }
  }
}
