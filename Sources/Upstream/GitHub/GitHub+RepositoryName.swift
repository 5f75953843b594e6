import HTTP

extension GitHub {
  /// A repository's name, guarded so that it is one segment of a path and nothing else.
  public struct RepositoryName: Sendable, Hashable, CustomStringConvertible {
    /// The longest name, in characters.
    public static let maxLength = 100

    /// The name as it was given.
    public let description: String

    /// A name of 1 to 100 ASCII letters, digits, hyphens, underscores and dots, but for `.` and `..`; `nil` for any other
    /// text. Names may begin with a dot, as `.github` does.
    public init?(_ text: String) {
      let isAllowed = text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
      }
      guard isAllowed, (1...Self.maxLength).contains(text.utf8.count), text != ".", text != ".." else { return nil }
      description = text
    }
  }

  /// A repository, by either of its names in URLs.
  public enum RepositoryReference: Sendable, Hashable {
    /// By owner and name, which may both change and be somebody else's tomorrow.
    case name(Login, RepositoryName)
    /// By id, which does not.
    case id(Int64)

    /// The path of its record.
    var path: String {
      switch self {
      case .name(let owner, let name): "/repos/\(owner.pathSegment)/\(name)"
      case .id(let id): "/repositories/\(id)"
      }
    }
  }
}
