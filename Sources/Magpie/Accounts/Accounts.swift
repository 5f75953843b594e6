import Postgres

/// Accounts and their devices.
public struct Accounts: Sendable {
  let database: Database
  let passwords: PasswordWorkers

  /// Accounts in a database.
  public init(database: Database, passwords: PasswordWorkers) {
    self.database = database
    self.passwords = passwords
  }

  /// A device that has just signed in.
  public struct SignIn: Sendable {
    /// To be shown once.
    public let token: Secret
    /// Names the session in the list of devices.
    public let sessionID: UUID
    /// When the session was opened, by the database's clock.
    public let sessionCreatedAt: Instant
    /// As the account was created with, in lower case.
    public let username: String
    /// What the person is called, if that was said.
    public let displayName: String?
    /// When the account was created, by the database's clock.
    public let accountCreatedAt: Instant
    /// The account's version; where a sync begins.
    public let version: Int64
  }

  /// What a device says about itself.
  public struct Device: Sendable {
    /// Characters of each text at most.
    public static let maxLength = 100
    /// Such as `Ada's phone`.
    public var name = ""
    /// Name and version of the client, such as `Followers 2.1`.
    public var app = ""

    /// A device without a name.
    public init(name: String = "", app: String = "") {
      self.name = name
      self.app = app
    }
  }

  /// Checks a password and opens a session. `nil` for unknown names and for wrong passwords, after the same time.
  ///
  /// - Throws: `PasswordWorkers.Busy`, `PostgresError`.
  public func signIn(username: String, password: String, device: Device) async throws -> SignIn? {
    let rows = try await database.query(
      "SELECT account_id, password_hash FROM magpie.credentials(\(username))")
    let found = try rows.first?.decode((Int64, String).self)
    let stored = found.flatMap { PasswordHash($0.1) }
    let bytes = Array(password.utf8)
    let matches = try await passwords.run { (stored ?? PasswordHash.dummy).matches(bytes) }
    guard matches, let found, let stored else { return nil }
    if stored.isOutdated {
      let renewed = try await passwords.run { PasswordHash(password: bytes).text }
      _ = try await database.query("SELECT magpie.rehash_password(\(found.0), \(found.1), \(renewed))")
    }
    return try await openSession(of: found.0, device: device)
  }

  /// Uses a one-time code up, sets the password and opens a session. `nil` when the code is not good.
  ///
  /// - Throws: `PasswordWorkers.Busy`, `PostgresError`.
  public func redeem(_ code: Secret, password: String, device: Device) async throws -> SignIn? {
    let hash = try await hash(password)
    let rows = try await database.query("SELECT magpie.redeem_invitation(\(code.hash), \(hash))")
    guard let account = try rows.first?.decode(Int64?.self) else { return nil }
    return try await openSession(of: account, device: device)
  }

  /// Makes an account and opens a session. `nil` when the name is taken.
  ///
  /// - Throws: `PasswordWorkers.Busy`, `PostgresError`.
  public func signUp(
    username: String, password: String, displayName: String?, device: Device
  ) async throws -> SignIn? {
    let hash = try await hash(password)
    let rows = try await database.query("SELECT magpie.create_account(\(username), \(hash), \(displayName))")
    guard let account = try rows.first?.decode(Int64?.self) else { return nil }
    return try await openSession(of: account, device: device)
  }

  /// Whose token it is; `nil` for nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func account(of token: [UInt8]) async throws -> Int64? {
    try await database.query("SELECT magpie.authenticate(\(token))").first?.decode(Int64?.self)
  }

  /// Whether a name may be an account's: 3 to 39 of `a-z 0-9 _ -`, capitals taken as small letters.
  public static func isValid(username: String) -> Bool {
    (3...39).contains(username.utf8.count)
      && username.utf8.allSatisfy { byte in
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  private func hash(_ password: String) async throws -> String {
    let bytes = Array(password.utf8)
    return try await passwords.run { PasswordHash(password: bytes).text }
  }

  private func openSession(of account: Int64, device: Device) async throws -> SignIn? {
    let token = Secret(random: .token)
    let rows = try await database.query(
      """
      SELECT session_id, created_at, username, display_name, account_created_at, version
        FROM magpie.open_session(\(account), \(token.hash), \(token.hint), \(device.name), \(device.app))
      """)
    guard let row = rows.first else { return nil }
    let fields = try row.decode((UUID, Instant, String, String?, Instant, Int64).self)
    return SignIn(
      token: token, sessionID: fields.0, sessionCreatedAt: fields.1, username: fields.2, displayName: fields.3,
      accountCreatedAt: fields.4, version: fields.5)
  }
}
