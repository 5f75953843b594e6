import JSONText
import Postgres
import Upstream

/// Writes people and facts, in the transaction of a job's step.
enum PersonStore {
  /// Who a key stands for, as far as that is stored.
  struct Known: Sendable {
    let id: Int64
    let login: String
    let etag: String?
    let lastModified: String?
    let credential: String?
    let followers: Int64?
    let following: Int64?
    let hasProfile: Bool

    /// Those of the stored profile.
    var validators: Validators? {
      hasProfile && etag != nil ? Validators(etag: etag, lastModified: lastModified) : nil
    }
  }

  static func find(_ person: Person, in database: Database) async throws -> Known? {
    let rows = try await database.query(
      """
      SELECT u.id, u.login, u.profile_etag, u.profile_modified, u.profile_credential, u.followers, u.following, u.profile IS NOT NULL
        FROM magpie.github_user u WHERE \(fragment: person.condition)
      """)
    guard let row = rows.first else { return nil }
    let fields = try row.decode((Int64, String, String?, String?, String?, Int64?, Int64?, Bool).self)
    return Known(
      id: fields.0, login: fields.1, etag: fields.2, lastModified: fields.3, credential: fields.4,
      followers: fields.5, following: fields.6, hasProfile: fields.7)
  }

  static func store(
    _ account: GitHub.Account, _ validators: Validators, credential: String, in transaction: Transaction
  ) async throws {
    let document = try await withKnownAddress(account, credential, in: transaction)
    _ = try await transaction.query(
      """
      SELECT magpie.store_profile(\(account.id), \(account.login), \(account.name), \(account.type ?? "User"),
        \(account.avatarURL ?? ""), \(String(decoding: document, as: UTF8.self)), \(account.followers), \(account.following),
        \(validators.etag), \(validators.lastModified), \(credential))
      """)
  }

  /// Whoever asks without a token is shown no e-mail address. That says nothing about one that is known, which stays.
  private static func withKnownAddress(
    _ account: GitHub.Account, _ credential: String, in transaction: Transaction
  ) async throws -> [UInt8] {
    let view = JSONView(checked: account.document)
    guard credential == Budgets.Credential.identifier(pool: GitHubGate.pool, secret: nil), view["email"]?.isNull == true
    else { return account.document }
    let rows = try await transaction.query(
      "SELECT u.profile::jsonb ->> 'email' FROM magpie.github_user u WHERE u.id = \(account.id) AND u.profile IS NOT NULL"
    )
    guard let address = try rows.first?.decode(String?.self) else { return account.document }
    var writer = JSONWriter()
    view.removing(members: ["email"]).withUnsafeBytes { bytes in
      writer.rawObject(bytes) { writer in
        writer.key("email")
        writer.string(address)
      }
    }
    return writer.bytes
  }

  static func confirm(_ id: Int64, in transaction: Transaction) async throws {
    _ = try await transaction.query(
      "UPDATE magpie.github_user u SET profile_validated_at = now() WHERE u.id = \(id)")
    _ = try await transaction.query("SELECT magpie.confirm_person(\(id))")
  }

  static func store(_ members: [GitHub.Member], in transaction: Transaction) async throws {
    _ = try await transaction.query("SELECT \(fragment: storing(members))")
  }

  /// Stores the people of a page, as a part of another statement.
  static func storing(_ members: [GitHub.Member]) -> Query {
    let members = inOrder(members)
    // Of several with one login the newest account bears it.
    var bearers: [String: Int64] = [:]
    for member in members { bearers[member.login.lowercased()] = member.id }
    return """
      magpie.store_summaries(\(members.map(\.id)), \(members.map(\.login)),
        \(members.map { bearers[$0.login.lowercased()] == $0.id }), \(members.map { $0.name ?? "" }),
        \(members.map { $0.type ?? "User" }), \(members.map { $0.avatarURL ?? "" }),
        \(members.map { String(decoding: $0.document, as: UTF8.self) }), now())
      """
  }

  /// Notes people whom a search has shown, as a part of another statement. Nobody who is known is changed by it.
  static func noting(found people: [GitHub.Member]) -> Query {
    """
    magpie.note_found_people(\(people.map(\.id)), \(people.map(\.login)), \(people.map { $0.name ?? "" }),
      \(people.map { $0.type ?? "User" }), \(people.map { $0.avatarURL ?? "" }),
      \(people.map { String(decoding: $0.document, as: UTF8.self) }))
    """
  }

  /// By id and each once, the first that the page shows: so sorted, the database need not sort them with their documents.
  private static func inOrder(_ members: [GitHub.Member]) -> [GitHub.Member] {
    var seen: Set<Int64> = []
    return members.filter { seen.insert($0.id).inserted }.sorted { $0.id < $1.id }
  }

  /// Notes a person of whom nothing but id and login is known yet.
  static func note(_ id: Int64, login: String, in transaction: Transaction) async throws {
    _ = try await transaction.query("SELECT magpie.note_person(\(id), \(login))")
  }

  /// Whether anybody was forgotten for good, so that pages must be looked through.
  static func hasForgotten(in database: Database) async throws -> Bool {
    try await database.query("SELECT magpie.has_forgotten()")[0].decode(Bool.self)
  }

  /// Which of some people were forgotten for good, and must not be stored.
  static func forgotten(among ids: [Int64], in database: Database) async throws -> [Int64] {
    try await database.query("SELECT magpie.forgotten_among('github-user', \(ids))")[0].decode([Int64].self)
  }

  static func isForgotten(_ id: Int64, in database: Database) async throws -> Bool {
    try await !forgotten(among: [id], in: database).isEmpty
  }

  /// Ends the refresh of a list of somebody forgotten as if there were no such person.
  static func endAsAbsent(_ person: Person, _ job: RunningJob, in database: Database) async throws -> JobResult {
    try await job.step(in: database, checkpoint: nil) { transaction in
      try await storeAbsence(of: person, status: 404, knownID: nil, in: transaction)
    }
    return .done
  }

  /// Notes that the upstream has no such person, and ends what was known of one who is gone.
  static func storeAbsence(
    of person: Person, status: Int, knownID: Int64?, in transaction: Transaction
  ) async throws {
    _ = try await transaction.query(
      """
      INSERT INTO magpie.upstream_fact AS f (subject, status) VALUES (\("github-user:" + person.key), \(Int32(status)))
      ON CONFLICT (subject) DO UPDATE SET status = EXCLUDED.status, checked_at = now()
      """)
    if let knownID {
      _ = try await transaction.query(
        "UPDATE magpie.github_user u SET state = 'gone' WHERE u.id = \(knownID) AND u.state <> 'gone'")
    }
  }
}
