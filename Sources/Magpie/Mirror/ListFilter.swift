/// What is wanted of a whole stored list, and in what order.
public struct ListFilter: Sendable {
  /// Orders of a filtered list; ties by id.
  public enum Sort: String, CaseIterable, Sendable {
    case login
    case loginDescending = "-login"
    case firstSeen = "first_seen"
    case firstSeenDescending = "-first_seen"
    /// As the list itself; not to be asked for by name.
    case upstream = ""

    /// Those that can be asked for.
    public static let allCases: [Sort] = [.login, .loginDescending, .firstSeen, .firstSeenDescending]

    /// The order in one direction.
    var column: String {
      switch self {
      case .login, .loginDescending: "login"
      case .firstSeen, .firstSeenDescending: "first_seen"
      case .upstream: "upstream"
      }
    }

    var isDescending: Bool { self == .loginDescending || self == .firstSeenDescending }
  }

  /// How the members stand to the owner's other list.
  public enum Relation: String, CaseIterable, Sendable {
    /// They are in it, too.
    case mutual
    /// They are not: followers who are not followed, or followed people who do not follow.
    case notBack = "not_back"
  }

  /// Part of the login or name, whatever the case and the accents; empty for all.
  public var text = ""
  /// The order.
  public var sort = Sort.login
  /// `nil` for all.
  public var relation: Relation?
  /// How many, at most 100.
  public var count = 30
  /// Members to pass over; for clients that ask by page number.
  public var skip: Int64 = 0
  /// Where the page before ended; see `FilteredList.next`.
  public var after: [String]?
  /// The prepared order that an earlier page was read from, so that a reader sees one list from beginning to end.
  public var order: Int64?

  /// All, by login.
  public init() {}

  /// Where to go on in a prepared order.
  struct Place {
    /// The order, if one is named.
    var order: Int64?
    /// Members to pass over.
    var first: Int64 = 0
    /// The last member shown, of those that the index has found: its key in the order, and its id.
    var found: (key: String, id: Int64)?

    /// Behind all that was found so far.
    static func behind(_ key: String, _ id: Int64, in order: Int64) -> [String] {
      [String(order), key, String(id), "found"]
    }

    /// At a place of the order.
    static func at(_ first: Int64, in order: Int64) -> [String] { [String(order), String(first), "prepared"] }
  }

  /// The last member shown and its key in the order, for pages that go on behind it.
  var lastKey: (key: String, id: Int64)? {
    if let after, after.count == 2, let id = Int64(after[1]) { return (after[0], id) }
    return place.found
  }

  /// The prepared order to go on in, if any, and from where.
  var place: Place {
    guard let after, let id = after.first.flatMap({ Int64($0) }) else { return Place(order: order) }
    if after.count == 3, let first = Int64(after[1]), first >= 0 { return Place(order: id, first: first) }
    if after.count == 4, let last = Int64(after[2]) { return Place(order: id, found: (after[1], last)) }
    return Place(order: order)
  }
}

extension FollowKind {
  /// The owner's other list.
  public var other: FollowKind { self == .followers ? .following : .followers }
}
