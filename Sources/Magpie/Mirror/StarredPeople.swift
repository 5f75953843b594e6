import EventLoop
import JSONText
import Postgres

/// Tags of something starred, and the same as JSON: a page of a hundred people who are all starred was half as quick while each
/// of their tags was written anew. What has the same tags shares them.
public final class StarTags: Sendable {
  /// In order.
  public let tags: [String]
  /// An array of texts.
  public let document: [UInt8]

  init(_ tags: [String]) {
    self.tags = tags
    var writer = JSONWriter()
    writer.beginArray()
    for tag in tags { writer.string(tag) }
    writer.endArray()
    document = writer.bytes
  }
}

/// The people, or the repositories, an account has starred, with its tags for them, at one version of its favorites.
struct StarredPeople: Sendable {
  let version: Int64
  /// By the person's id. `nil` when there are too many to be kept.
  let tags: [Int64: StarTags]?

  /// People kept for one account. Who has more is looked up page by page.
  static let maxPeople = 20_000

  /// Runs after `authenticate` in one transaction. Ids that an administrator has written by hand may be anything.
  static func query(_ kind: String) -> Query {
    """
    SELECT a.version, CASE WHEN f.subject_id ~ '^[1-9][0-9]{0,17}$' THEN f.subject_id::bigint END, f.tags
      FROM magpie.account a LEFT JOIN magpie.favorite f ON f.account_id = a.id AND f.kind = \(kind)
     WHERE a.id = magpie.current_account() LIMIT \(maxPeople + 1)
    """
  }

  /// The same for a few people only.
  static func query(_ kind: String, among ids: [Int64]) -> Query {
    """
    SELECT a.version, CASE WHEN f.subject_id ~ '^[1-9][0-9]{0,17}$' THEN f.subject_id::bigint END, f.tags
      FROM magpie.account a LEFT JOIN magpie.favorite f ON f.account_id = a.id AND f.kind = \(kind)
       AND f.subject_id = ANY (\(ids.map(String.init))::text[])
     WHERE a.id = magpie.current_account()
    """
  }

  /// Reads an answer of either query; `nil` when the account is gone.
  init?(_ rows: Rows) throws(PostgresError) {
    guard let first = rows.first else { return nil }
    version = try first.decode(Int64.self, at: 0)
    if rows.count > StarredPeople.maxPeople {
      tags = nil
      return
    }
    var tags: [Int64: StarTags] = [:]
    // Most have the same few tags.
    var known: [[String]: StarTags] = [:]
    for row in rows {
      guard let id = try row.decode(Int64?.self, at: 1) else { continue }
      let texts = try row.decode([String].self, at: 2)
      let shared = known[texts] ?? StarTags(texts)
      known[texts] = shared
      tags[id] = shared
    }
    self.tags = tags
  }
}

/// Remembers whom accounts have starred, so that a page of a list need not look a hundred people up.
///
/// Nothing is ever out of date: every page tells the version of the account's favorites, and only what was read at that
/// version is used.
final class StarredPeopleCache: Sendable {
  /// Accounts, and people of all of them together, at which everything is forgotten and begun anew.
  static let maxAccounts = 1_000
  static let maxPeople = 200_000

  private struct State {
    var accounts: [Int64: StarredPeople] = [:]
    var people = 0
  }

  private let state = Lock(State())

  /// Whom the account has starred at that version, if that is remembered.
  func people(of account: Int64, at version: Int64) -> StarredPeople? {
    state.withLock { state in
      guard let people = state.accounts[account], people.version == version else { return nil }
      return people
    }
  }

  func keep(_ people: StarredPeople, of account: Int64) {
    let count = people.tags?.count ?? 0
    state.withLock { state in
      if let old = state.accounts[account] {
        if old.version > people.version { return }
        state.people -= old.tags?.count ?? 0
      }
      if state.accounts.count >= StarredPeopleCache.maxAccounts || state.people + count > StarredPeopleCache.maxPeople {
        state = State()
      }
      state.accounts[account] = people
      state.people += count
    }
  }
}
