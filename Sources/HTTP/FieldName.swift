extension Fields {
  /// A field's name: a token, compared without regard to ASCII case (RFC 9110, 5.1).
  public struct Name: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// As it was written.
    public let description: String

    /// `nil` when the text is not a token.
    public init?(_ text: String) {
      guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isToken) else { return nil }
      description = text
    }

    /// Names in the source text are known when it is written; one that is not a token ends the process.
    public init(stringLiteral text: String) {
      precondition(!text.isEmpty && text.utf8.allSatisfy(ASCII.isToken), "not a field name: \(text)")
      description = text
    }

    package init(unchecked text: String) { description = text }

    /// The same name in any case.
    public static func == (a: Name, b: Name) -> Bool { ASCII.equalsIgnoringCase(a.description, b.description) }

    /// Agrees with `==`.
    public func hash(into hasher: inout Hasher) {
      for byte in description.utf8 { hasher.combine(ASCII.lowercase(byte)) }
    }
  }
}

extension Fields.Name {
  /// `Accept`.
  public static let accept = Fields.Name(unchecked: "Accept")
  /// `Accept-Encoding`.
  public static let acceptEncoding = Fields.Name(unchecked: "Accept-Encoding")
  /// `Accept-Language`.
  public static let acceptLanguage = Fields.Name(unchecked: "Accept-Language")
  /// `Access-Control-Allow-Headers`.
  public static let accessControlAllowHeaders = Fields.Name(unchecked: "Access-Control-Allow-Headers")
  /// `Access-Control-Allow-Methods`.
  public static let accessControlAllowMethods = Fields.Name(unchecked: "Access-Control-Allow-Methods")
  /// `Access-Control-Allow-Origin`.
  public static let accessControlAllowOrigin = Fields.Name(unchecked: "Access-Control-Allow-Origin")
  /// `Access-Control-Expose-Headers`.
  public static let accessControlExposeHeaders = Fields.Name(unchecked: "Access-Control-Expose-Headers")
  /// `Access-Control-Max-Age`.
  public static let accessControlMaxAge = Fields.Name(unchecked: "Access-Control-Max-Age")
  /// `Access-Control-Request-Headers`.
  public static let accessControlRequestHeaders = Fields.Name(unchecked: "Access-Control-Request-Headers")
  /// `Access-Control-Request-Method`.
  public static let accessControlRequestMethod = Fields.Name(unchecked: "Access-Control-Request-Method")
  /// `Age`.
  public static let age = Fields.Name(unchecked: "Age")
  /// `Allow`.
  public static let allow = Fields.Name(unchecked: "Allow")
  /// `Authorization`.
  public static let authorization = Fields.Name(unchecked: "Authorization")
  /// `Cache-Control`.
  public static let cacheControl = Fields.Name(unchecked: "Cache-Control")
  /// `Cache-Status`.
  public static let cacheStatus = Fields.Name(unchecked: "Cache-Status")
  /// `Connection`.
  public static let connection = Fields.Name(unchecked: "Connection")
  /// `Content-Disposition`.
  public static let contentDisposition = Fields.Name(unchecked: "Content-Disposition")
  /// `Content-Encoding`.
  public static let contentEncoding = Fields.Name(unchecked: "Content-Encoding")
  /// `Content-Length`.
  public static let contentLength = Fields.Name(unchecked: "Content-Length")
  /// `Content-Security-Policy`.
  public static let contentSecurityPolicy = Fields.Name(unchecked: "Content-Security-Policy")
  /// `Content-Type`.
  public static let contentType = Fields.Name(unchecked: "Content-Type")
  /// `Cookie`.
  public static let cookie = Fields.Name(unchecked: "Cookie")
  /// `Cross-Origin-Opener-Policy`.
  public static let crossOriginOpenerPolicy = Fields.Name(unchecked: "Cross-Origin-Opener-Policy")
  /// `Cross-Origin-Resource-Policy`.
  public static let crossOriginResourcePolicy = Fields.Name(unchecked: "Cross-Origin-Resource-Policy")
  /// `Date`.
  public static let date = Fields.Name(unchecked: "Date")
  /// `ETag`.
  public static let etag = Fields.Name(unchecked: "ETag")
  /// `Expect`.
  public static let expect = Fields.Name(unchecked: "Expect")
  /// `Host`.
  public static let host = Fields.Name(unchecked: "Host")
  /// `If-Match`.
  public static let ifMatch = Fields.Name(unchecked: "If-Match")
  /// `If-Modified-Since`.
  public static let ifModifiedSince = Fields.Name(unchecked: "If-Modified-Since")
  /// `If-None-Match`.
  public static let ifNoneMatch = Fields.Name(unchecked: "If-None-Match")
  /// `If-Unmodified-Since`.
  public static let ifUnmodifiedSince = Fields.Name(unchecked: "If-Unmodified-Since")
  /// `Idempotency-Key`.
  public static let idempotencyKey = Fields.Name(unchecked: "Idempotency-Key")
  /// `Last-Event-ID`.
  public static let lastEventID = Fields.Name(unchecked: "Last-Event-ID")
  /// `Last-Modified`.
  public static let lastModified = Fields.Name(unchecked: "Last-Modified")
  /// `Link`.
  public static let link = Fields.Name(unchecked: "Link")
  /// `Location`.
  public static let location = Fields.Name(unchecked: "Location")
  /// `Origin`.
  public static let origin = Fields.Name(unchecked: "Origin")
  /// `Permissions-Policy`.
  public static let permissionsPolicy = Fields.Name(unchecked: "Permissions-Policy")
  /// `Prefer`.
  public static let prefer = Fields.Name(unchecked: "Prefer")
  /// `Preference-Applied`.
  public static let preferenceApplied = Fields.Name(unchecked: "Preference-Applied")
  /// `Referrer-Policy`.
  public static let referrerPolicy = Fields.Name(unchecked: "Referrer-Policy")
  /// `Retry-After`.
  public static let retryAfter = Fields.Name(unchecked: "Retry-After")
  /// `Sec-Fetch-Site`.
  public static let secFetchSite = Fields.Name(unchecked: "Sec-Fetch-Site")
  /// `Server`.
  public static let server = Fields.Name(unchecked: "Server")
  /// `Server-Timing`.
  public static let serverTiming = Fields.Name(unchecked: "Server-Timing")
  /// `Set-Cookie`.
  public static let setCookie = Fields.Name(unchecked: "Set-Cookie")
  /// `Strict-Transport-Security`.
  public static let strictTransportSecurity = Fields.Name(unchecked: "Strict-Transport-Security")
  /// `Transfer-Encoding`.
  public static let transferEncoding = Fields.Name(unchecked: "Transfer-Encoding")
  /// `User-Agent`.
  public static let userAgent = Fields.Name(unchecked: "User-Agent")
  /// `Vary`.
  public static let vary = Fields.Name(unchecked: "Vary")
  /// `WWW-Authenticate`.
  public static let wwwAuthenticate = Fields.Name(unchecked: "WWW-Authenticate")
  /// `X-Content-Type-Options`.
  public static let xContentTypeOptions = Fields.Name(unchecked: "X-Content-Type-Options")
  /// `X-Forwarded-For`.
  public static let xForwardedFor = Fields.Name(unchecked: "X-Forwarded-For")
  /// `X-Request-Id`.
  public static let xRequestID = Fields.Name(unchecked: "X-Request-Id")
}
