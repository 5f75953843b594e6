import HTTP
import JSONText

extension GitHub {
  /// `GET …/commits`: one page of a repository's commits, the newest first.
  public struct Commits: UpstreamRequest {
    /// The longest page accepted: 16 MiB, since a commit's message may be long.
    public static let maxBytes = 16 << 20
    /// Parameters that choose commits.
    public static let filters = ["sha", "path", "author", "committer", "since", "until"]
    /// GitHub's message for a repository without a commit begins so.
    static let emptyMessage = "Git Repository is empty."

    private let url: String?
    private let repository: RepositoryReference
    private let query: String

    /// A page of those commits that filters let through, as one text however they were given: escaped and in one order.
    ///
    /// - Parameter value: gives a filter's value; `nil` and nothing at all mean that it is not asked for.
    public static func query(page: Int, perPage: Int, _ value: (_ filter: String) -> String?) -> String {
      var items: [String] = []
      for name in filters {
        guard let value = value(name), !value.isEmpty else { continue }
        items.append("\(name)=\(PercentEncoding.encode(value))")
      }
      items.append("per_page=\(perPage)")
      if page > 1 { items.append("page=\(page)") }
      return items.joined(separator: "&")
    }

    /// The page that a query asks for, such as `sha=main&per_page=30`; escaped and in order, without a question mark.
    public init(of repository: RepositoryReference, query: String) {
      self.repository = repository
      self.query = query
      url = nil
    }

    /// The page at an address GitHub gave, such as that of a redirect.
    public init(of repository: RepositoryReference, at url: String) {
      self.repository = repository
      self.url = url
      query = ""
    }

    /// The page's absolute address at a service, which is also what its validators belong to.
    public func url(at service: UpstreamService) -> String {
      url ?? "\(service.base)\(repository.path)/commits\(query.isEmpty ? "" : "?\(query)")"
    }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      GitHub.call(
        url(at: service), to: service, credential: credential, validators: validators, maxBytes: Self.maxBytes)
    }

    /// What the answer means. That a repository is empty (409) is a fact, with GitHub's words for it as the reason.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<CommitPage> {
      if answer.status == 409 {
        let reason = ErrorBody(answer.body).message ?? Self.emptyMessage
        return Reply(.gone(status: 409, reason: reason), budget: RateBudget(of: answer, assuming: "core"))
      }
      return GitHub.reply(to: answer, from: service) { () throws(Malformed) in
        try CommitPage(answer.body, links: PageLinks(of: answer.fields, at: service))
      }.takingBlocksAsFacts
    }
  }

  /// One page of commits.
  public struct CommitPage: Sendable {
    /// A commit's essence.
    public struct Commit: Sendable {
      /// Names it.
      public let sha: String
      /// Who wrote it, by Git's signature, or by the account's login where that says nothing.
      public let authorName: String?
      /// The whole message.
      public let message: String
      /// When it was written, by Git's signature: given as it came, since years like 1970 and 2050 occur.
      public let date: String?
      /// The account, as a document; `nil` when GitHub knows none for the e-mail address.
      public let author: [UInt8]?

      /// The message's first line.
      public var subject: String {
        let line = message.unicodeScalars.prefix { $0 != "\n" && $0 != "\r" }
        return String(line)
      }
    }

    /// The commits in GitHub's order.
    public let commits: [Commit]
    /// Whether there is a page behind this one.
    public let hasNext: Bool
    /// The number of the last page, where GitHub tells.
    public let lastPage: Int?
    /// The page as it came, cleaned.
    public let document: [UInt8]

    init(_ body: [UInt8], links: PageLinks) throws(Malformed) {
      let view = try Document.view(body, maxBytes: Commits.maxBytes)
      guard view.kind == .array else { throw Malformed("not an array") }
      var commits: [Commit] = []
      for (index, item) in view.elements.enumerated() {
        guard index < FollowList.maxMembers else { throw Malformed("more than \(FollowList.maxMembers) items") }
        commits.append(try Commit(item, at: index))
      }
      self.commits = commits
      hasNext = links.next != nil
      lastPage = links.lastPage
      document = view.bytes
    }
  }
}

extension GitHub.CommitPage.Commit {
  init(_ view: JSONView, at index: Int) throws(Malformed) {
    guard view.kind == .object else { throw Malformed("not an object", at: "/\(index)") }
    guard let sha = view["sha"]?.string, (1...64).contains(sha.utf8.count) else {
      throw Malformed("not a commit's name", at: "/\(index)/sha")
    }
    self.sha = sha
    let commit = view["commit"]
    let signature = commit?["author"]
    // GitHub has both null and an empty object for an account it does not know.
    let account = view["author"].flatMap { $0["id"]?.int == nil ? nil : $0 }
    authorName = GitHub.Document.text(signature?["name"]) ?? account?["login"]?.string
    message = commit?["message"]?.string ?? ""
    date = GitHub.Document.text(signature?["date"]) ?? GitHub.Document.text(commit?["committer"]?["date"])
    author = account?.bytes
  }
}
