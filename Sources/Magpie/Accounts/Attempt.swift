import Postgres

extension Accounts {
  /// Where somebody tries to sign in from. Both are only ever stored hashed.
  public struct Source: Sendable, Equatable {
    /// What failures of many neighbors are counted by: an IPv4 /24 or an IPv6 /64.
    public let network: String
    /// What a returning device is recognized by: an IPv4 address or an IPv6 /64.
    public let address: String

    /// Any two texts that name them.
    public init(network: String, address: String) {
      self.network = network
      self.address = address
    }
  }

  /// How an attempt to get a token ended.
  public enum Admission: Sendable {
    /// Well.
    case admitted(SignIn)
    /// Name, password or code are not good. The account, if the name is one's, is for the log and not for the client.
    case refused(account: Int64?)
    /// Too many attempts: nothing was looked at.
    case throttled(seconds: Int)
  }
}

/// One attempt to use a password or a code, counted before it is looked at (`sql/migrations/0060_attempts.sql`).
struct Attempt {
  /// What is tried; each sort has its own limits.
  enum Kind: String {
    case password, code
    case signUp = "sign-up"
  }

  let kind: Kind
  /// Empty for codes and for signing up.
  let username: String
  let source: Accounts.Source
  /// Seconds to wait; 0 when it may go on.
  let wait: Int
  /// Whether the account was used from this address before. Then it does not wait for strangers.
  let isKnown: Bool
  let account: Int64?
  let stored: PasswordHash?

  /// Counts an attempt.
  ///
  /// - Parameter restores: also for accounts that their owner has deleted.
  /// - Throws: `PostgresError`.
  init(
    _ kind: Kind, username: String = "", from source: Accounts.Source, restores: Bool = false, in database: Database
  ) async throws {
    let rows = try await database.query(
      """
      SELECT wait_seconds, is_known, account_id, password_hash
        FROM magpie.begin_attempt(\(kind.rawValue), \(username), \(source.network), \(source.address), \(restores))
      """)
    let fields = try rows[0].decode((Int, Bool, Int64?, String?).self)
    (self.kind, self.username, self.source) = (kind, username, source)
    (wait, isKnown, account) = (fields.0, fields.1, fields.2)
    stored = fields.3.flatMap { PasswordHash($0) }
  }

  /// Takes it back; to be sent along with what success leads to.
  var forgiving: Query {
    """
    SELECT magpie.forgive_attempt(
      \(kind.rawValue), \(username), \(source.network), \(source.address), \(isKnown))
    """
  }

  /// Writes down that it was wrong, which takes the same time for names that nobody has.
  func refuse(_ action: Refusal, account: Int64?, in database: Database) async throws {
    try await database.query("SELECT magpie.refuse_attempt(\(account), \(action.rawValue))")
  }

  /// What the audit calls a failure.
  enum Refusal: String {
    case signIn = "refused sign-in"
    case restore = "refused restore"
    case code = "refused code"
    case password = "refused password change"
    case deletion = "refused deletion"
  }
}
