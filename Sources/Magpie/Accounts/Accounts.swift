import Postgres

/// Accounts and their devices.
public struct Accounts: Sendable {
  let database: Database
  let passwords: PasswordWorkers
  /// What new passwords are hashed with.
  private let hashing: PasswordHash.Parameters

  /// Accounts in a database.
  public init(database: Database, passwords: PasswordWorkers) {
    self.init(database: database, passwords: passwords, hashing: .standard)
  }

  /// Accounts whose passwords take more or less work than they should.
  package init(database: Database, passwords: PasswordWorkers, hashing: PasswordHash.Parameters) {
    self.database = database
    self.passwords = passwords
    self.hashing = hashing
  }

  /// The keys under which accounts send requests once.
  public var idempotency: Idempotency { Idempotency(database: database) }

  /// A device that has just signed in.
  public struct SignIn: Sendable {
    /// To be shown once.
    public let token: Secret
    /// The account, for the log.
    public let account: Int64
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

  /// Checks a password and opens a session. Unknown names are refused like wrong passwords, after the same time.
  ///
  /// - Parameters:
  ///   - restores: whether an account that its owner has deleted comes back with it.
  ///   - isBrowser: whether the session ends by itself after a time.
  /// - Throws: `PasswordWorkers.Busy`, `PostgresError`.
  public func signIn(
    username: String, password: String, device: Device, from source: Source, restores: Bool = false,
    isBrowser: Bool = false
  ) async throws -> Admission {
    let attempt = try await Attempt(.password, username: username, from: source, restores: restores, in: database)
    if attempt.wait > 0 { return .throttled(seconds: attempt.wait) }
    guard let account = attempt.account, let stored = attempt.stored, try await matches(password, attempt) else {
      try await attempt.refuse(restores ? .restore : .signIn, account: attempt.account, in: database)
      return .refused(account: attempt.account)
    }
    let renewed = try await stored.isOutdated(where: hashing) ? hash(password) : nil
    func admit(_ checked: String, renewed: String?) async throws -> Admission {
      try await admission { transaction in
        if restores {
          let isBack = try await transaction.query("SELECT magpie.restore_account(\(account), \(checked))")
          guard try isBack[0].decode(Bool.self) else { throw NotAdmitted(account: account) }
        }
        if let renewed {
          let isNew = try await transaction.query("SELECT magpie.rehash_password(\(account), \(checked), \(renewed))")
          guard try isNew[0].decode(Bool.self) else { throw NotAdmitted(account: account) }
        }
        let signIn = try await openSession(
          of: account, checked: renewed ?? checked, device: device, isBrowser: isBrowser, from: source, in: transaction)
        try await transaction.query(attempt.forgiving)
        return signIn
      }
    }
    if case .admitted(let signIn) = try await admit(stored.text, renewed: renewed) { return .admitted(signIn) }
    // The password has been changed meanwhile. Or somebody who signed in at the same moment has had its hash renewed, and
    // it is right all the same.
    let present = try await database.query(
      "SELECT password_hash FROM magpie.credentials(\(username)) WHERE account_id = \(account)"
    ).first?.decode(String.self)
    if let present, present != stored.text, let other = PasswordHash(present),
      try await matches(password, other, isUrgent: attempt.isKnown),
      case .admitted(let signIn) = try await admit(present, renewed: nil)
    {
      return .admitted(signIn)
    }
    try await attempt.refuse(restores ? .restore : .signIn, account: account, in: database)
    return .refused(account: account)
  }

  /// Whether it is the password. Takes as long when there is no account.
  ///
  /// - Throws: `PasswordWorkers.Busy`.
  func matches(_ password: String, _ attempt: Attempt) async throws -> Bool {
    try await matches(password, attempt.stored ?? .dummy(hashing), isUrgent: attempt.isKnown)
  }

  private func matches(_ password: String, _ stored: PasswordHash, isUrgent: Bool) async throws -> Bool {
    let bytes = Array(password.utf8)
    // Longer ones are nobody's, and hashing them would take longer.
    let isPossible = bytes.count <= PasswordPolicy.length.upperBound
    return try await passwords.run(isUrgent: isUrgent) { stored.matches(isPossible ? bytes : []) } && isPossible
  }

