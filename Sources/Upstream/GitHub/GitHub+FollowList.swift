import HTTP
import JSONText

extension GitHub {
  /// `GET …/followers` and `GET …/following`: one page of the accounts that follow an account or that it follows.
  public struct FollowList: UpstreamRequest {
    /// The direction of a list.
    public enum Kind: String, Sendable, CaseIterable {
      /// Who follows the account.
      case followers
      /// Whom the account follows.
      case following
    }

    /// The longest page accepted: 8 MiB.
    public static let maxBytes = 8 << 20
    /// The most members accepted on a page; GitHub gives 100.
    public static let maxMembers = 1_000

    private let place: Place

    private enum Place: Sendable {
      case first(Kind, AccountReference, perPage: Int)
      case url(String)
    }

    /// The first page of an account's list. A page has 1 to 100 members.
    public init(_ kind: Kind, of account: AccountReference, perPage: Int = maxPerPage) {
      place = .first(kind, account, perPage: min(max(perPage, 1), maxPerPage))
    }

    /// The page at an address GitHub gave, as its `next` link. See ``Walk``.
    public init(at url: String) { place = .url(url) }

    /// The page's absolute address at a service, which is also what its validators belong to.
    public func url(at service: UpstreamService) -> String {
      switch place {
      case .first(let kind, let account, let perPage):
        "\(service.base)\(account.path)/\(kind.rawValue)?per_page=\(perPage)"
      case .url(let url): url
      }
    }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      GitHub.call(
        url(at: service), to: service, credential: credential, validators: validators, maxBytes: Self.maxBytes)
    }

    /// What the answer means. An empty page is a good answer: profiles can be private.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<FollowPage> {
      GitHub.reply(to: answer, from: service) { () throws(Malformed) in
        try FollowPage(answer.body, links: PageLinks(of: answer.fields, at: service))
      }
    }
  }

  /// One page of a list of accounts.
  public struct FollowPage: Sendable {
    /// The page's accounts in GitHub's order, each once.
    public let members: [Member]
    /// Where the next page is, as GitHub gave it; `nil` on the last page.
    public let next: String?
    /// The number of the last page, where GitHub tells; the last page itself does not.
    public let lastPage: Int?

    init(_ body: [UInt8], links: PageLinks) throws(Malformed) {
      let view = try Document.view(body, maxBytes: FollowList.maxBytes)
      guard view.kind == .array else { throw Malformed("not an array") }
      var members: [Member] = []
      members.reserveCapacity(maxPerPage)
      var ids: Set<Int64> = []
      for (index, item) in view.elements.enumerated() {
        guard index < FollowList.maxMembers else { throw Malformed("more than \(FollowList.maxMembers) items") }
        let member = try Member(item, at: index)
        if ids.insert(member.id).inserted { members.append(member) }
      }
      self.members = members
      next = links.next
      lastPage = links.lastPage
    }
  }

  /// An account as a list shows it.
  public struct Member: Sendable {
    /// The identity, which never changes.
    public let id: Int64
    /// The present login in its own spelling, 1 to 255 bytes.
    public let login: String
    /// The display name; lists rarely have it.
    public let name: String?
    /// `User`, `Organization`, `Bot` and others: an open set.
    public let type: String?
    /// The address of the picture.
    public let avatarURL: String?
    /// The list item as it came, cleaned.
    public let document: [UInt8]

    init(_ view: JSONView, at index: Int) throws(Malformed) { try self.init(view, place: "/\(index)") }

    init(_ view: JSONView, place pointer: @autoclosure () -> String) throws(Malformed) {
      guard view.kind == .object else { throw Malformed("not an object", at: pointer()) }
      (id, login) = try Document.identity(of: view, at: pointer())
      name = Document.name(view["name"])
      type = view["type"]?.string
      avatarURL = Document.text(view["avatar_url"])
      document = view.bytes
    }
  }
}
