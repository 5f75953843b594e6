import Postgres
import Upstream

/// What is mirrored of the photo service, each by one job.
public enum PhotoCollection: String, Sendable, CaseIterable {
  case photos
  case albums

  /// The subject of its one job, as in `photos:all`.
  static let subject = "all"

  /// The kind of the job that refreshes it.
  var jobKind: String { rawValue }

  var upstream: PhotoService.Collection { self == .photos ? .photos : .albums }

  var table: String { self == .photos ? "magpie.photo" : "magpie.album" }
}

extension Refreshes {
  /// The pool of the photo service among the budgets.
  static let photoPool = "photos"

  /// Orders a refresh of photos or albums, or joins the one that is under way.
  ///
  /// - Parameter account: may look at the job from then on; `nil` for whoever has none.
  /// - Throws: `PostgresError`.
  public func request(
    _ collection: PhotoCollection, priority: Job.Priority, startsOver: Bool = false, account: Int64?
  ) async throws -> Job.Ticket {
    try await queue.request(
      kind: collection.jobKind, subject: PhotoCollection.subject, priority: priority,
      whenRunning: startsOver ? .startOver : .join, account: account)
  }

  /// Orders photos or albums of which nothing was ever fetched, or joins the job that is fetching them.
  ///
  /// - Returns: `nil` when they have been stored meanwhile.
  /// - Throws: `PostgresError`.
  public func requestMissing(_ collection: PhotoCollection, account: Int64?) async throws -> Job.Ticket? {
    try await queue.request(
      kind: collection.jobKind, subject: PhotoCollection.subject, args: Array("{}".utf8), priority: .interactive,
      account: account,
      unless: "EXISTS (SELECT FROM magpie.photo_set s WHERE s.name = \(collection.rawValue) AND s.generation > 0)")
  }
}
