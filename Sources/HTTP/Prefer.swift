/// What the client would like, if it is no trouble (RFC 7240).
public struct Prefer: Sendable, Equatable {
  /// `wait=N`: seconds it is willing to wait.
  public var wait: Int?
  /// `respond-async`: rather a 202 than a wait.
  public var respondAsync = false

  /// No preferences.
  public init() {}

  /// Reads the `Prefer` fields. The first of repeated preferences counts; unknown and malformed ones are passed over.
  public init(_ fields: Fields) {
    guard let text = fields[joined: .prefer] else { return }
    var sawWait = false
    for member in ListSyntax.split(text, at: UInt8(ascii: ",")) {
      guard let first = ListSyntax.split(member, at: UInt8(ascii: ";")).first else { continue }
      let (name, value) = ListSyntax.parameter(first)
      switch name {
      case "respond-async": respondAsync = true
      case "wait":
        if !sawWait { wait = value.flatMap { ASCII.deltaSeconds($0[...]) } }
        sawWait = true
      default: break
      }
    }
  }
}
