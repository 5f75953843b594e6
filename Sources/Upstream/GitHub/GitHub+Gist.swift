import JSONText

extension GitHub {
  /// A gist as a list shows it: without the files' contents.
  public struct Gist: ListedItem {
    /// The longest id taken, in bytes; GitHub's have 32 digits, old ones fewer.
    static let maxIdentityBytes = 64

    /// The identity: hexadecimal digits, which old gists' decimal ones are, too.
    public let identity: String
    /// Whose it is; of some nobody knows any more.
    public let owner: Member?
    /// The list item as it came, cleaned.
    public let document: [UInt8]

    /// Reads an item of a list.
    public init(_ view: JSONView, at index: Int) throws(Malformed) {
      guard view.kind == .object else { throw Malformed("not an object", at: "/\(index)") }
      guard let id = view["id"]?.string, (1...Self.maxIdentityBytes).contains(id.utf8.count),
        id.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) })
      else { throw Malformed("not a gist's id", at: "/\(index)/id") }
      identity = id
      // Of two names for one thing the older one is null by now.
      let owner = [view["owner"], view["user"]].compactMap { $0 }.first { $0["id"]?.int != nil }
      if let owner { self.owner = try Member(owner, place: "/\(index)/owner") } else { self.owner = nil }
      document = view.bytes
    }

    /// Secret gists are listed to their owner's own token alone, and known to whoever knows their address.
    public var isPublic: Bool { true }
  }

  /// An organization as the list of somebody's memberships shows it.
  public struct Organization: ListedItem {
    /// The identity, which never changes.
    public let id: Int64
    /// The present login in its own spelling, 1 to 255 bytes.
    public let login: String
    /// The list item as it came, cleaned.
    public let document: [UInt8]

    /// Reads an item of a list.
    public init(_ view: JSONView, at index: Int) throws(Malformed) {
      guard view.kind == .object else { throw Malformed("not an object", at: "/\(index)") }
      (id, login) = try Document.identity(of: view, at: "/\(index)")
      document = view.bytes
    }

    /// The id.
    public var identity: String { String(id) }
    /// Only public memberships are listed, whoever asks.
    public var isPublic: Bool { true }
  }
}
