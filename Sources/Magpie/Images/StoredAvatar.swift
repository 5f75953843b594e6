import Postgres

/// Whose picture, and how large.
public struct AvatarRequest: Sendable, Hashable {
  /// The sizes there are; others would fill the store with copies of the same.
  public enum Size: Int, CaseIterable, Sendable {
    case small = 40
    case medium = 80
    case large = 160
    case full = 460
  }

  static let jobKind = "github-avatar"

  /// The person's numeric id.
  public let id: Int64
  /// The length of a side, in pixels.
  public let size: Size

  /// A person's picture in a size.
  public init(id: Int64, size: Size) {
    self.id = id
    self.size = size
  }

  var subject: String { "\(id):\(size.rawValue)" }

  /// An SQL expression: whether it is known of the picture what it is, or that there is none to be had now.
  var isKnown: Query {
    """
    EXISTS (SELECT FROM magpie.github_user u JOIN magpie.avatar a ON a.user_id = u.id
      WHERE u.id = \(id) AND a.size = \(Int32(size.rawValue)) AND \(fragment: StoredAvatar.isFresh))
    """
  }

  /// Reads what `subject` has written.
  init?(subject: String) {
    let parts = subject.split(separator: ":")
    guard parts.count == 2, let id = Int64(parts[0]), id > 0, let size = Int(parts[1]).flatMap(Size.init(rawValue:))
    else { return nil }
    self.init(id: id, size: size)
  }
}

/// A picture as it is stored.
public struct StoredImage: Sendable {
  /// Of the bytes; 64 hexadecimal digits.
  public let name: String
  /// One of four kinds, by what the bytes say.
  public let mediaType: String
  /// The picture.
  public let bytes: [UInt8]
}

/// What is known of a person's picture.
public struct StoredAvatar: Sendable {
  /// Seconds after which a picture is asked for again: its address does not always change with it.
  public static let life = 86_400.0
  /// Seconds for which a failure is believed.
  public static let failureLife = 3_600.0

  /// The person's login as GitHub spells it; `nil` when nobody with this id was ever seen.
  public let login: String?
  /// `nil` when there is none (yet).
  public let image: StoredImage?
  /// Whether the picture should be asked for, again or for the first time.
  public let isStale: Bool
  /// The upstream's word that there is nobody, while it is believed.
  public let isAbsent: Bool

  /// An SQL expression on a person `u` and their picture `a`; null when there is none.
  static let isFresh: Query = """
    a.url = u.avatar_url AND (a.failed_at > now() - make_interval(secs => \(StoredAvatar.failureLife))
      OR a.sha256 IS NOT NULL AND a.failed_at IS NULL
         AND a.validated_at > now() - make_interval(secs => \(StoredAvatar.life)))
    """

  static func query(_ request: AvatarRequest, token: [UInt8], negativeLife: Double) -> Query {
    """
    WITH me AS MATERIALIZED (SELECT magpie.authenticate(\(token)) AS account_id)
    SELECT me.account_id, u.login, encode(i.sha256, 'hex'), i.media_type, i.bytes,
           coalesce(\(fragment: isFresh), false),
           coalesce(x.checked_at > now() - make_interval(secs => \(negativeLife)), false)
      FROM me LEFT JOIN magpie.github_user u ON u.id = \(request.id)
      LEFT JOIN magpie.avatar a ON a.user_id = u.id AND a.size = \(Int32(request.size.rawValue))
      LEFT JOIN magpie.image i ON i.sha256 = a.sha256
      LEFT JOIN magpie.upstream_fact x ON x.subject = \("github-user:id:\(request.id)")
     WHERE me.account_id IS NOT NULL
    """
  }

  init(_ row: Row) throws(PostgresError) {
    let (_, login, name, type, bytes, isFresh, isAbsent) = try row.decode(
      (Int64, String?, String?, String?, [UInt8]?, Bool, Bool).self)
    self.login = login
    if let name, let type, let bytes {
      image = StoredImage(name: name, mediaType: type, bytes: bytes)
    } else {
      image = nil
    }
    isStale = !isFresh
    self.isAbsent = login == nil && isAbsent
  }
}

/// Reads stored pictures.
public struct Images: Sendable {
  let database: Database
  /// Seconds for which the upstream's word that somebody is not there is believed.
  let negativeLife: Double

  /// Pictures in a database.
  public init(database: Database, timeToLive: TimeToLive) {
    self.database = database
    negativeLife = timeToLive.negative
  }

  /// A person's picture, and who asks; `nil` when the token is nobody's.
  ///
  /// - Throws: `PostgresError`.
  public func avatar(_ request: AvatarRequest, token: [UInt8]) async throws -> (avatar: StoredAvatar, account: Int64)? {
    let rows = try await database.query(StoredAvatar.query(request, token: token, negativeLife: negativeLife))
    guard let row = rows.first else { return nil }
    return (try StoredAvatar(row), try row.decode(Int64.self, at: 0))
  }

  /// A picture by its name; `nil` for names that are none, without asking, and for pictures that are not there.
  ///
  /// - Throws: `PostgresError`.
  public func image(named name: String) async throws -> StoredImage? {
    let isName = name.utf8.count == 64 && name.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
    guard isName else { return nil }
    let rows = try await database.query(
      "SELECT i.media_type, i.bytes FROM magpie.image i WHERE i.sha256 = decode(\(name), 'hex')")
    guard let row = rows.first else { return nil }
    let (type, bytes) = try row.decode((String, [UInt8]).self)
    return StoredImage(name: name, mediaType: type, bytes: bytes)
  }
}
