import Postgres
import Upstream

/// A thing of a person's list, and how it is stored.
protocol MirroredItem: GitHub.ListedItem {
  /// Whose it is, as the item says.
  var owner: GitHub.Member? { get }
  /// The item as it came.
  var document: [UInt8] { get }

  /// Stores what a page shows, apart from the page itself.
  ///
  /// - Parameter seenAt: before the page was asked for.
  /// - Returns: the numbers by which the list names them, in the same order.
  static func store(_ items: [Self], seenAt: Instant, in transaction: Transaction) async throws -> [Int64]
}

extension GitHub.Repository: MirroredItem {
  static func store(_ items: [Self], seenAt: Instant, in transaction: Transaction) async throws -> [Int64] {
    try await RepositoryStore.note(items, seenAt: seenAt, in: transaction)
    let ids = items.map(\.id)
    let documents = items.map { String(decoding: $0.document, as: UTF8.self) }
    _ = try await transaction.query("SELECT magpie.store_repository_summaries(\(ids), \(documents), \(seenAt))")
    return ids
  }
}

extension GitHub.Gist: MirroredItem {
  static func store(_ items: [Self], seenAt: Instant, in transaction: Transaction) async throws -> [Int64] {
    let rows = try await transaction.query("SELECT magpie.gist_ids(\(items.map(\.identity)))")
    return try rows[0].decode([Int64].self)
  }
}

extension GitHub.Organization: MirroredItem {
  /// Nobody: a membership says nothing of who has it.
  var owner: GitHub.Member? { nil }

  /// An organization's item has another shape than a person's and stands in the page alone.
  static func store(_ items: [Self], seenAt: Instant, in transaction: Transaction) async throws -> [Int64] {
    items.map(\.id)
  }
}
