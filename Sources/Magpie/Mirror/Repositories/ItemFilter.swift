import Postgres

/// A filter over a whole list of repositories or gists.
public struct ItemFilter: Hashable, Sendable {
  /// Part of a repository's name or description, whatever the case and the accents; empty for all.
  public var text = ""
  /// A repository's main language, whatever the case; `nil` for all.
  public var language: String?
  /// When a gist must have been changed last, or later; `nil` for all.
  public var updatedSince: Instant?
  /// How many, at most 100.
  public var count = 30
  /// Members to pass over; for clients that ask by page number.
  public var skip: Int64 = 0
  /// Position of the last member of the page before: in the order, seen as ascending, or in the upstream's.
  public var after: Int64?
  /// The walk that an earlier page was read from.
  public var walk: Int64?

  /// All.
  public init() {}

  /// What tells filters apart, for cursors, which are good for one of them.
  public var scope: String { "\(language ?? "")/\(text)/\(updatedSince.map { String($0.microseconds) } ?? "")" }
}
