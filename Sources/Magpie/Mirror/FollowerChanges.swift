import Postgres

/// Which of the things that happened to a list are wanted: the newest first, back to where the asker knows them.
public struct ChangesRange: Sendable {
  /// What the asker knows already.
  public enum Since: Sendable, Equatable {
    /// Everything up to the event of that number.
    case event(Int64)
    /// Everything that was recorded before that moment.
    case instant(Instant)
  }

  /// `nil`: nothing.
  public var since: Since?
  /// The last event of the page before.
  public var before: Int64?
  /// How many, at most 200.
  public var count = 50

  /// The latest ones.
  public init() {}
}

/// A page of what happened to a list.
public struct FollowerChanges: Sendable {
  /// Somebody who came or left.
  public struct Event: Sendable {
    /// Grows with every event of a list.
    public let id: Int64
    /// `followed` or `unfollowed`.
    public let kind: String
    /// Of one who left always: `unfollowed`, `renamed`, `deleted_or_suspended`, `restricted`. Of one who came: `returned`, if
    /// it was not their own doing to leave.
    public let reason: String?
    /// The person.
    public let member: Int64
    /// The person's login when last seen in the list.
    public let login: String
    /// Between which two looks it happened.
    public let observedFrom: Instant, observedTo: Instant
    /// When it was written down.
    public let recordedAt: Instant
    let item: [UInt8]?
  }

  /// The list it happened to.
  public internal(set) var list: StoredList
  /// Newest first.
  public private(set) var events: [Event] = []
  /// Whether there are older ones that were asked for.
  public let hasMore: Bool
  /// When the list was first seen whole: nothing is told of the time before.
  public let baselineAt: Instant?
  /// Members who are missing and have not been looked at singly yet; 1,000 stands for more.
  public let checking: Int64

  /// Lends the items of the people, as lists show them, with the asking account's tags; `nil` for who was only named.
  public func forEachEvent(_ body: (_ event: Event, _ item: [UInt8]?, _ favoriteTags: [String]?) -> Void) {
    for event in events { body(event, event.item, list.starred?.tags?[event.member]?.tags) }
  }

  static func query(_ kind: FollowKind, of person: Person, _ range: ChangesRange, token: [UInt8]) -> Query {
    let since: Query =
      switch range.since {
      case nil: "0"
      case .event(let id): "\(id)"
      case .instant(let instant):
        // Numbers and times grow together within a list.
        """
        coalesce((SELECT s.id FROM magpie.follow_event s WHERE s.listing_id = h.listing_id AND s.recorded_at < \(instant)
                   ORDER BY s.recorded_at DESC LIMIT 1), 0)
        """
      }
    return """
      \(fragment: StoredList.head(kind.rawValue, of: person, walk: nil, token: token))
      SELECT \(unsafe: StoredList.headColumn), NULL::bigint, NULL::bigint,
             (SELECT count(*) FROM (SELECT FROM magpie.follow_check c WHERE c.listing_id = h.listing_id LIMIT 1000) AS open),
             NULL::text, NULL::text, NULL::text, NULL::timestamptz, NULL::timestamptz, w.baseline_at
        FROM head h LEFT JOIN magpie.list_watch w ON w.listing_id = h.listing_id
      UNION ALL
      SELECT coalesce(u.summary, u.profile), -e.id, e.member_id, e.id, e.event, e.reason, e.login, e.observed_from, e.observed_to,
             e.recorded_at
        FROM head h
        CROSS JOIN LATERAL (
          SELECT f.* FROM magpie.follow_event f
           WHERE f.listing_id = h.listing_id AND f.id < \(range.before ?? .max) AND f.id > \(fragment: since)
           ORDER BY f.id DESC LIMIT \(range.count + 1)) e
        LEFT JOIN magpie.github_user u ON u.id = e.member_id
      """
  }

  /// The row that tells of the list, which has no position, and the others.
  static func parts(_ rows: Rows) -> (head: Row?, parts: [Row]) {
    (rows.first { $0[1] == nil }, rows.filter { $0[1] != nil })
  }

  /// Makes a page of what `query` has answered.
  init(
    _ list: StoredList, _ head: Row?, _ parts: [Row], count: Int, _ form: Mirror.ItemForm
  ) throws(PostgresError) {
    self.list = list
    hasMore = parts.count > count
    checking = try head?.decode(Int64?.self, at: 3) ?? 0
    baselineAt = try head?.decode(Instant?.self, at: 9)
    var events: [Event] = []
    for row in parts {
      let document = try row.decode(String?.self, at: 0).map { Array($0.utf8) }
      events.append(
        Event(
          id: try row.decode(Int64.self, at: 3), kind: try row.decode(String.self, at: 4),
          reason: try row.decode(String?.self, at: 5), member: try row.decode(Int64.self, at: 2),
          login: try row.decode(String.self, at: 6), observedFrom: try row.decode(Instant.self, at: 7),
          observedTo: try row.decode(Instant.self, at: 8), recordedAt: try row.decode(Instant.self, at: 9),
          item: document?.withUnsafeBytes { form($0) }))
    }
    self.events = Array(events.sorted { $0.id > $1.id }.prefix(count))
  }
}
