import CLibcrypto
import Postgres

/// The one gate through which every request to an upstream goes, shared by all processes.
///
/// A window's requests are counted down when they are granted, not when they are answered, so that together the processes
/// never ask for more than the upstream allows. The upstream's own figures correct the count with every answer. Less urgent
/// work leaves a part of each window to more urgent work: 0, 5, 20 and 50 percent for the four classes, unless an
/// administrator has set other floors.
public final class Budgets: Sendable {
  let database: Database

  /// The database's role must be `magpie_worker`; for `outlook` and `lines` alone `magpie_app` will do.
  public init(database: Database) { self.database = database }

  /// A key to an upstream, or the right to use it without one.
  public struct Credential: Sendable {
    /// See `identifier`. Never the secret itself.
    public var id: String
    /// The upstream, such as `github`.
    public var pool: String
    /// For administrators.
    public var label: String
    /// What is assumed until the upstream says.
    public var resources: [Resource]
    /// How fast requests may follow each other.
    public var pace: Pace
    /// Requests under way at once, over all processes.
    public var maximumOutstanding: Int

    /// Describes a credential.
    public init(
      id: String, pool: String, label: String, resources: [Resource], pace: Pace = Pace(), maximumOutstanding: Int = 60
    ) {
      self.id = id
      self.pool = pool
      self.label = label
      self.resources = resources
      self.pace = pace
      self.maximumOutstanding = maximumOutstanding
    }

    /// The same for the same secret in every process, and of no use to anybody who reads it: the first 80 bits of its
    /// SHA-256, behind the pool's name. `nil` stands for use without a key.
    public static func identifier(pool: String, secret: String?) -> String {
      guard let secret else { return "\(pool):anonymous" }
      var digest = [UInt8](repeating: 0, count: 32)
      let bytes = Array(secret.utf8)
      SHA256(bytes, bytes.count, &digest)
      let digits = Array("0123456789abcdef".unicodeScalars)
      var text = "\(pool):"
      for byte in digest.prefix(10) {
        text.unicodeScalars.append(digits[Int(byte >> 4)])
        text.unicodeScalars.append(digits[Int(byte & 15)])
      }
      return text
    }
  }

  /// A budget of its own within a credential, such as GitHub's `core` and `search`.
  public struct Resource: Sendable {
    /// As the upstream calls it, 1 to 64 characters.
    public var name: String
    /// Requests in a window.
    public var limit: Int
    /// How long a window is.
    public var window: Duration

    /// Describes a budget.
    public init(_ name: String, limit: Int, window: Duration) {
      self.name = name
      self.limit = limit
      self.window = window
    }
  }

  /// A bucket that fills steadily. In no minute are there more than `burst + 60 * perSecond` requests: 800 by default, below
  /// the 900 a minute that GitHub allows an endpoint.
  public struct Pace: Sendable {
    /// The steady flow.
    public var perSecond: Double
    /// What may come at once after a pause, at least 1.
    public var burst: Double

    /// Describes a pace.
    public init(perSecond: Double = 10, burst: Double = 200) {
      self.perSecond = perSecond
      self.burst = burst
    }

    /// For upstreams without such rules, and for tests.
    public static let unlimited = Pace(perSecond: 1e9, burst: 1e9)
  }

  /// Announces the credentials of this process. To be repeated every ten minutes or so, as a sign that they are in use; a
  /// credential that is there already keeps its counts.
  ///
  /// - Throws: `PostgresError`.
  public func register(_ credentials: [Credential]) async throws(PostgresError) {
    for credential in credentials {
      try await database.retrying(
        """
        SELECT magpie.register_credential(\(credential.id), \(credential.pool), \(credential.label),
          \(credential.pace.perSecond), \(max(1, credential.pace.burst)), \(credential.maximumOutstanding)::int,
          \(credential.resources.map(\.name)), \(credential.resources.map { Int32(clamping: $0.limit) }),
          \(credential.resources.map(\.window.inSeconds)))
        """)
    }
  }
}