  /// Uses a one-time code up, sets the password and opens a session.
  ///
  /// - Throws: `PasswordWorkers.Busy`, `PostgresError`.
  public func redeem(
    _ code: Secret, password: String, device: Device, from source: Source, isBrowser: Bool = false
  ) async throws -> Admission {
    let attempt = try await Attempt(.code, from: source, in: database)
    if attempt.wait > 0 { return .throttled(seconds: attempt.wait) }
    let found = try await database.query("SELECT magpie.find_invitation(\(code.hash))").first?.decode(Int64?.self)
    guard found ?? nil != nil else {
      try await attempt.refuse(.code, account: nil, in: database)
      return .refused(account: nil)
    }
    let hash = try await hash(password)
    // Otherwise a code could be used up and nobody be signed in.
    return try await admission { transaction in
      let rows = try await transaction.query("SELECT magpie.redeem_invitation(\(code.hash), \(hash))")
      guard let account = try rows.first?.decode(Int64?.self) else { throw NotAdmitted(account: nil) }
      let signIn = try await openSession(
        of: account, checked: nil, device: device, isBrowser: isBrowser, from: source, in: transaction)
      try await transaction.query(attempt.forgiving)
      return signIn
    }
  }

  /// Makes an account and opens a session. Refused when the name is taken.
  ///
  /// - Throws: `PasswordWorkers.Busy`, `PostgresError`.
  public func signUp(
    username: String, password: String, displayName: String?, device: Device, from source: Source,
    isBrowser: Bool = false
  ) async throws -> Admission {
    let attempt = try await Attempt(.signUp, from: source, in: database)
    if attempt.wait > 0 { return .throttled(seconds: attempt.wait) }
    let hash = try await hash(password)
    // Otherwise the name could be taken by an account whose owner was told that there is none. The attempt counts for
    // good.
    return try await admission { transaction in
      let rows = try await transaction.query("SELECT magpie.create_account(\(username), \(hash), \(displayName))")
      guard let account = try rows.first?.decode(Int64?.self) else { throw NotAdmitted(account: nil) }
      return try await openSession(
        of: account, checked: nil, device: device, isBrowser: isBrowser, from: source, in: transaction)
    }
  }

  /// Whose token it is; `nil` for nobody's.
  ///
  /// - Parameter writes: whether the token must be one that may change things.
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when it must and may not.
  public func account(of token: [UInt8], writes: Bool = false) async throws -> Int64? {
    let query: Query =
      writes ? "SELECT magpie.authenticate(\(token), 'write')" : "SELECT magpie.authenticate(\(token))"
    return try await database.query(query).first?.decode(Int64?.self)
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

  func hash(_ password: String) async throws -> String {
    let bytes = Array(password.utf8)
    return try await passwords.run { [hashing] in PasswordHash(password: bytes, parameters: hashing).text }
  }

  /// Why nobody is signed in. Thrown, so that whatever led there is rolled back.
  private struct NotAdmitted: Error {
    /// For the log.
    let account: Int64?
  }

  /// Opens a session, with all that belongs to it or not at all; tried again when somebody holds the account for long.
  private func admission(_ body: (Transaction) async throws -> SignIn) async throws -> Admission {
    do {
      return .admitted(try await database.transaction(retries: 2, body))
    } catch let refusal as NotAdmitted {
      return .refused(account: refusal.account)
    }
  }

  /// To be called before an attempt is taken back: it may wait for the account, and everybody waits for the counters.
  ///
  /// - Parameter checked: the hash that the password was compared with, which must still be the account's; `nil` where
  ///   the transaction has just set it.
  private func openSession(
    of account: Int64, checked: String?, device: Device, isBrowser: Bool, from source: Source,
    in transaction: Transaction
  ) async throws -> SignIn {
    let token = Secret(random: .token)
    let rows = try await transaction.query(
      """
      SELECT session_id, created_at, username, display_name, account_created_at, version
        FROM magpie.open_session(
          \(account), \(checked), \(token.hash), \(token.hint), \(device.name), \(device.app), \(isBrowser), \(source.address))
      """)
    guard let row = rows.first else { throw NotAdmitted(account: account) }
    let fields = try row.decode((UUID, Instant, String, String?, Instant, Int64).self)
    return SignIn(
      token: token, account: account, sessionID: fields.0, sessionCreatedAt: fields.1, username: fields.2,
      displayName: fields.3, accountCreatedAt: fields.4, version: fields.5)
  }
}
