import Postgres
import Upstream

/// Fetches all photos, or all albums: the job kinds `photos` and `albums`, whose one subject is `all`.
public struct PhotoRefresh: JobHandler {
  /// The kind.
  public var kind: String { collection.jobKind }
  let collection: PhotoCollection
  let gate: SourceGate
  let database: Database

  /// The handlers of both kinds.
  ///
  /// - Parameter database: with the role `magpie_worker`.
  public static func all(gate: SourceGate, database: Database) -> [any JobHandler] {
    PhotoCollection.allCases.map { PhotoRefresh(collection: $0, gate: gate, database: database) }
  }

  /// Asks with the stored validators, and replaces what is stored only by an answer that is whole.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard job.subject == PhotoCollection.subject else { return .discard(error: "jobs/bad-subject: no collection") }
    let request = PhotoService.Whole(collection.upstream)
    let url = request.url(at: gate.service)
    let (expected, validators) = try await stored(url)
    let verdict = try await gate.ask(request, priority: job.priority, validators: validators)
    switch verdict {
    case .ended(let result): return result
    case .answered(.notModified, _):
      guard validators != nil else { return .retry(error: "upstream/invalid-answer: unchanged, though nobody asked") }
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        _ = try await transaction.query(
          "UPDATE magpie.photo_set SET validated_at = now() WHERE name = \(collection.rawValue)")
      }
      return .done
    case .answered(.ok(let items, let validators), _):
      // The service has never lost anything, and has been seen to answer with less than all.
      guard items.count >= expected else {
        return .retry(error: "upstream/invalid-answer: \(items.count) items instead of \(expected)")
      }
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        _ = try await transaction.query(
          """
          SELECT magpie.publish_photos(\(collection.rawValue), \(items.map(\.id)), \(items.map(\.parent)),
            \(items.map(\.title)), \(items.map { String(decoding: $0.document, as: UTF8.self) }), \(url),
            \(validators.etag), \(validators.lastModified))
          """)
      }
      return .done
    case .answered: return .retry(error: "upstream/invalid-answer: an answer that was not expected")
    }
  }

  /// How many items there must be, and the validators, which are only good for the address they came from.
  private func stored(_ url: String) async throws -> (expected: Int, Validators?) {
    let rows = try await database.query(
      """
      SELECT CASE WHEN s.url = \(url) THEN s.expected ELSE 0 END, s.etag, s.last_modified, s.url = \(url) AND s.generation > 0
        FROM magpie.photo_set s WHERE s.name = \(collection.rawValue)
      """)
    guard let row = rows.first else { return (0, nil) }
    let (expected, etag, modified, isHere) = try row.decode((Int, String?, String?, Bool).self)
    let isKnown = isHere && (etag != nil || modified != nil)
    return (expected, isKnown ? Validators(etag: etag, lastModified: modified) : nil)
  }
}
