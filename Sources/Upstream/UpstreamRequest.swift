import HTTP

/// One kind of question to an upstream: how it is asked, and how its answer is read. Values and pure functions only.
public protocol UpstreamRequest: Sendable {
  /// What a good answer holds.
  associatedtype Answer: Sendable

  /// The budget it is taken from, such as `core` or `search`; what the answer says was charged may be another.
  var resource: String { get }

  /// The call to send. A credential goes along only to the service's own origin. With validators the answer may be
  /// ``Outcome/notModified``; they must come from the same URL and the same credential.
  func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall

  /// What an answer means. The status is judged before the body, and no answer whatever is an error here.
  func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<Answer>
}

extension UpstreamRequest {
  /// GitHub's budget for everything that has none of its own.
  public var resource: String { "core" }
}

/// A secret that is sent to an upstream. It prints as nothing.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
  /// The secret itself.
  public let token: String

  /// A token of 1 to 512 visible ASCII characters, `nil` for any other text.
  public init?(token: String) {
    guard (1...512).contains(token.utf8.count), token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
    self.token = token
  }

  /// Never the secret.
  public var description: String { "credential" }
  /// Never the secret.
  public var debugDescription: String { description }
}

/// What makes a conditional request: sent back exactly as it came, `W/` and quotes included.
public struct Validators: Sendable, Equatable {
  /// The value of `ETag`.
  public var etag: String?
  /// The value of `Last-Modified`.
  public var lastModified: String?

  /// Validators as they were stored.
  public init(etag: String?, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// The validators of an answer; overlong ones are left out.
  public init(of fields: Fields) {
    func short(_ value: String?) -> String? { value.flatMap { (1...512).contains($0.utf8.count) ? $0 : nil } }
    etag = short(fields[.etag])
    lastModified = short(fields[.lastModified])
  }

  /// Adds the condition. Only one: where an entity tag is known the date says nothing more (RFC 9110, 13.1.3).
  func add(to fields: inout Fields) {
    if let etag {
      fields.append(.ifNoneMatch, etag)
    } else if let lastModified {
      fields.append(.ifModifiedSince, lastModified)
    }
  }
}
