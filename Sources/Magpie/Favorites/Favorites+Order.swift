import Postgres

extension Favorites {
  /// What moving an item did.
  public enum Move: Sendable {
    case edit(Edit)
    /// The neighbor is none of the account's favorites.
    case noNeighbor
  }

  /// Changes an item, and puts it just before or after another one.
  ///
  /// That is one rank written, unless there is none left between the neighbors: then those around them get new ones, all of
  /// them in the same transaction, so that no device sees some of it.
  ///
  /// - Throws: as `put`.
  public func move(
    _ kind: Favorite.Kind, _ id: String, to place: Favorite.Place, _ change: Favorite.Change, expected: [Int64]?,
    token: [UInt8]
  ) async throws -> Move {
    let outcome = try await database.transaction(retries: 3) { transaction -> Move in
      // Under the account's lock, or two devices could give two items one rank.
      let rows = try await transaction.query(
        "SELECT a.id FROM magpie.account a WHERE a.id = magpie.current_account() FOR NO KEY UPDATE",
        after: [Favorites.authenticate(token)])
      guard !rows.isEmpty else { return .edit(.nobody) }
      guard
        let (version, document) = try await transaction.query(
          """
          SELECT f.version, f.document FROM magpie.favorite f
           WHERE f.account_id = magpie.current_account() AND f.kind = \(kind.rawValue) AND f.subject_id = \(id)
          """
        ).first?.decode((Int64, String).self)
      else { return .edit(.missing) }
      if let expected, expected != Favorites.anyVersion, !expected.contains(version) {
        return .edit(.conflict(document: Array(document.utf8), version: version))
      }
      guard let rank = try await Favorites.rank(for: kind, id, at: place, in: transaction) else { return .noNeighbor }
      var change = change
      change.rank = rank
      let edited = try await transaction.query(
        "\(fragment: Favorites.edit(kind, id, change, expected: nil)) RETURNING f.document, f.version")
      guard let (document, version) = try edited.first?.decode((String, Int64).self) else { return .edit(.missing) }
      return .edit(.changed(document: Array(document.utf8), version: version))
    }
    return outcome
  }

  /// One favorite in the manual order.
  private struct Placed {
    let kind: String
    let id: String
    let rank: String
  }

  /// Neighbors that are given new ranks, on each side, before more of them are.
  private static let neighborhoods = [1, 64, 1_000, Int(Int32.max)]

  /// A rank for an item at a place; `nil` when the neighbor is not there.
  private static func rank(
    for kind: Favorite.Kind, _ id: String, at place: Favorite.Place, in transaction: Transaction
  ) async throws -> String? {
    for reach in neighborhoods {
      guard let (before, after) = try await neighbors(of: kind, id, at: place, reach: reach, in: transaction) else {
        return nil
      }
      if reach == 1 {
        if let rank = Rank.between(before.first?.rank, after.first?.rank) { return rank }
        continue
      }
      // The outermost ones stay as they are and hold the others between them, unless they are the first and last of all.
      let isFirst = before.count <= reach
      let isLast = after.count <= reach
      let moved = before.prefix(reach).reversed() + after.prefix(reach)
      guard
        let ranks = Rank.spread(
          moved.count + 1, between: isFirst ? nil : before.last?.rank, and: isLast ? nil : after.last?.rank)
      else { continue }
      let place = min(before.count, reach)
      var others = ranks
      let own = others.remove(at: place)
      try await transaction.query(
        """
        UPDATE magpie.favorite f SET rank = n.rank
          FROM unnest(\(moved.map(\.kind))::text[], \(moved.map(\.id))::text[], \(others)::text[]) AS n(kind, id, rank)
         WHERE f.account_id = magpie.current_account() AND f.kind = n.kind AND f.subject_id = n.id AND f.rank <> n.rank
        """)
      return own
    }
    throw Contention()
  }

  /// Those before a place, nearest first, and those after it, one more of each than `reach` where there are so many.
  private static func neighbors(
    of kind: Favorite.Kind, _ id: String, at place: Favorite.Place, reach: Int, in transaction: Transaction
  ) async throws -> (before: [Placed], after: [Placed])? {
    let isBefore: Bool
    let neighbor: (kind: Favorite.Kind, id: String)
    switch place {
    case .before(let kind, let id): (isBefore, neighbor) = (true, (kind, id))
    case .after(let kind, let id): (isBefore, neighbor) = (false, (kind, id))
    }
    func side(_ comparison: String, _ direction: String) -> Query {
      """
      SELECT f.kind, f.subject_id, f.rank FROM magpie.favorite f, here h
       WHERE f.account_id = magpie.current_account()
         AND (f.rank, f.kind, f.subject_id) \(unsafe: comparison) (h.rank, h.kind, h.subject_id)
         AND NOT (f.kind = \(kind.rawValue) AND f.subject_id = \(id))
       ORDER BY f.rank \(unsafe: direction), f.kind \(unsafe: direction), f.subject_id \(unsafe: direction)
       LIMIT \(reach + 1)
      """
    }
    let rows = try await transaction.query(
      """
      WITH here AS MATERIALIZED (
        SELECT f.kind, f.subject_id, f.rank FROM magpie.favorite f
         WHERE f.account_id = magpie.current_account() AND f.kind = \(neighbor.kind.rawValue) AND f.subject_id = \(neighbor.id)
           AND NOT (f.kind = \(kind.rawValue) AND f.subject_id = \(id)))
      SELECT 0, h.kind, h.subject_id, h.rank FROM here h
      UNION ALL SELECT * FROM (SELECT 1, b.* FROM (\(fragment: side(isBefore ? "<" : "<=", "DESC"))) b) AS before
      UNION ALL SELECT * FROM (SELECT 2, a.* FROM (\(fragment: side(isBefore ? ">=" : ">", "ASC"))) a) AS after
      """)
    guard !rows.isEmpty else { return nil }
    var before: [Placed] = []
    var after: [Placed] = []
    for row in rows {
      let (side, kind, id, rank) = try row.decode((Int, String, String, String).self)
      switch side {
      case 1: before.append(Placed(kind: kind, id: id, rank: rank))
      case 2: after.append(Placed(kind: kind, id: id, rank: rank))
      default: break
      }
    }
    return (before, after)
  }
}
