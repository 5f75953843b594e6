import Postgres
import Synchronization

/// Answers to POST requests that carry an `Idempotency-Key`, kept for a day: a retry is the same write.
public struct Idempotency: Sendable {
  let database: Database

  /// Keys in that database.
  public init(database: Database) { self.database = database }

  /// A request under a key.
  public struct Key: Sendable {
    /// Bytes a key has at most.
    public static let maxLength = 255
    /// Method and pattern of the route; keys of one route are not those of another.
    public let route: String
    let hash: [UInt8]
    let fingerprint: [UInt8]

    /// - Parameters:
    ///   - text: what the client has sent. Only its hash is kept.
    ///   - target: path and query.
    public init(_ text: String, route: String, target: String, body: [UInt8]) {
      self.route = String(route.prefix(200))
      hash = Digest.sha256(text.utf8)
      fingerprint = Digest.sha256(Array(target.utf8) + [0] + body)
    }
  }

  /// An answer to be given again.
  public struct Answer: Sendable {
    /// Bytes of a body that are kept at most. A longer answer is given once; a retry does the request again.
    public static let maxBody = 8 << 20
    /// The status.
    public let status: Int
    /// Names and values in turn.
    public let fields: [String]
    /// The body.
    public let body: [UInt8]

    /// `nil` when it is too long to be kept.
    public init?(status: Int, fields: [String], body: [UInt8]) {
      guard body.count <= Answer.maxBody else { return nil }
      (self.status, self.fields, self.body) = (status, fields, body)
    }
  }

  /// What there is under a key.
  public enum Beginning: Sendable {
    /// The token is nobody's.
    case nobody
    /// Nothing: go ahead, and store the answer.
    case started(IdempotencyClaim)
    /// The answer that was given before.
    case answered(Answer)
    /// Another request that has not been answered yet.
    case running
    /// Another request, with another target or body.
    case mismatch
    /// The account has used too many keys within a day.
    case full
  }

  /// Claims a key for the token's account. Whoever dies without an answer loses it after a minute.
  ///
  /// - Throws: `PostgresError`.
  public func begin(_ key: Key, token: [UInt8]) async throws -> Beginning {
    let claim = IdempotencyClaim()
    let rows = try await database.query(
      """
      SELECT outcome, status, fields, body
        FROM magpie.begin_idempotent(\(token), \(key.route), \(key.hash), \(key.fingerprint), \(claim.run))
      """)
    let fields = try rows[0].decode((String, Int?, [String]?, [UInt8]?).self)
    switch fields.0 {
    case "started": return .started(claim)
    case "running": return .running
    case "mismatch": return .mismatch
    case "full": return .full
    case "answered":
      return Answer(status: fields.1 ?? 200, fields: fields.2 ?? [], body: fields.3 ?? []).map { .answered($0) }
        ?? .running
    default: return .nobody
    }
  }

  /// Stores an answer whose write was not one transaction with it. Nothing happens when `claim` has stored one.
  ///
  /// - Throws: `PostgresError`, with SQLSTATE `MG409` when another has taken over.
  public func store(_ answer: Answer, _ claim: IdempotencyClaim) async throws {
    if claim.isStored { return }
    try await database.query(claim.storing(answer))
  }

  /// Gives the key back: the request did nothing, or nothing that a retry would not do again.
  ///
  /// - Throws: `PostgresError`.
  public func forget(_ claim: IdempotencyClaim) async throws {
    if claim.isStored { return }
    try await database.query("SELECT magpie.forget_answer(\(claim.run))")
  }
}

/// The right to store the answer to a request with an `Idempotency-Key`: in the transaction of its write (`answering`), or, where
/// a write is no single transaction, afterwards.
public final class IdempotencyClaim: Sendable {
  let run = UUID()
  private let stored = Atomic(false)

  /// Stores the answer; fails with SQLSTATE `MG409`, and the transaction with it, when another request has taken over
  /// because this one took longer than its minute.
  public func storing(_ answer: Idempotency.Answer) -> Query {
    "SELECT magpie.store_answer(\(run), \(answer.status)::int, \(answer.fields), \(answer.body))"
  }

  /// To be called when the transaction with `storing` was committed.
  public func noteStored() { stored.store(true, ordering: .releasing) }

  /// Whether that was so.
  public var isStored: Bool { stored.load(ordering: .acquiring) }
}
