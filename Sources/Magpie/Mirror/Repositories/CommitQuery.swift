import Upstream

/// Which page of a repository's commits, in one spelling for every way of asking for it.
public struct CommitQuery: Hashable, Sendable {
  /// Longest text, in bytes: it is part of a job's subject.
  public static let maxBytes = 320
  /// Parameters that choose commits.
  public static let filters = GitHub.Commits.filters
  /// The first page as GitHub gives it to those who say nothing.
  public static let first = CommitQuery(text: "per_page=30")

  /// The query's text, escaped, without the question mark.
  public let text: String

  private init(text: String) { self.text = text }

  /// A page of those commits that filters let through; `nil` when that is too long a text.
  ///
  /// - Parameter value: gives the value of one of `filters`, `nil` for one that is not asked for.
  public init?(page: Int, perPage: Int, _ value: (_ filter: String) -> String?) {
    text = GitHub.Commits.query(page: page, perPage: perPage, value)
    guard text.utf8.count <= CommitQuery.maxBytes else { return nil }
  }

  /// Reads a job's subject as far as it is a query. Administrators write subjects, too.
  init?(subject text: String) {
    let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
    guard !text.isEmpty, text.utf8.count <= CommitQuery.maxBytes, isPlain else { return nil }
    self.text = text
  }

  /// Whether a filter could be what the upstream does not find.
  var hasFilters: Bool { !text.hasPrefix("per_page=") }
}
