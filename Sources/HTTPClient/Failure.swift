import CLibcurl

extension HTTPClient {
  /// Why there is no answer. Carries nothing of the request: URLs may hold keys.
  public enum Failure: Error, Equatable, Sendable {
    /// One of the request's times ran out, or the answer flowed too slowly.
    case timedOut
    /// The host's name has no address.
    case unresolved
    /// Nobody listens there, or the network is away.
    case connectFailed
    /// The connection broke, or ended before the answer began.
    case connectionLost
    /// The body ended before its announced end.
    case truncated
    /// The body has more than `Request.maxBytes`, or the header section more than `Configuration.maxHeaderBytes`.
    case tooLarge
    /// What came is not an HTTP answer.
    case invalidAnswer
    /// The host is at an address of this machine or of a private network.
    case refusedAddress
    /// The URL is not `https`, and its origin is not trusted with plain `http`.
    case refusedProtocol
    /// The URL's origin is not among those that may be asked.
    case refusedOrigin
    /// The URL, a field or a bound of the request cannot be sent.
    case invalidRequest
    /// TLS could not be agreed on, or the certificate is not the host's.
    case tls
    /// As many requests wait as may.
    case overloaded
    /// The client was stopped.
    case stopped
    /// Anything else, with libcurl's code (`CURLcode`).
    case other(code: Int32)

    /// Maps libcurl's verdict; `addressesRefused` when not one address was left to connect to.
    init(_ code: CURLcode, addressesRefused: Bool) {
      switch code {
      case CURLE_OPERATION_TIMEDOUT: self = .timedOut
      case CURLE_COULDNT_RESOLVE_HOST: self = .unresolved
      case CURLE_COULDNT_CONNECT: self = addressesRefused ? .refusedAddress : .connectFailed
      case CURLE_PARTIAL_FILE: self = .truncated
      case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR: self = .connectionLost
      case CURLE_FILESIZE_EXCEEDED: self = .tooLarge
      // The scheme was checked before: here it means an HTTP/0.9 answer, or an HTTP version that does not exist.
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: self = .invalidAnswer
      case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
        self = .tls
      default: self = .other(code: Int32(bitPattern: code.rawValue))
      }
    }
  }
}

extension HTTPClient.Failure: CustomStringConvertible, CustomDebugStringConvertible {
  /// For people who asked for something that needed this request.
  public var description: String {
    switch self {
    case .timedOut: "the upstream did not answer in time"
    case .unresolved, .connectFailed: "the upstream cannot be reached"
    case .connectionLost, .truncated: "the upstream's answer broke off"
    case .tooLarge: "the upstream's answer is too large"
    case .invalidAnswer: "the upstream's answer cannot be understood"
    case .refusedAddress, .refusedProtocol, .refusedOrigin: "the address is not allowed"
    case .invalidRequest: "the request cannot be sent"
    case .tls: "no secure connection to the upstream"
    case .overloaded: "too many upstream requests are waiting"
    case .stopped: "the client was stopped"
    case .other: "the upstream request failed"
    }
  }

  /// For logs: the case, and libcurl's own words for a code.
  public var debugDescription: String {
    switch self {
    case .other(let code):
      "other(\(code)): " + String(cString: curl_easy_strerror(CURLcode(rawValue: UInt32(bitPattern: code))))
    case .timedOut: "timedOut"
    case .unresolved: "unresolved"
    case .connectFailed: "connectFailed"
    case .connectionLost: "connectionLost"
    case .truncated: "truncated"
    case .tooLarge: "tooLarge"
    case .invalidAnswer: "invalidAnswer"
    case .refusedAddress: "refusedAddress"
    case .refusedProtocol: "refusedProtocol"
    case .refusedOrigin: "refusedOrigin"
    case .invalidRequest: "invalidRequest"
    case .tls: "tls"
    case .overloaded: "overloaded"
    case .stopped: "stopped"
    }
  }
}
