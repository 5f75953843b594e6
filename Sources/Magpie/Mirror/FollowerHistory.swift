import Postgres

/// How a list has grown and shrunk, day by day.
public struct FollowerHistory: Sendable {
  /// Days an answer may span at most: ten years.
  public static let maxDays = 3_660

  /// A day on which a walk came to its end. Others are left out: nobody has looked.
  public struct Day: Sendable {
    /// As `2026-01-31`, in UTC.
    public let date: String
    /// Members at the last look of the day.
    public let count: Int64
    /// How many were found to have come.
    public let gained: Int64
    /// How many were found to have left, each after a look at them singly.
    public let lost: Int64
  }

  /// The list.
  public let list: StoredList
  /// In the order of the calendar.
  public let days: [Day]

  /// - Parameters:
  ///   - from, to: days of the calendar, both included, as `2026-01-31`.
  static func query(_ kind: FollowKind, of person: Person, from: String, to: String, token: [UInt8]) -> Query {
    """
    \(fragment: StoredList.head(kind.rawValue, of: person, walk: nil, token: token))
    SELECT \(unsafe: StoredList.headColumn), NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint FROM head h
    UNION ALL
    SELECT d.day::text, (d.day - date '2000-01-01')::bigint, d.members, d.gained::bigint, d.lost::bigint
      FROM head h JOIN magpie.follow_day d ON d.listing_id = h.listing_id
     WHERE d.day BETWEEN \(from)::text::date AND \(to)::text::date
    """
  }

  /// Makes the days of what `query` has answered.
  init(_ list: StoredList, _ parts: [Row]) throws(PostgresError) {
    self.list = list
    var days: [Day] = []
    for row in parts {
      days.append(
        Day(
          date: try row.decode(String.self, at: 0), count: try row.decode(Int64.self, at: 2),
          gained: try row.decode(Int64.self, at: 3), lost: try row.decode(Int64.self, at: 4)))
    }
    // Dates written like these sort like their days.
    self.days = days.sorted { $0.date < $1.date }
  }
}
