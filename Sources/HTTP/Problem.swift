import JSONText

/// An error as clients see it: `application/problem+json` (RFC 9457).
public struct Problem: Sendable, Equatable {
  /// What is wrong with one part of a request's body.
  public struct Detail: Sendable, Equatable {
    /// JSON Pointer to the part (RFC 6901); empty for the whole.
    public var pointer: String
    /// One sentence.
    public var detail: String
    /// More members, such as those that GitHub's clients read; written in order after the others.
    public var members: [Member] = []

    /// A pointer and a sentence.
    public init(pointer: String, detail: String) {
      self.pointer = pointer
      self.detail = detail
    }
  }

  /// What an upstream's answer said.
  public struct Upstream: Sendable, Equatable {
    /// The upstream's status.
    public var status: Int?
    /// Requests allowed in its present window.
    public var limit: Int?
    /// Requests left in it.
    public var remaining: Int?
    /// When it ends, in seconds since 1970.
    public var reset: Int64?

    /// Unknown parts are left out of the document.
    public init(status: Int? = nil, limit: Int? = nil, remaining: Int? = nil, reset: Int64? = nil) {
      self.status = status
      self.limit = limit
      self.remaining = remaining
      self.reset = reset
    }
  }

  /// The document's media type.
  public static let contentType = "application/problem+json"

  /// The same as the answer's status.
  public var status: Status
  /// Stable name, such as `github/user-not-found`. `type` is `/problems/` and this.
  public var code: String
  /// Fixed for a code.
  public var title: String
  /// About this case; never text of an upstream, a database or a stack.
  public var detail: String?
  /// The request's id.
  public var requestID: String?
  /// Parts of the body that are wrong.
  public var errors: [Detail] = []
  /// Seconds after which another try makes sense.
  public var retryAfter: Int?
  /// What the upstream said, if one was asked.
  public var upstream: Upstream?
  /// More members, such as GitHub's `message`; written in order after the others.
  public var members: [Member] = []

  /// A further member of the document.
  public struct Member: Sendable, Equatable {
    /// The member's name.
    public var name: String
    /// Its text.
    public var value: String

    /// A name and its text.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The title defaults to the status's reason.
  public init(_ status: Status, code: String, title: String? = nil, detail: String? = nil) {
    self.status = status
    self.code = code
    self.title = title ?? status.reason
    self.detail = detail
  }

  /// The document.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 256)
    write(to: &writer)
    return writer.bytes
  }

  /// Appends the document as one object.
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("type")
    writer.string("/problems/\(code)")
    writer.key("title")
    writer.string(title)
    writer.key("status")
    writer.int(status.code)
    if let detail {
      writer.key("detail")
      writer.string(detail)
    }
    writer.key("code")
    writer.string(code)
    if let requestID {
      writer.key("request_id")
      writer.string(requestID)
    }
    if !errors.isEmpty { writeErrors(to: &writer) }
    if let retryAfter {
      writer.key("retry_after")
      writer.int(retryAfter)
    }
    upstream?.write(to: &writer)
    for member in members {
      writer.key(member.name)
      writer.string(member.value)
    }
    writer.endObject()
  }

  private func writeErrors(to writer: inout JSONWriter) {
    writer.key("errors")
    writer.beginArray()
    for error in errors {
      writer.beginObject()
      writer.key("pointer")
      writer.string(error.pointer)
      writer.key("detail")
      writer.string(error.detail)
      for member in error.members {
        writer.key(member.name)
        writer.string(member.value)
      }
      writer.endObject()
    }
    writer.endArray()
  }
}

extension Problem.Upstream {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.key("upstream")
    writer.beginObject()
    let numbers: [(StaticString, Int64?)] = [
      ("status", status.map(Int64.init)), ("limit", limit.map(Int64.init)),
      ("remaining", remaining.map(Int64.init)), ("reset", reset),
    ]
    for (name, number) in numbers {
      guard let number else { continue }
      writer.key(name)
      writer.int(number)
    }
    writer.endObject()
  }
}
