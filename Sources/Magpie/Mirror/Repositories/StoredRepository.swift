import Postgres

/// What a read of a repository found, with those of its parts that are stored. All documents are as the upstream wrote them.
public struct StoredRepository: Sendable {
  /// A stored answer of the upstream, and how old it is.
  public struct Part: Sendable {
    /// The answer.
    public let document: [UInt8]
    /// What is made of it for `include=`.
    public let essence: [UInt8]
    /// How old it is.
    public let freshness: Freshness
  }

  /// Which page the commits are.
  public struct Place: Sendable {
    /// Whether there is a page behind this one.
    public let hasNext: Bool
    /// The number of the last page, where the upstream has told.
    public let lastPage: Int?
  }

  /// The numeric id.
  public let id: Int64
  /// What jobs about it are named by; see `RepositoryKey.init(storedName:id:)`.
  public let key: RepositoryKey
  /// `ok`, `blocked` or `gone`.
  public let state: String
  /// The record; `nil` when only lists have shown it so far.
  public let document: [UInt8]?
  /// Of the record.
  public let freshness: Freshness?
  /// The latest list item.
  public let summary: [UInt8]?
  /// When anything first showed it.
  public let firstSeenAt: Instant
  /// The asking account's tags if it has starred it, else `nil`.
  public let favoriteTags: [String]?
  /// `nil` when they were never asked for.
  public let languages: Part?
  /// `nil` when that page was never asked for.
  public let commits: Part?
  /// Where that page stands.
  public let commitPlace: Place?
  /// When the upstream said that it is blocked or gone, if that is its state.
  public let stateFreshness: Freshness?
  /// When the upstream said that it has no commit, and in which words; `nil` when it did not.
  public let emptiness: (freshness: Freshness, message: String)?

  static func query(_ repository: RepositoryKey, commits: CommitQuery, parts: Bool, token: [UInt8]) -> Query {
    let partColumns: Query =
      parts
      ? """
      l.document, l.shares, l.fetched_at, l.validated_at, extract(epoch FROM now() - l.validated_at)::float8,
             c.document, c.latest, c.fetched_at, c.validated_at, extract(epoch FROM now() - c.validated_at)::float8,
             c.has_next, c.last_page, e.checked_at, extract(epoch FROM now() - e.checked_at)::float8, e.message,
             x.checked_at, extract(epoch FROM now() - x.checked_at)::float8
      """
      : """
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      """
    let partTables: Query =
      parts
      ? """
      LEFT JOIN magpie.github_languages l ON l.repo_id = r.id
        LEFT JOIN magpie.github_commits c ON c.repo_id = r.id AND c.query = \(commits.text)
        LEFT JOIN magpie.upstream_fact e ON e.subject = 'github-commits:id:' || r.id AND e.status = 409
        LEFT JOIN magpie.upstream_fact x ON x.subject = 'github-repo:id:' || r.id AND r.state <> 'ok'
      """ : ""
    return """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT me.account_id, r.id, r.name_key, r.state, r.document, r.fetched_at, r.validated_at,
             extract(epoch FROM now() - r.validated_at)::float8, r.summary, r.first_seen_at, f.tags,
             \(fragment: partColumns)
        FROM me LEFT JOIN magpie.github_repo r ON \(fragment: repository.condition)
        LEFT JOIN LATERAL (
          SELECT f.tags FROM magpie.favorite f
           WHERE f.account_id = me.account_id AND f.kind = 'github-repo' AND f.subject_id = r.id::text LIMIT 1) f ON true
        \(fragment: partTables)
       WHERE me.account_id IS NOT NULL
      """
  }

  init?(_ row: Row) throws(PostgresError) {
    guard row[1] != nil else { return nil }
    func bytes(_ column: Int) -> [UInt8]? { row[column].map { Array($0.utf8) } }
    id = try row.decode(Int64.self, at: 1)
    key = RepositoryKey(storedName: row[2], id: id)
    state = try row.decode(String.self, at: 3)
    document = bytes(4)
    freshness = Freshness(
      try row.decode(Instant?.self, at: 5), try row.decode(Instant?.self, at: 6), try row.decode(Double?.self, at: 7))
    summary = bytes(8)
    firstSeenAt = try row.decode(Instant.self, at: 9)
    favoriteTags = try row.decode([String]?.self, at: 10)
    languages = try StoredRepository.part(row, at: 11)
    commits = try StoredRepository.part(row, at: 16)
    let lastPage = try row.decode(Int?.self, at: 22)
    commitPlace = try row.decode(Bool?.self, at: 21).map { Place(hasNext: $0, lastPage: lastPage) }
    let stateAt = try row.decode(Instant?.self, at: 26)
    stateFreshness = Freshness(stateAt, stateAt, try row.decode(Double?.self, at: 27))
    if let moment = try row.decode(Instant?.self, at: 23),
      let freshness = Freshness(moment, moment, try row.decode(Double?.self, at: 24))
    {
      emptiness = (freshness, row[25] ?? "")
    } else {
      emptiness = nil
    }
  }

  /// Document, essence, and three columns of freshness.
  private static func part(_ row: Row, at column: Int) throws(PostgresError) -> Part? {
    guard let document = row[column], let essence = row[column + 1],
      let freshness = Freshness(
        try row.decode(Instant?.self, at: column + 2), try row.decode(Instant?.self, at: column + 3),
        try row.decode(Double?.self, at: column + 4))
    else { return nil }
    return Part(document: Array(document.utf8), essence: Array(essence.utf8), freshness: freshness)
  }
}

extension Mirror {
  /// A repository and, if its parts are wanted, its languages and a page of its commits.
  ///
  /// - Throws: `PostgresError`.
  public func repository(
    _ repository: RepositoryKey, commits: CommitQuery = .first, parts: Bool, token: [UInt8]
  ) async throws -> Read<StoredRepository> {
    let rows = try await database.query(
      StoredRepository.query(repository, commits: commits, parts: parts, token: token))
    guard let row = rows.first else { return .nobody }
    let account = try row.decode(Int64.self, at: 0)
    return try StoredRepository(row).map { .found($0, account: account) } ?? .unknown(account: account)
  }
}
