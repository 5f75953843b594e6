import Postgres

extension Sync {
  /// What an account has, in a few numbers that a device can work out from what it has.
  public struct Checksum: Sendable {
    /// One kind of items.
    public struct Sum: Sendable {
      /// How many there are.
      public let count: Int64
      /// The exclusive or of the items' hashes, 64 hexadecimal digits.
      public let hash: String

      /// Of nothing.
      public static let empty = Sum(count: 0, hash: String(repeating: "0", count: 64))
    }
    /// The account's version.
    public let version: Int64
    /// By kind; kinds without items may be missing.
    public let kinds: [String: Sum]
  }

  /// The account's checksum at its present version; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func checksum(token: [UInt8]) async throws -> Checksum? {
    let rows = try await database.query(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT a.version, c.kind, c.count, c.hash::text
        FROM me
        LEFT JOIN LATERAL (SELECT a.version FROM magpie.account a WHERE a.id = me.account_id LIMIT 1) a ON true
        LEFT JOIN LATERAL (
          SELECT s.kind, s.count, s.hash FROM magpie.favorite_sum s WHERE s.account_id = me.account_id LIMIT 100) c ON true
       WHERE me.account_id IS NOT NULL
      """)
    guard !rows.isEmpty else { return nil }
    var version: Int64 = 0
    var kinds: [String: Checksum.Sum] = [:]
    for (current, kind, count, bits) in try rows.decode((Int64, String?, Int64?, String?).self) {
      version = current
      guard let kind, let count, let bits else { continue }
      kinds[kind] = Checksum.Sum(count: count, hash: hexadecimal(bits: bits))
    }
    return Checksum(version: version, kinds: kinds)
  }

  /// Four bits a digit.
  private func hexadecimal(bits: String) -> String {
    var digits: [UInt8] = []
    var value: UInt8 = 0
    for (index, bit) in bits.utf8.enumerated() {
      value = value << 1 | (bit == UInt8(ascii: "1") ? 1 : 0)
      if index % 4 == 3 {
        digits.append(value < 10 ? 0x30 + value : 0x57 + value)
        value = 0
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }
}
