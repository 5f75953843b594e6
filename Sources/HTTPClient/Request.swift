import HTTP

extension HTTPClient {
  /// One request. Bounds are its own, so that a page of a list and a picture can have different ones.
  public struct Request: Sendable {
    /// Sent as it is; `HEAD` gives an answer without a body.
    public var method: Method
    /// Absolute, `http` or `https`, without user or password, at most 8 KiB. Characters outside ASCII are percent-encoded.
    public var url: String
    /// Sent in this order, after `Host`.
    public var fields: Fields
    /// Sent with its `Content-Length`. `nil`: no body.
    public var body: [UInt8]?
    /// Bytes the answer's body may have; one more is `Failure.tooLarge`.
    public var maxBytes: Int
    /// From `send` to the last byte, waiting in the queue included.
    public var timeout: Duration
    /// For looking up the name, connecting and TLS together.
    public var connectTimeout: Duration

    /// A request with the bounds that suit small JSON answers.
    public init(
      _ method: Method = .get, _ url: String, fields: Fields = Fields(), body: [UInt8]? = nil,
      maxBytes: Int = 8 * 1024 * 1024, timeout: Duration = .seconds(15), connectTimeout: Duration = .seconds(3)
    ) {
      self.method = method
      self.url = url
      self.fields = fields
      self.body = body
      self.maxBytes = maxBytes
      self.timeout = timeout
      self.connectTimeout = connectTimeout
    }

    /// The longest URL taken, in bytes.
    public static let maxURLBytes = 8 * 1024
  }

  /// A whole answer: its framing was complete, whatever its status says.
  public struct Response: Sendable {
    /// Of the final answer; interim ones (1xx) are dropped.
    public var status: Status
    /// All lines in the order they came, repeated names included; trailers are dropped.
    public var fields: Fields
    /// As it came: no content coding is undone.
    public var body: [UInt8]

    /// Puts an answer together, as tests do.
    public init(status: Status, fields: Fields, body: [UInt8]) {
      self.status = status
      self.fields = fields
      self.body = body
    }
  }
}
