import EventLoop
import HTTP

extension Server {
  /// Limits, deadlines and hooks. Heads are limited by fixed sizes: request line 8 KiB (414), field 8 KiB, all fields 32 KiB or
  /// 100 of them (431), method 32 bytes (501); chunk lines 256 bytes and trailers 8 KiB (400, 431).
  public struct Configuration: Sendable {
    /// Connections open at once; one more is answered 503 and closed.
    public var maxConnections = 10_000
    /// Of these, from one address, or one /64 of IPv6; one more is answered 503 and closed, so that nobody takes them all.
    public var maxConnectionsPerPeer = 5_000
    /// Whether a peer is one client. This machine is many, and so is a proxy.
    public var countsPeer: @Sendable (SocketAddress) -> Bool = { !$0.isLoopback }
    /// Requests being handled at once; one more is answered 503. Streams count until their head is out.
    public var maxRequestsInFlight = 512
    /// Requests after which a connection is closed.
    public var maxRequestsPerConnection = 10_000
    /// From the first byte of a head to its last; 408 then.
    public var headTimeout = Duration.seconds(10)
    /// Without a byte of a body that is being read; 408 then.
    public var bodyIdleTimeout = Duration.seconds(10)
    /// Bytes per second that a body must arrive with on the whole, after `bodyIdleTimeout` of grace; 408 else.
    public var minimumBodyRate = 256
    /// Without the client taking a byte of an answer; the connection is cut then.
    public var writeIdleTimeout = Duration.seconds(10)
    /// Without a request; the connection is closed silently then.
    public var keepAliveTimeout = Duration.seconds(30)
    /// For a client to see the answer before a closing connection is closed.
    public var lingerTimeout = Duration.seconds(1)
    /// The `Server` field; none when `nil`.
    public var serverName: String?
    /// Whether a host (lowered, without port) is served here; else 421. `nil` serves any.
    public var allowsHost: (@Sendable (String) -> Bool)?
    /// Makes the answer for requests that never reach `respond`, from what is wrong and the request's id.
    public var errorResponse: @Sendable (HTTPError, String) -> Response = { $0.response(requestID: $1) }
    /// Told what happens, if set.
    public var observer = Observer()

    /// The defaults.
    public init() {}

    var deadlines: Deadlines {
      Deadlines(
        head: headTimeout.wholeNanoseconds, bodyIdle: bodyIdleTimeout.wholeNanoseconds,
        bodyRate: UInt64(clamping: minimumBodyRate), writeIdle: writeIdleTimeout.wholeNanoseconds,
        keepAlive: keepAliveTimeout.wholeNanoseconds, linger: lingerTimeout.wholeNanoseconds)
    }
  }

  /// Called on the loop's thread, so it must be quick. What is not set costs nothing.
  public struct Observer: Sendable {
    /// An answer was sent or given up.
    public var requestEnded: (@Sendable (Report) -> Void)?
    /// A connection was accepted.
    public var connectionOpened: (@Sendable () -> Void)?
    /// A connection was closed.
    public var connectionClosed: (@Sendable () -> Void)?

    /// Nothing is observed.
    public init() {}
  }

  /// One request, seen from its end.
  public struct Report: Sendable {
    /// The request and what it carries: id, method, pattern, label, peer.
    public let request: Request
    /// The answer's status.
    public let status: Status
    /// Bytes of head and body that the kernel took.
    public let bytesSent: Int
    /// Nanoseconds from the complete head to the end of the answer.
    public let duration: UInt64
    /// Whether the whole answer was sent. `false` when the client went away or was too slow.
    public let isComplete: Bool
  }
}
