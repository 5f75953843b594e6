/// A response's status (RFC 9110, 15).
public struct Status: Hashable, Sendable, CustomStringConvertible {
  /// 100 to 999.
  public let code: Int

  /// Takes any three-digit code, known or not.
  public init(_ code: Int) { self.code = code }

  /// What the first digit says.
  public enum Kind: Sendable {
    /// 1xx: an interim answer.
    case informational
    /// 2xx.
    case successful
    /// 3xx: look elsewhere, or nothing new.
    case redirection
    /// 4xx.
    case clientError
    /// 5xx.
    case serverError
    /// Anything else.
    case invalid
  }

  /// What the first digit says.
  public var kind: Kind {
    switch code {
    case 100..<200: .informational
    case 200..<300: .successful
    case 300..<400: .redirection
    case 400..<500: .clientError
    case 500..<600: .serverError
    default: .invalid
    }
  }

  /// Whether answers with this status never have a body (RFC 9110, 6.4.1).
  public var forbidsBody: Bool { code == 204 || code == 304 || code < 200 }

  /// Code and reason, such as `404 Not Found`.
  public var description: String { reason.isEmpty ? "\(code)" : "\(code) \(reason)" }

  /// The registered phrase; empty for codes this package does not name.
  public var reason: String { String(describing: phrase) }

  package var phrase: StaticString {
    switch code {
    case 100: "Continue"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 451: "Unavailable For Legal Reasons"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: ""
    }
  }
}

extension Status {
  /// 100.
  public static let `continue` = Status(100)
  /// 200.
  public static let ok = Status(200)
  /// 201.
  public static let created = Status(201)
  /// 202.
  public static let accepted = Status(202)
  /// 204.
  public static let noContent = Status(204)
  /// 206.
  public static let partialContent = Status(206)
  /// 301.
  public static let movedPermanently = Status(301)
  /// 302.
  public static let found = Status(302)
  /// 303.
  public static let seeOther = Status(303)
  /// 304.
  public static let notModified = Status(304)
  /// 307.
  public static let temporaryRedirect = Status(307)
  /// 308.
  public static let permanentRedirect = Status(308)
  /// 400.
  public static let badRequest = Status(400)
  /// 401.
  public static let unauthorized = Status(401)
  /// 403.
  public static let forbidden = Status(403)
  /// 404.
  public static let notFound = Status(404)
  /// 405.
  public static let methodNotAllowed = Status(405)
  /// 406.
  public static let notAcceptable = Status(406)
  /// 408.
  public static let requestTimeout = Status(408)
  /// 409.
  public static let conflict = Status(409)
  /// 410.
  public static let gone = Status(410)
  /// 411.
  public static let lengthRequired = Status(411)
  /// 412.
  public static let preconditionFailed = Status(412)
  /// 413.
  public static let contentTooLarge = Status(413)
  /// 414.
  public static let uriTooLong = Status(414)
  /// 415.
  public static let unsupportedMediaType = Status(415)
  /// 416.
  public static let rangeNotSatisfiable = Status(416)
  /// 417.
  public static let expectationFailed = Status(417)
  /// 421.
  public static let misdirectedRequest = Status(421)
  /// 422.
  public static let unprocessableContent = Status(422)
  /// 428.
  public static let preconditionRequired = Status(428)
  /// 429.
  public static let tooManyRequests = Status(429)
  /// 431.
  public static let requestHeaderFieldsTooLarge = Status(431)
  /// 451.
  public static let unavailableForLegalReasons = Status(451)
  /// 500.
  public static let internalServerError = Status(500)
  /// 501.
  public static let notImplemented = Status(501)
  /// 502.
  public static let badGateway = Status(502)
  /// 503.
  public static let serviceUnavailable = Status(503)
  /// 504.
  public static let gatewayTimeout = Status(504)
  /// 505.
  public static let httpVersionNotSupported = Status(505)
}
