import HTTP
import JSONText

extension GitHub {
  /// A thing that GitHub lists for an account.
  public protocol ListedItem: Sendable {
    /// Reads an item.
    ///
    /// - Throws: `Malformed` for one without an identity, which spoils the page it came with.
    init(_ view: JSONView, at index: Int) throws(Malformed)

    /// What no two items of a list have in common.
    var identity: String { get }
    /// Whether it may be stored and shown to everybody.
    var isPublic: Bool { get }
  }

  /// Which of the repositories an account has to do with.
  public enum RepositoryScope: String, Sendable, CaseIterable {
    /// Its own.
    case owner
    /// Those of others in which it takes part.
    case member
    /// Both.
    case all
  }

  /// `GET …/repos`, `…/gists` and `…/orgs`: one page of an account's repositories, gists or organizations.
  public struct ItemList<Item: ListedItem>: UpstreamRequest {
    private let place: Place

    private enum Place: Sendable {
      case first(AccountReference, list: String, query: String)
      case url(String)
    }

    /// The page at an address GitHub gave, as its `next` link. See ``Walk``.
    public init(at url: String) { place = .url(url) }

    fileprivate init(_ account: AccountReference, _ list: String, _ query: String = "") {
      place = .first(account, list: list, query: query)
    }

    /// The page's absolute address at a service, which is also what its validators belong to.
    public func url(at service: UpstreamService) -> String {
      switch place {
      case .first(let account, let list, let query):
        "\(service.base)\(account.path)/\(list)?\(query)per_page=\(maxPerPage)"
      case .url(let url): url
      }
    }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      GitHub.call(
        url(at: service), to: service, credential: credential, validators: validators, maxBytes: FollowList.maxBytes)
    }

    /// What the answer means. An empty page is a good answer.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<ItemPage<Item>> {
      GitHub.reply(to: answer, from: service) { () throws(Malformed) in
        try ItemPage(answer.body, links: PageLinks(of: answer.fields, at: service))
      }
    }
  }

  /// One page of a list of things.
  public struct ItemPage<Item: ListedItem>: Sendable {
    /// The page's items in GitHub's order, each once, without those that not everybody may see.
    public let items: [Item]
    /// Where the next page is, as GitHub gave it; `nil` on the last page.
    public let next: String?
    /// The number of the last page, where GitHub tells; the last page itself does not.
    public let lastPage: Int?

    init(_ body: [UInt8], links: PageLinks) throws(Malformed) {
      let view = try Document.view(body, maxBytes: FollowList.maxBytes)
      guard view.kind == .array else { throw Malformed("not an array") }
      var items: [Item] = []
      items.reserveCapacity(maxPerPage)
      var seen: Set<String> = []
      for (index, view) in view.elements.enumerated() {
        guard index < FollowList.maxMembers else { throw Malformed("more than \(FollowList.maxMembers) items") }
        let item = try Item(view, at: index)
        if item.isPublic, seen.insert(item.identity).inserted { items.append(item) }
      }
      self.items = items
      next = links.next
      lastPage = links.lastPage
    }
  }
}

extension GitHub.ItemList where Item == GitHub.Repository {
  /// The first page of an account's repositories, the oldest first: in that order new ones come at the end, and nothing that
  /// happens to a repository moves it.
  public init(_ scope: GitHub.RepositoryScope, of account: GitHub.AccountReference) {
    self.init(account, "repos", "type=\(scope.rawValue)&sort=created&direction=asc&")
  }
}

extension GitHub.ItemList where Item == GitHub.Gist {
  /// The first page of an account's public gists.
  public init(of account: GitHub.AccountReference) { self.init(account, "gists") }
}

extension GitHub.ItemList where Item == GitHub.Organization {
  /// The first page of the organizations in which an account is seen to be.
  public init(of account: GitHub.AccountReference) { self.init(account, "orgs") }
}

extension GitHub.Repository: GitHub.ListedItem {
  /// Reads an item of a list.
  public init(_ view: JSONView, at index: Int) throws(Malformed) { try self.init(view, at: "/\(index)") }
  /// The id.
  public var identity: String { String(id) }
  /// Whether everybody may see it.
  public var isPublic: Bool { !isPrivate }
}
