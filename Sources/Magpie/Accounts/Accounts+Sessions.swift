import Postgres

extension Accounts {
  /// A device that is signed in.
  public struct Session: Sendable {
    /// Names it in the list.
    public let id: UUID
    /// As the device has said.
    public let device: Device
    /// The end of its token, to tell devices of one name apart.
    public let hint: String
    /// `read`, `write` or both.
    public let scopes: [String]
    /// When it signed in.
    public let createdAt: Instant
    /// When it was last heard of, to a minute.
    public let lastSeenAt: Instant
    /// When it ends if nothing is done; `nil` for never, which `infinity` written by hand is too.
    public let expiresAt: Instant?
    /// Whether it is a browser's.
    public let isBrowser: Bool
    /// Whether it is the one that asks.
    public let isCurrent: Bool
    /// The account's version that the device has reached, as far as it has said.
    public let syncVersion: Int64?
    /// How far that is behind.
    public let lag: Int64?
  }

  /// A page of the devices that are signed in, the newest first; `nil` when the token is nobody's.
  ///
  /// - Parameters:
  ///   - after: what `SessionPage.next` of the page before was.
  ///   - limit: how many at most.
  /// - Throws: `PostgresError`.
  public func sessions(of token: [UInt8], after: [String]?, limit: Int) async throws -> SessionPage? {
    let place = after.flatMap { $0.count == 2 ? $0 : nil }
    let rows = try await database.query(
      """
      WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
      SELECT s.* FROM me LEFT JOIN LATERAL (
          SELECT s.id, s.device, s.app, s.token_hint, s.scopes, s.created_at, s.last_seen_at,
                 least(CASE WHEN s.expires_at <= '9999-12-31 23:59:59.999999Z' THEN s.expires_at END,
                       s.last_seen_at + s.idle_timeout), s.idle_timeout IS NOT NULL,
                 s.token_hash = \(token), s.sync_version, a.version - s.sync_version, s.created_at::text AS place
            FROM magpie.session s JOIN magpie.account a ON a.id = s.account_id
           WHERE s.account_id = me.account_id AND s.revoked_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > now())
             AND (s.idle_timeout IS NULL OR s.last_seen_at > now() - s.idle_timeout)
             AND (\(place?[0])::text IS NULL
                  OR (s.created_at, s.id) < (\(place?[0])::timestamptz, \(place?[1])::uuid))
           ORDER BY s.created_at DESC, s.id DESC LIMIT \(limit + 1)) s ON true
       WHERE me.account_id IS NOT NULL
      """)
    if rows.isEmpty { return nil }
    var page = SessionPage()
    for row in rows {
      guard try row.decode(UUID?.self, at: 0) != nil else { continue }
      if page.sessions.count == limit {
        page.next = [rows[limit - 1][12] ?? "", page.sessions[limit - 1].id.description]
        break
      }
      let fields = try row.decode(
        (
          UUID, String, String, String, [String], Instant, Instant, Instant?, Bool, Bool, Int64?, Int64?, String
        ).self)
      page.sessions.append(
        Session(
          id: fields.0, device: Device(name: fields.1, app: fields.2), hint: fields.3, scopes: fields.4,
          createdAt: fields.5, lastSeenAt: fields.6, expiresAt: fields.7, isBrowser: fields.8, isCurrent: fields.9,
          syncVersion: fields.10, lag: fields.11))
    }
    return page
  }

  /// Some devices.
  public struct SessionPage: Sendable {
    /// The newest first.
    public var sessions: [Session] = []
    /// What `after` must be to go on; `nil` at the end.
    public var next: [String]?
  }

  /// What signing out has done.
  public enum Revocation: Sendable {
    case nobody
    case missing
    case revoked(isCurrent: Bool)
  }

  /// Signs a device out, at once. `id: nil` names the one that asks.
  ///
  /// - Throws: `PostgresError`, with SQLSTATE `MG403` when the token may not write.
  public func revoke(_ id: UUID?, token: [UInt8]) async throws -> Revocation {
    let rows = try await database.write(
      """
      WITH revoked AS (
        UPDATE magpie.session s SET revoked_at = now()
         WHERE s.account_id = magpie.current_account() AND s.revoked_at IS NULL
           AND CASE WHEN \(id)::uuid IS NULL THEN s.token_hash = \(token) ELSE s.id = \(id)::uuid END
        RETURNING s.token_hash = \(token) AS is_current)
      SELECT magpie.current_account(), (SELECT r.is_current FROM revoked r)
      """, after: ["SELECT magpie.authenticate(\(token), 'write')"])
    let (account, isCurrent) = try rows[0].decode((Int64?, Bool?).self)
    guard account != nil else { return .nobody }
    return isCurrent.map { .revoked(isCurrent: $0) } ?? .missing
  }
}
