import Postgres

/// Something an account has starred.
public enum Favorite {
  /// What kinds of things can be starred.
  public enum Kind: String, CaseIterable, Sendable {
    case githubUser = "github-user"
    case githubRepository = "github-repo"
    case gif
    case photo
  }

  /// How a list is ordered; ties by kind and id.
  public enum Sort: String, CaseIterable, Sendable {
    case oldestFirst = "added"
    case newestFirst = "-added"
    case title
    case rank
  }

  /// What a PUT or PATCH may say. `nil` leaves the stored value as it is.
  public struct Change: Sendable {
    /// Free text, at most 10,000 bytes.
    public var note: String?
    /// At most 100 tags of 1 to 100 characters.
    public var tags: [String]?
    /// Ids of the account's collections it is to be in, at most 100.
    public var collections: [UUID]?
    /// Place in the manual order, at most 100 signs of printable ASCII; see `Rank`.
    public var rank: String?
    /// When the app starred it, RFC 3339. An earlier one that is stored stays.
    public var addedAt: String?
    /// What the app knows of it.
    public var snapshot: Snapshot?

    /// Changes nothing.
    public init() {}
  }

  /// How a thing looked to the app that starred it.
  public struct Snapshot: Sendable {
    /// A name or heading.
    public var title = ""
    /// A second line, smaller.
    public var subtitle = ""
    /// The page where a person can look at it.
    public var url = ""
    /// Address of a small picture.
    public var image = ""
    /// The whole object as JSON, at most 20,000 bytes.
    public var document: [UInt8] = []

    /// All empty.
    public init() {}
  }

  /// A place in the manual order, told by a neighbor.
  public enum Place: Sendable {
    /// Just before that favorite.
    case before(Kind, String)
    /// Just after it.
    case after(Kind, String)
  }

  /// What happened to a PUT.
  public enum Outcome: Sendable {
    /// It is new.
    case created(document: [UInt8], version: Int64)
    /// It was there; changed or not.
    case kept(document: [UInt8], version: Int64)
    /// The item's version is another than the client has seen; the document is the server's copy, if there is one.
    case conflict(document: [UInt8]?, version: Int64?)
  }
}
