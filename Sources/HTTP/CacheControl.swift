/// What a request says about cached answers (RFC 9111, 5.2.1).
public struct CacheControl: Sendable, Equatable {
  /// `no-cache`: not without asking the source.
  public var noCache = false
  /// `no-store`.
  public var noStore = false
  /// `only-if-cached`: rather nothing than asking the source.
  public var onlyIfCached = false
  /// `max-age=N`: not older than so many seconds.
  public var maxAge: Int?

  /// No wishes.
  public init() {}

  /// Reads the `Cache-Control` fields. Unknown and malformed directives are passed over; of repeated ones the strictest counts.
  public init(_ fields: Fields) {
    guard let text = fields[joined: .cacheControl] else { return }
    for member in ListSyntax.split(text, at: UInt8(ascii: ",")) {
      let (name, value) = ListSyntax.parameter(member)
      switch name {
      case "no-cache": noCache = true
      case "no-store": noStore = true
      case "only-if-cached": onlyIfCached = true
      case "max-age":
        if let age = value.flatMap({ ASCII.deltaSeconds($0[...]) }) { maxAge = min(age, maxAge ?? age) }
      default: break
      }
    }
  }
}
