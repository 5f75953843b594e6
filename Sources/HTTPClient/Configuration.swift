extension HTTPClient {
  /// What holds for all requests of a client.
  public struct Configuration: Sendable {
    /// Sent as `User-Agent` when the request has none of its own. Empty or not a field value: none is sent.
    public var userAgent: String

    /// The only origins that may be asked. `nil`: any over HTTPS.
    public var origins: Set<Origin>?

    /// Origins named by the operator. Only these may be asked over plain HTTP, and only these may be at addresses of this
    /// machine or of a private network (a simulator, an enterprise installation). They need not be in `origins` too.
    public var trustedOrigins: Set<Origin> = []

    /// Transfers under way at once, 1 or more. Further requests wait in a queue.
    public var maxTransfers = 32

    /// Requests waiting for a transfer to end; one more is refused with `Failure.overloaded`.
    public var maxQueued = 256

    /// Idle connections kept for later requests.
    public var maxIdleConnections = 8

    /// Bytes of header and trailer lines an answer may have, interim answers included.
    public var maxHeaderBytes = 64 * 1024

    /// Seconds a connection may be idle before it is not used again.
    public var idleSeconds = 60

    /// Seconds after which a connection is not used again at all.
    public var connectionLifetimeSeconds = 600

    /// An answer that has begun must flow at least this fast, in bytes a second, averaged over `lowSpeedSeconds`.
    public var lowSpeedBytes = 1000

    /// Whole seconds an answer may be slower than `lowSpeedBytes`.
    public var lowSpeedSeconds = 5

    /// A file of certificate authorities in PEM form instead of the system's.
    public var certificateAuthorities: String?

    /// A client that may ask any origin over HTTPS, unless told otherwise.
    public init(userAgent: String, origins: Set<Origin>? = nil, trustedOrigins: Set<Origin> = []) {
      self.userAgent = userAgent
      self.origins = origins
      self.trustedOrigins = trustedOrigins
    }

    /// What an origin may do; `nil` when it may not be asked at all.
    func access(to origin: Origin) -> Access? {
      if trustedOrigins.contains(origin) { return .anyAddress }
      guard origin.scheme == .https else { return nil }
      if let origins, !origins.contains(origin) { return nil }
      return .publicAddresses
    }

    /// Where the host of an origin may be.
    enum Access {
      case publicAddresses
      case anyAddress
    }
  }
}
