import Postgres

extension Accounts {
  /// An account as its owner sees it.
  public struct Profile: Sendable {
    /// In lower case.
    public let username: String
    /// What the person is called, if that was said.
    public let displayName: String?
    /// The language of the person, such as `de` or `pt-BR`.
    public let locale: String
    /// The roughest GIFs that are shown, one of `gifRatings`.
    public let gifRating: String
    /// By the database's clock.
    public let createdAt: Instant
    /// Raised by every change to the favorites.
    public let version: Int64
    /// How many favorites, by kind; kinds without any are left out.
    public let favorites: [String: Int64]
    /// Favorites that were removed and can be restored.
    public let tombstones: Int64
    /// Devices that are signed in.
    public let devices: Int64
  }

  /// What an owner changes; `nil` leaves it as it is.
  public struct ProfileChange: Sendable {
    /// `.some(nil)` removes it.
    public var displayName: String??
    /// Must be valid, see `isValid(locale:)`.
    public var locale: String?
    /// One of `gifRatings`.
    public var gifRating: String?

    /// Changes nothing.
    public init() {}
  }

  /// Ratings of GIFs, from the mildest to the roughest.
  public static let gifRatings = ["y", "g", "pg", "pg-13", "r"]
  /// Characters of a locale at most (RFC 5646 recommends room for 35).
  public static let maxLocaleLength = 35

  /// Whether a text is a language, perhaps with more subtags, such as `de` or `pt-BR`. As the database has it.
  public static func isValid(locale: String) -> Bool {
    let parts = locale.split(separator: "-", omittingEmptySubsequences: false)
    func isAlphanumeric(_ byte: UInt8) -> Bool {
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
    guard locale.utf8.count <= maxLocaleLength, let language = parts.first, (2...3).contains(language.utf8.count),
      language.utf8.allSatisfy({ (0x61...0x7A).contains($0) })
    else { return false }
    return parts.dropFirst().allSatisfy { (2...8).contains($0.utf8.count) && $0.utf8.allSatisfy(isAlphanumeric) }
  }

  private static let profile: Query =
    """
    SELECT a.username, a.display_name, a.locale, a.gif_rating, a.created_at, a.version,
           ARRAY(SELECT f.kind FROM magpie.favorite f WHERE f.account_id = a.id GROUP BY f.kind ORDER BY f.kind),
           ARRAY(SELECT count(*) FROM magpie.favorite f WHERE f.account_id = a.id GROUP BY f.kind ORDER BY f.kind),
           (SELECT count(*) FROM magpie.favorite_tombstone t WHERE t.account_id = a.id),
           (SELECT count(*) FROM magpie.session s
             WHERE s.account_id = a.id AND s.revoked_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > now())
               AND (s.idle_timeout IS NULL OR s.last_seen_at > now() - s.idle_timeout))
      FROM magpie.account a WHERE a.id = magpie.current_account()
    """

  private static func profile(_ row: Row) throws -> Profile {
    let fields = try row.decode(
      (String, String?, String, String, Instant, Int64, [String], [Int64], Int64, Int64).self)
    return Profile(
      username: fields.0, displayName: fields.1, locale: fields.2, gifRating: fields.3, createdAt: fields.4,
      version: fields.5, favorites: Dictionary(uniqueKeysWithValues: zip(fields.6, fields.7)), tombstones: fields.8,
      devices: fields.9)
  }

  /// The token's account; `nil` when it is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func profile(of token: [UInt8]) async throws -> Profile? {
    let rows = try await database.query(Accounts.profile, after: ["SELECT magpie.authenticate(\(token))"])
    return try rows.first.map(Accounts.profile)
  }

  /// What a change came to.
  public enum ProfileOutcome: Sendable {
    case changed(Profile)
    /// The condition did not hold; this is what there is.
    case conflict(Profile)
  }

  /// Changes settings if the account, as it stands, is what the client expects. `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write.
  public func change(
    _ change: ProfileChange, token: [UInt8], where isExpected: @Sendable (Profile) -> Bool
  ) async throws -> ProfileOutcome? {
    try await database.transaction(retries: 2) { transaction in
      // The lock that every favorite's write takes too, so that the counts stand still.
      let locked = try await transaction.query(
        "\(fragment: Accounts.profile) FOR NO KEY UPDATE OF a", after: ["SELECT magpie.authenticate(\(token), 'write')"]
      )
      guard let row = locked.first else { return nil }
      let before = try Accounts.profile(row)
      guard isExpected(before) else { return .conflict(before) }
      try await transaction.query(
        """
        UPDATE magpie.account a
           SET display_name = CASE WHEN \(change.displayName != nil) THEN \(change.displayName ?? nil) ELSE a.display_name END,
               locale = coalesce(\(change.locale)::text, a.locale),
               gif_rating = coalesce(\(change.gifRating)::text, a.gif_rating)
         WHERE a.id = magpie.current_account()
        """)
      return .changed(try Accounts.profile(try await transaction.query(Accounts.profile)[0]))
    }
  }
}
