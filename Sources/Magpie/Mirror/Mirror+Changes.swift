import Postgres

extension Mirror {
  /// Who came into a person's list and who left it.
  ///
  /// - Throws: `PostgresError`.
  public func changes(
    _ kind: FollowKind, of person: Person, _ range: ChangesRange, token: [UInt8]
  ) async throws -> Read<FollowerChanges> {
    let query = FollowerChanges.query(kind, of: person, range, token: token)
    let rows = try await database.query(query)
    let (head, parts) = FollowerChanges.parts(rows)
    switch StoredList.reading(head?[0]) {
    case .nobody: return .nobody
    case .unknown(let account): return .unknown(account: account)
    case .list(let list):
      var changes = try FollowerChanges(list, head, parts, count: range.count, form)
      changes.list.starred = try await starredPeople(among: list, changes.events.map(\.member), token: token)
      return .found(changes, account: list.account)
    }
  }

  /// How a person's list has grown and shrunk.
  ///
  /// - Parameters:
  ///   - from, to: days, both included, as `2026-01-31`.
  /// - Throws: `PostgresError`.
  public func history(
    _ kind: FollowKind, of person: Person, from: String, to: String, token: [UInt8]
  ) async throws -> Read<FollowerHistory> {
    let query = FollowerHistory.query(kind, of: person, from: from, to: to, token: token)
    let (head, parts) = FollowerChanges.parts(try await database.query(query))
    switch StoredList.reading(head?[0]) {
    case .nobody: return .nobody
    case .unknown(let account): return .unknown(account: account)
    case .list(let list): return .found(try FollowerHistory(list, parts), account: list.account)
    }
  }
}
