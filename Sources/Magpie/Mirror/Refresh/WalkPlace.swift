import JSONText
import Postgres
import Upstream

/// How far a walk has come: the checkpoint of its job.
struct WalkPlace: Equatable, Sendable {
  /// Whose list.
  var owner: Int64?
  /// The walk's row.
  var walk: Int64?
  /// Pages stored.
  var page = 0
  /// Where the next page is; `nil` at the start and at the end.
  var next: String?
  /// All pages are stored and only the publication is left.
  var isComplete = false
  /// The walk before this one would have made suspiciously many members leave.
  var doubt: WalkDoubt?

  init(owner: Int64? = nil, doubt: WalkDoubt? = nil) {
    self.owner = owner
    self.doubt = doubt
  }

  /// Reads what `json` has written; `nil` for anything else, upon which the walk begins anew.
  init?(_ checkpoint: [UInt8]) {
    guard let view = try? JSONView(checkpoint), view.kind == .object, let page = view["page"]?.int, page >= 0 else {
      return nil
    }
    owner = view["owner"]?.int
    walk = view["walk"]?.int
    next = view["next"]?.string
    isComplete = view["complete"]?.bool ?? false
    if let walks = view["doubts"]?.int, walks > 0 {
      doubt = WalkDoubt(walks: Int(clamping: walks), members: view["doubted"]?.int)
    } else if view["second"]?.bool == true {
      // As earlier releases have it, which do not say what the first walk has shown.
      doubt = WalkDoubt(members: nil)
    }
    self.page = Int(page)
    if isComplete, walk == nil { return nil }
    if page > 0, next == nil, !isComplete { return nil }
  }

  var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    let numbers: [(String, Int64?)] = [
      ("owner", owner), ("walk", walk), ("page", Int64(page)), ("doubts", doubt.map { Int64($0.walks) }),
      ("doubted", doubt?.members),
    ]
    for (name, value) in numbers {
      guard let value else { continue }
      writer.key(name)
      writer.int(value)
    }
    if let next {
      writer.key("next")
      writer.string(next)
    }
    writer.key("complete")
    writer.bool(isComplete)
    writer.key("second")
    writer.bool(doubt != nil)
    writer.endObject()
    return writer.bytes
  }
}

/// A page as it goes into the walk.
struct WalkPage: Sendable {
  let ids: [Int64]
  /// Who came with the page; nobody when it is unchanged.
  let members: [GitHub.Member]
  let next: String?
  let lastPage: Int?
  let etag: String?
  let credential: String
  let isUnchanged: Bool

  /// Stores the people, as a part of another statement. Made when the page has come, which is while the page before is stored:
  /// all that is left to do between two pages is waited for.
  let people: Query
  /// The ids and what the page says of each; nothing when it is unchanged. Parameters of another statement.
  let items: Query

  /// A page that came.
  init(_ answer: GitHub.FollowPage, _ validators: Validators, credential: String) {
    ids = answer.members.map(\.id)
    members = answer.members
    next = answer.next
    lastPage = answer.lastPage
    etag = validators.etag
    self.credential = credential
    isUnchanged = false
    (self.people, items) = WalkPage.parameters(ids, members)
  }

  /// The page as if some people were not on it.
  func without(_ people: [Int64]) -> WalkPage { people.isEmpty ? self : WalkPage(self, without: Set(people)) }

  private init(_ page: WalkPage, without people: Set<Int64>) {
    ids = page.ids.filter { !people.contains($0) }
    members = page.members.filter { !people.contains($0.id) }
    next = page.next
    lastPage = page.lastPage
    etag = page.etag
    credential = page.credential
    isUnchanged = page.isUnchanged
    (self.people, items) = WalkPage.parameters(ids, members)
  }

  /// A page that is as it was.
  init(_ stored: StoredPage, credential: String) {
    ids = stored.members
    members = []
    next = stored.next
    lastPage = stored.lastPage
    etag = stored.etag
    self.credential = credential
    isUnchanged = true
    (self.people, items) = WalkPage.parameters(ids, members)
  }

  private static func parameters(_ ids: [Int64], _ members: [GitHub.Member]) -> (people: Query, items: Query) {
    let documents = members.map { String(decoding: $0.document, as: UTF8.self) }
    return (PersonStore.storing(members), "\(ids), \(documents)")
  }

  /// The owner's id in a link such as `https://api.github.com/user/583231/followers?page=2`.
  static func ownerID(in link: String) -> Int64? {
    let path = link.prefix { $0 != "?" }.split(separator: "/")
    guard path.count >= 3, path[path.count - 3] == "user" else { return nil }
    return Int64(path[path.count - 2]).flatMap { $0 > 0 ? $0 : nil }
  }
}

/// A page of the last complete walk.
struct StoredPage: Sendable {
  let etag: String
  let credential: String
  let next: String?
  let members: [Int64]
  let lastPage: Int?
}
