import Postgres

extension Accounts {
  /// What came of something that the owner had to give the password for.
  public enum OwnerOutcome: Sendable {
    /// It is done.
    case done(account: Int64)
    /// The token is nobody's (any more).
    case nobody
    /// The password is not the account's.
    case wrongPassword(account: Int64)
    /// The new password is not one to take.
    case unfit(PasswordPolicy.Refusal)
    /// Too many attempts.
    case throttled(seconds: Int)
  }

  /// Sets a new password.
  ///
  /// - Parameter endsOthers: signs all other devices out.
  /// - Throws: `PasswordWorkers.Busy`, and `PostgresError`, with SQLSTATE `MG403` when the token may not write.
  public func changePassword(
    from current: String, to new: String, endsOthers: Bool, token: [UInt8], source: Source
  ) async throws -> OwnerOutcome {
    guard let owner = try await owner(of: token) else { return .nobody }
    if let refusal = PasswordPolicy.refusal(of: new, username: owner.username) { return .unfit(refusal) }
    return try await check(current, of: owner, source: source, .password) { attempt, stored in
      let hash = try await hash(new)
      let rows = try await database.write(
        "SELECT magpie.change_password(\(token), \(stored.text), \(hash), \(endsOthers))", after: [attempt.forgiving])
      return try rows[0].decode(Bool.self)
    }
  }

  /// Deletes the token's account, all devices signed out; its owner can take that back for 30 days.
  ///
  /// - Throws: `PasswordWorkers.Busy`, and `PostgresError`, with SQLSTATE `MG403` when the token may not write.
  public func delete(password: String, token: [UInt8], source: Source) async throws -> OwnerOutcome {
    guard let owner = try await owner(of: token) else { return .nobody }
    return try await check(password, of: owner, source: source, .deletion) { attempt, stored in
      let rows = try await database.write(
        "SELECT magpie.delete_own_account(\(token), \(stored.text))", after: [attempt.forgiving])
      return try rows[0].decode(Bool.self)
    }
  }

  private struct Owner {
    let account: Int64
    let username: String
  }

  private func owner(of token: [UInt8]) async throws -> Owner? {
    let rows = try await database.query(
      "SELECT a.id, a.username FROM magpie.account a WHERE a.id = magpie.current_account()",
      after: ["SELECT magpie.authenticate(\(token), 'write')"])
    guard let fields = try rows.first?.decode((Int64, String).self) else { return nil }
    return Owner(account: fields.0, username: fields.1)
  }

  /// As strict as signing in: whoever holds a token may not guess the password with it.
  private func check(
    _ password: String, of owner: Owner, source: Source, _ refusal: Attempt.Refusal,
    then body: (Attempt, PasswordHash) async throws -> Bool
  ) async throws -> OwnerOutcome {
    let attempt = try await Attempt(.password, username: owner.username, from: source, in: database)
    if attempt.wait > 0 { return .throttled(seconds: attempt.wait) }
    guard try await matches(password, attempt), let stored = attempt.stored else {
      try await attempt.refuse(refusal, account: owner.account, in: database)
      return .wrongPassword(account: owner.account)
    }
    return try await body(attempt, stored) ? .done(account: owner.account) : .nobody
  }
}
