import Postgres
import Upstream

/// Fetches one person's picture in one size: the job kind `github-avatar`.
public struct AvatarRefresh: JobHandler {
  /// The kind.
  public let kind = AvatarRequest.jobKind
  let pictures: PictureGate
  let gate: GitHubGate
  let database: Database

  /// - Parameters:
  ///   - gate: to learn about somebody who was never seen.
  ///   - database: with the role `magpie_worker`.
  public init(pictures: PictureGate, gate: GitHubGate, database: Database) {
    self.pictures = pictures
    self.gate = gate
    self.database = database
  }

  private struct Known {
    /// Empty when the person only stands in a link so far.
    var url: String
    /// What is stored is of that address.
    var validators: Validators?
  }

  /// Fetches the picture and stores it, or the reason why there is none.
  public func run(_ job: RunningJob) async throws -> JobResult {
    guard let request = job.subject.flatMap(AvatarRequest.init(subject:)) else {
      return .discard(error: "jobs/bad-subject: no picture")
    }
    // As if there were no such person, and without a request that would tell of them.
    if try await PersonStore.isForgotten(request.id, in: database) {
      return try await PersonStore.endAsAbsent(.id(request.id), job, in: database)
    }
    var known = try await find(request)
    if known?.url.isEmpty ?? true {
      if let result = try await meet(request.id, job) { return result }
      known = try await find(request)
    }
    // Forgotten while they were asked for: nothing can be noted of a picture that is nobody's.
    guard let known else { return try await PersonStore.endAsAbsent(.id(request.id), job, in: database) }
    guard !known.url.isEmpty, let url = PictureAddress.sized(known.url, pixels: request.size.rawValue) else {
      return try await fail(request, known.url, "no address", job)
    }
    switch try await pictures.fetch(url, validators: known.validators) {
    case .picture(let picture, let validators):
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        try await AvatarRefresh.store(picture, validators, request, known.url, in: transaction)
      }
      return .done
    case .notModified:
      try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
        _ = try await transaction.query(
          """
          UPDATE magpie.avatar a SET validated_at = now(), failed_at = NULL, failure = NULL
           WHERE a.user_id = \(request.id) AND a.size = \(Int32(request.size.rawValue))
          """)
      }
      return .done
    case .gone: return try await fail(request, known.url, "the host has none", keepsPicture: false, job)
    case .refused(let reason): return try await fail(request, known.url, reason, job)
    case .transient(let reason, let seconds):
      return .retry(after: seconds.map { .seconds($0) }, error: "upstream/offline: \(reason)")
    }
  }

  /// `nil` when nobody is stored under the id.
  private func find(_ request: AvatarRequest) async throws -> Known? {
    let rows = try await database.query(
      """
      SELECT u.avatar_url, a.etag, a.last_modified
        FROM magpie.github_user u
        LEFT JOIN magpie.avatar a ON a.user_id = u.id AND a.size = \(Int32(request.size.rawValue)) AND a.url = u.avatar_url
                                 AND a.sha256 IS NOT NULL
       WHERE u.id = \(request.id)
      """)
    guard let row = rows.first else { return nil }
    let (url, etag, modified) = try row.decode((String, String?, String?).self)
    let validators = etag == nil && modified == nil ? nil : Validators(etag: etag, lastModified: modified)
    return Known(url: url, validators: validators)
  }

  /// Asks who somebody is. `nil` when that is stored now.
  private func meet(_ id: Int64, _ job: RunningJob) async throws -> JobResult? {
    let verdict = try await gate.ask(
      GitHub.Profile(.id(id)), priority: job.priority, redirected: GitHub.Profile.init(at:))
    switch verdict {
    case .ended(let result): return result
    case .answered(.ok(let profile, let validators), let credential):
      guard profile.id == id else { return .retry(error: "upstream/invalid-answer: somebody else's profile") }
      try await job.step(in: database, checkpoint: nil) { transaction in
        try await PersonStore.store(profile, validators, credential: credential, in: transaction)
      }
      return nil
    case .answered(.gone(let status, _), _):
      try await job.step(in: database, checkpoint: nil) { transaction in
        try await PersonStore.storeAbsence(of: .id(id), status: status, knownID: nil, in: transaction)
      }
      return .done
    case .answered: return .retry(error: "upstream/invalid-answer: an answer that was not expected")
    }
  }

  private static func store(
    _ picture: Picture, _ validators: Validators, _ request: AvatarRequest, _ url: String, in transaction: Transaction
  ) async throws {
    let hash = Digest.sha256(picture.bytes)
    _ = try await transaction.query(
      """
      INSERT INTO magpie.image (sha256, media_type, width, height, bytes)
      VALUES (\(hash), \(picture.kind.rawValue), \(Int32(picture.width)), \(Int32(picture.height)), \(picture.bytes))
      ON CONFLICT (sha256) DO UPDATE SET created_at = now()
      """)
    _ = try await transaction.query(
      """
      INSERT INTO magpie.avatar AS a (user_id, size, url, sha256, etag, last_modified, fetched_at, validated_at)
      VALUES (\(request.id), \(Int32(request.size.rawValue)), \(url), \(hash), \(validators.etag), \(validators.lastModified),
        now(), now())
      ON CONFLICT (user_id, size) DO UPDATE SET url = EXCLUDED.url, sha256 = EXCLUDED.sha256, etag = EXCLUDED.etag,
        last_modified = EXCLUDED.last_modified, validated_at = now(), failed_at = NULL, failure = NULL,
        fetched_at = CASE WHEN a.sha256 = EXCLUDED.sha256 THEN a.fetched_at ELSE now() END
      """)
  }

  /// Notes that a picture cannot be had. The last good one stays, unless the host says that there is none.
  private func fail(
    _ request: AvatarRequest, _ url: String, _ reason: String, keepsPicture: Bool = true, _ job: RunningJob
  ) async throws -> JobResult {
    try await job.step(in: database, checkpoint: nil, done: 1, total: 1) { transaction in
      _ = try await transaction.query(
        """
        INSERT INTO magpie.avatar AS a (user_id, size, url, failed_at, failure)
        VALUES (\(request.id), \(Int32(request.size.rawValue)), \(url), now(), \(reason))
        ON CONFLICT (user_id, size) DO UPDATE SET url = EXCLUDED.url, failed_at = now(), failure = EXCLUDED.failure,
          etag = CASE WHEN a.url = EXCLUDED.url THEN a.etag END,
          last_modified = CASE WHEN a.url = EXCLUDED.url THEN a.last_modified END,
          sha256 = CASE WHEN \(keepsPicture) THEN a.sha256 END
        """)
    }
    return .done
  }
}
