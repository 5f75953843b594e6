import Postgres

/// Keeps an account's devices in step: what has changed since a version, and what devices have done meanwhile.
///
/// Order is the account's version: one number an account, raised by the database under the lock of the account's row. A later
/// commit has higher versions, so "everything above what I have" misses nothing.
public struct Sync: Sendable {
  /// Operations of one push at most.
  public static let maxOperations = 500
  /// Changes on a page at most.
  public static let maxPage = 500
  /// Changes on a page unless the client says otherwise.
  public static let defaultPage = 200
  /// A page ends early beyond so many bytes of entries.
  static let maxPageBytes = 4 << 20
  /// Days after which a deletion is forgotten, and cursors from before it are refused.
  public static let horizonDays = 180

  let database: Database

  /// Of the accounts of a database.
  public init(database: Database) { self.database = database }

  /// Why no changes can be told.
  public enum Refusal: Sendable {
    /// The token is nobody's.
    case nobody
    /// The cursor is higher than the account's version: it is not from here, or the database was restored.
    case unknownCursor
    /// Deletions since the cursor have been forgotten.
    case expired
  }

  /// What a pull found.
  public enum Pull: Sendable {
    /// Nothing can be told.
    case refused(Refusal)
    /// Changes.
    case page(Page)
  }

  /// What has changed since a version.
  ///
  /// - Parameters:
  ///   - since: the version the device has; 0 for nothing at all, `nil` to learn only the present version.
  ///   - until: where a read in pages is to end, as its first page said.
  ///   - limit: entries at most.
  /// - Throws: `PostgresError`.
  public func pull(since: Int64?, until: Int64? = nil, limit: Int, token: [UInt8]) async throws -> Pull {
    let rows = try await database.queryWithKey(
      Page.query(since: since ?? .max, until: until, limit: limit, token: token))
    guard let first = rows.first else { return .refused(.nobody) }
    return try Page.read(rows, try Page.Head(first), since: since, until: until)
  }

  /// The same for a device, whose progress is noted.
  ///
  /// - Throws: `PostgresError`.
  public func pull(of device: [UInt8], since: Int64, until: Int64?, limit: Int) async throws -> Pull {
    let pull = try await pull(since: since, until: until, limit: limit, token: device)
    if case .page(let page) = pull {
      let fullRead = since == 0 && page.hasMore ? page.current : nil
      if fullRead != nil || page.head.fullRead != nil || page.head.syncVersion != page.version {
        // Without this the device is listed as a little behind, or reads once more; no reason to fail.
        _ = try? await database.queryWithKey(
          "SELECT magpie.note_sync(\(device), \(since), \(page.version), \(fullRead))")
      }
    }
    return pull
  }

  /// What a push did.
  public enum Push: Sendable {
    /// Nothing was done.
    case refused(Refusal)
    /// What became of each operation, in order.
    case results([Result])
  }

  /// Applies what a device has done, in order and in one transaction.
  ///
  /// - Parameter isAtomic: all or nothing.
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write.
  public func push(_ operations: [Operation], since: Int64, isAtomic: Bool, token: [UInt8]) async throws -> Push {
    let texts = operations.map(\.text)
    do {
      let rows = try await database.queryWithKey(
        """
        SELECT p.status, p.version, p.server, p.ancestor, p.pointer, p.error
          FROM magpie.sync_push(\(token), \(since), \(texts), \(isAtomic)) p
        """, isSlow: true)
      if rows.isEmpty { return .refused(.nobody) }
      return .results(try rows.map(Result.init))
    } catch let error as PostgresError {
      switch error.sqlState?.rawValue {
      case "MG400": return .refused(.unknownCursor)
      case "MG410": return .refused(.expired)
      default: throw error
      }
    }
  }

  /// Housekeeping: forgets what is beyond the horizon.
  ///
  /// - Throws: `PostgresError`.
  public static func forgetDeletions(in database: Database) async throws {
    try await database.pooled { connection in
      try await connection.query("SELECT magpie.forget_deletions(make_interval(days => \(Int32(horizonDays))))")
    }
  }
}
