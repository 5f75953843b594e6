/// A request method (RFC 9110, 9). Methods are case-sensitive: `get` is not `GET`.
public struct Method: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  private enum Storage: Hashable {
    case known(Known)
    case other(String)
  }

  private enum Known: UInt8, CaseIterable {
    case get, head, post, put, patch, delete, options, trace, connect

    var name: String {
      switch self {
      case .get: "GET"
      case .head: "HEAD"
      case .post: "POST"
      case .put: "PUT"
      case .patch: "PATCH"
      case .delete: "DELETE"
      case .options: "OPTIONS"
      case .trace: "TRACE"
      case .connect: "CONNECT"
      }
    }
  }

  private let storage: Storage

  private init(_ known: Known) { storage = .known(known) }

  /// Takes any text; unknown methods are kept as they are.
  public init(rawValue: String) {
    let known = Known.allCases.first { $0.name == rawValue }
    storage = known.map { .known($0) } ?? .other(rawValue)
  }

  /// The method as it stands in a request line.
  public var rawValue: String {
    switch storage {
    case .known(let known): known.name
    case .other(let text): text
    }
  }

  /// The same as `rawValue`.
  public var description: String { rawValue }

  /// Whether it is one of the methods of RFC 9110 and RFC 5789. The others are answered with 501.
  public var isKnown: Bool {
    if case .known = storage { return true }
    return false
  }

  /// Whether it only reads (RFC 9110, 9.2.1).
  public var isSafe: Bool { self == .get || self == .head || self == .options || self == .trace }

  /// Whether doing it twice is the same as once (RFC 9110, 9.2.2).
  public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

  /// `GET`.
  public static let get = Method(.get)
  /// `HEAD`.
  public static let head = Method(.head)
  /// `POST`.
  public static let post = Method(.post)
  /// `PUT`.
  public static let put = Method(.put)
  /// `PATCH` (RFC 5789).
  public static let patch = Method(.patch)
  /// `DELETE`.
  public static let delete = Method(.delete)
  /// `OPTIONS`.
  public static let options = Method(.options)
  /// `TRACE`.
  public static let trace = Method(.trace)
  /// `CONNECT`.
  public static let connect = Method(.connect)
}
