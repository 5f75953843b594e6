import JSONText
import Postgres
import Upstream

/// Writes repositories and what is said of them, in the transaction of a job's step.
enum RepositoryStore {
  /// Which repository a key stands for, as far as that is stored.
  struct Known: Sendable {
    let id: Int64
    let fullName: String
    /// Seconds since an answer has shown that the name is this repository's.
    let age: Double
    let hasDocument: Bool
    let url: String?
    let etag: String?
    let lastModified: String?
    let credential: String?

    /// The validators of the stored record, if they belong to an address.
    func validators(for url: String) -> Validators? {
      hasDocument && etag != nil && self.url == url ? Validators(etag: etag, lastModified: lastModified) : nil
    }
  }

  static func find(_ repository: RepositoryKey, in database: Database) async throws -> (known: Known?, now: Instant) {
    let rows = try await database.query(
      """
      SELECT clock_timestamp(), r.id, r.full_name, extract(epoch FROM now() - r.seen_at)::float8, r.document IS NOT NULL, r.url,
             r.etag, r.modified, r.credential
        FROM (SELECT) AS one LEFT JOIN magpie.github_repo r ON \(fragment: repository.condition)
      """)
    let now = try rows[0].decode(Instant.self, at: 0)
    guard rows[0][1] != nil else { return (nil, now) }
    let fields = try rows[0].decode(
      (Instant, Int64, String, Double, Bool, String?, String?, String?, String?).self)
    return (
      Known(
        id: fields.1, fullName: fields.2, age: fields.3, hasDocument: fields.4, url: fields.5, etag: fields.6,
        lastModified: fields.7, credential: fields.8), now
    )
  }

  /// Notes repositories that a search has shown, and their owners. A search's index lags behind, so what is known is never
  /// overwritten by it: to the database these are the oldest answers there can be.
  static func noteFound(_ repositories: [GitHub.Repository], in transaction: Transaction) async throws {
    if repositories.isEmpty { return }
    var owners: [Int64: GitHub.Member] = [:]
    for owner in repositories.compactMap(\.owner) { owners[owner.id] = owner }
    let people = owners.values.sorted { $0.id < $1.id }
    _ = try await transaction.query(
      "SELECT \(fragment: PersonStore.noting(found: people)), \(fragment: noting(repositories, seenAt: longAgo))")
    _ = try await transaction.query(
      """
      UPDATE magpie.github_repo r SET summary = n.document, summary_at = \(longAgo), digest = n.digest
        FROM (SELECT n.id, n.document, hashtextextended(n.document, 0) AS digest
                FROM unnest(\(repositories.map(\.id)), \(repositories.map { String(decoding: $0.document, as: UTF8.self) }))
                  AS n(id, document)) AS n
       WHERE r.id = n.id AND r.seen_at <= \(longAgo) AND r.document IS NULL
      """)
  }

  private static let longAgo = Instant(microseconds: 0)

  /// Notes names and figures, and the owners as people.
  static func note(
    _ repositories: [GitHub.Repository], seenAt: Instant, in transaction: Transaction
  ) async throws {
    var owners: [Int64: GitHub.Member] = [:]
    for owner in repositories.compactMap(\.owner) { owners[owner.id] = owner }
    if !owners.isEmpty {
      try await PersonStore.store(owners.values.sorted { $0.id < $1.id }, in: transaction)
    }
    _ = try await transaction.query("SELECT \(fragment: noting(repositories, seenAt: seenAt))")
  }

  private static func noting(_ repositories: [GitHub.Repository], seenAt: Instant) -> Query {
    """
    magpie.note_repositories(\(repositories.map(\.id)), \(repositories.map(\.name)), \(repositories.map(\.fullName)),
      \(repositories.map { $0.owner?.id ?? 0 }), \(repositories.map { $0.summary ?? "" }),
      \(repositories.map { $0.language ?? "" }), \(repositories.map(\.isFork)), \(repositories.map(\.stars)),
      \(repositories.map { $0.createdAt?.description ?? "" }), \(repositories.map { $0.updatedAt?.description ?? "" }),
      \(repositories.map { $0.pushedAt?.description ?? "" }), \(seenAt))
    """
  }

  static func store(
    _ repository: GitHub.Repository, _ answer: Answered, seenAt: Instant, in transaction: Transaction
  ) async throws {
    try await note([repository], seenAt: seenAt, in: transaction)
    _ = try await transaction.query(
      """
      SELECT magpie.store_repository(\(repository.id), \(String(decoding: repository.document, as: UTF8.self)), \(answer.url),
        \(answer.validators.etag), \(answer.validators.lastModified), \(answer.credential), \(seenAt))
      """)
  }

  /// Where an answer came from, and what makes the next request for it conditional.
  struct Answered: Sendable {
    let url: String
    let validators: Validators
    let credential: String
  }

  static func confirm(_ id: Int64, in transaction: Transaction) async throws {
    _ = try await transaction.query("SELECT magpie.confirm_repository(\(id))")
  }

  /// Notes that there is no repository of that name or id, or that it is blocked.
  static func storeAbsence(
    of repository: RepositoryKey, id: Int64?, status: Int, reason: String?, in transaction: Transaction
  ) async throws {
    _ = try await transaction.query(
      "SELECT magpie.store_repository_absence(\(repository.key), \(id), \(Int32(status)), \(reason))")
  }

  /// Notes that a name leads to a repository which is called otherwise.
  static func storeMove(of repository: RepositoryKey, to id: Int64, in transaction: Transaction) async throws {
    _ = try await transaction.query("SELECT magpie.store_repository_move(\(repository.key), \(id))")
  }

  /// Notes what was said of one part only, such as that there is no such branch.
  static func storeFact(
    _ subject: String, status: Int, reason: String?, in transaction: Transaction
  ) async throws {
    _ = try await transaction.query(
      """
      INSERT INTO magpie.upstream_fact AS f (subject, status, message) VALUES (\(subject), \(Int32(status)), \(reason ?? ""))
      ON CONFLICT (subject) DO UPDATE SET status = EXCLUDED.status, message = EXCLUDED.message, checked_at = now()
      """)
  }
}

extension GitHub.RepositoryReference {
  /// Spelled as the upstream does or, as long as that is not known, as the client has. `nil` for names that cannot be.
  init?(_ repository: RepositoryKey, _ known: RepositoryStore.Known?, _ job: RunningJob) {
    guard case .name = repository else {
      guard case .id(let id) = repository else { return nil }
      self = .id(id)
      return
    }
    let asked = (try? JSONView(job.args))?["repository"]?.string
    let spelled =
      [known?.fullName, asked].compactMap { $0 }.first { $0.lowercased() == repository.key } ?? repository.key
    let parts = spelled.split(separator: "/").map(String.init)
    guard parts.count == 2, let owner = GitHub.Login(parts[0]), let name = GitHub.RepositoryName(parts[1]) else {
      return nil
    }
    self = .name(owner, name)
  }
}
