import EventLoop
import Postgres
import Synchronization

/// A lease of the housekeeping. Believed for a second less than it lasts, on our own clock from before we asked.
///
/// Nothing depends on there being one leader: it saves the others the work.
final class Leadership: Sendable {
  static let lifetime = Duration.seconds(10)

  private struct State {
    var term: Int64?
    var believedUntil: UInt64 = 0
  }
  private let database: Database
  private let holder = UUID()
  private let state = Mutex(State())

  init(database: Database) { self.database = database }

  var isHeld: Bool { state.withLock { $0.term != nil && System.monotonicNanoseconds() < $0.believedUntil } }

  /// Renews the lease, or takes it when it is free.
  func campaign() async throws(PostgresError) {
    let start = System.monotonicNanoseconds()
    let seconds = Leadership.lifetime.inSeconds
    let term = state.withLock { $0.term }
    var rows: Rows?
    if let term {
      rows = try await database.query(
        """
        UPDATE magpie.leader l SET expires_at = now() + make_interval(secs => \(seconds))
        WHERE l.name = 'housekeeping' AND l.holder = \(holder) AND l.term = \(term) AND l.expires_at >= now()
        RETURNING l.term
        """)
    }
    if rows?.isEmpty ?? true {
      rows = try await database.query(
        """
        INSERT INTO magpie.leader AS l (name, holder, term, elected_at, expires_at)
        VALUES ('housekeeping', \(holder), 1, now(), now() + make_interval(secs => \(seconds)))
        ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, term = l.term + 1, elected_at = now(),
          expires_at = EXCLUDED.expires_at
        WHERE l.expires_at < now()
        RETURNING l.term
        """)
    }
    let won = try rows?.first?.decode(Int64.self)
    state.withLock { state in
      state.term = won
      state.believedUntil = start &+ (Leadership.lifetime - .seconds(1)).wholeNanoseconds
    }
  }

  /// Lets another process take over at once.
  func resign() async {
    let term = state.withLock { state in
      defer { state.term = nil }
      return state.term
    }
    guard let term else { return }
    _ = try? await database.query(
      """
      UPDATE magpie.leader l SET expires_at = now() - interval '1 ms'
      WHERE l.name = 'housekeeping' AND l.holder = \(holder) AND l.term = \(term)
      """)
  }
}
