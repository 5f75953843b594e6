import HTTP
import JSONText

extension GitHub {
  /// `GET /users/{login}` and `GET /user/{id}`: one account's public profile.
  public struct Profile: UpstreamRequest {
    /// The longest profile accepted: 1 MiB.
    public static let maxBytes = 1 << 20
    /// Members that GitHub shows only to the account itself. They are nobody else's business, and dropped.
    static let privateMembers: Set<String> = [
      "plan", "private_gists", "total_private_repos", "owned_private_repos", "disk_usage", "collaborators",
      "two_factor_authentication", "business_plus", "ldap_dn", "notification_email",
    ]

    private let place: Place

    private enum Place: Sendable {
      case account(AccountReference)
      case url(String)
    }

    /// The profile of an account.
    public init(_ account: AccountReference) { place = .account(account) }

    /// The profile at an address GitHub gave, such as that of a redirect.
    public init(at url: String) { place = .url(url) }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      let url =
        switch place {
        case .account(let account): service.base + account.path
        case .url(let url): url
        }
      return GitHub.call(
        url, to: service, credential: credential, validators: validators, maxBytes: Self.maxBytes)
    }

    /// What the answer means.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<Account> {
      GitHub.reply(to: answer, from: service) { () throws(Malformed) in try Account(answer.body) }
    }
  }

  /// An account as its profile shows it.
  public struct Account: Sendable {
    /// The identity, which never changes.
    public let id: Int64
    /// The present login in its own spelling, 1 to 255 bytes.
    public let login: String
    /// The display name; often unset.
    public let name: String?
    /// `User`, `Organization`, `Bot` and others: an open set.
    public let type: String?
    /// The address of the picture.
    public let avatarURL: String?
    /// How many follow it, by GitHub's count; lists may be shorter.
    public let followers: Int64?
    /// How many it follows.
    public let following: Int64?
    /// Its public repositories.
    public let publicRepos: Int64?
    /// Its public gists.
    public let publicGists: Int64?
    /// When it was made, as GitHub writes it (RFC 3339).
    public let createdAt: String?
    /// When it was last changed, as GitHub writes it.
    public let updatedAt: String?
    /// The whole profile as it came, cleaned, without private members.
    public let document: [UInt8]

    init(_ body: [UInt8]) throws(Malformed) {
      let view = try Document.view(body, maxBytes: Profile.maxBytes)
      guard view.kind == .object else { throw Malformed("not an object") }
      (id, login) = try Document.identity(of: view, at: "")
      name = Document.name(view["name"])
      type = view["type"]?.string
      avatarURL = Document.text(view["avatar_url"])
      followers = Document.count(view["followers"])
      following = Document.count(view["following"])
      publicRepos = Document.count(view["public_repos"])
      publicGists = Document.count(view["public_gists"])
      createdAt = Document.text(view["created_at"])
      updatedAt = Document.text(view["updated_at"])
      document = view.removing(members: Profile.privateMembers)
    }
  }
}
