import HTTP
import JSONText

extension GitHub {
  /// A repository as a list, a search or its own record shows it.
  public struct Repository: Sendable {
    /// The identity, which never changes.
    public let id: Int64
    /// The name without the owner's, 1 to 255 bytes.
    public let name: String
    /// Owner and name as GitHub spells them at present.
    public let fullName: String
    /// Whose it is; searches have shown repositories of nobody.
    public let owner: Member?
    /// What it is about; often unset.
    public let summary: String?
    /// Whether it is a fork. A fork often has no main language although it has languages.
    public let isFork: Bool
    /// The main language, by GitHub's count.
    public let language: String?
    /// How many have starred it.
    public let stars: Int64
    /// When it was made. `nil` where GitHub's text is no time; the document has it as it came.
    public let createdAt: Timestamp?
    /// When it, or what is said about it, was last changed.
    public let updatedAt: Timestamp?
    /// When something was last pushed to it.
    public let pushedAt: Timestamp?
    /// Whether only some may see it. Such a one is never stored.
    public let isPrivate: Bool
    /// The whole as it came, cleaned, without secrets.
    public let document: [UInt8]

    /// Members that let whoever has them in.
    static let secretMembers: Set<String> = ["temp_clone_token"]
    /// Members that are repositories themselves.
    static let nestedMembers: Set<String> = ["parent", "source", "template_repository"]

    init(_ view: JSONView, at pointer: String) throws(Malformed) {
      guard view.kind == .object else { throw Malformed("not an object", at: pointer) }
      guard let id = view["id"]?.int, id > 0 else { throw Malformed("not a positive integer", at: pointer + "/id") }
      guard let name = view["name"]?.string, (1...255).contains(name.utf8.count) else {
        throw Malformed("not a name", at: pointer + "/name")
      }
      guard let fullName = view["full_name"]?.string, (3...511).contains(fullName.utf8.count), fullName.contains("/")
      else { throw Malformed("not an owner and a name", at: pointer + "/full_name") }
      self.id = id
      self.name = name
      self.fullName = fullName
      if let owner = view["owner"], owner.kind == .object {
        self.owner = try Member(owner, place: pointer + "/owner")
      } else {
        owner = nil
      }
      summary = Document.text(view["description"])
      isFork = view["fork"]?.bool ?? false
      language = Document.text(view["language"])
      stars = Document.count(view["stargazers_count"]) ?? Document.count(view["watchers_count"]) ?? 0
      createdAt = Repository.time(view["created_at"])
      updatedAt = Repository.time(view["updated_at"])
      pushedAt = Repository.time(view["pushed_at"])
      isPrivate = view["private"]?.bool ?? false
      document = Repository.withoutSecrets(view)
    }

    /// Times from the year 1 on, which is where databases begin.
    private static func time(_ view: JSONView?) -> Timestamp? {
      let beginning = Timestamp(seconds: -62_135_596_800)
      return view?.string.flatMap { Timestamp($0) }.flatMap { $0 < beginning ? nil : $0 }
    }

    static func withoutSecrets(_ view: JSONView) -> [UInt8] {
      let holdsNested = view.members.contains { member in
        nestedMembers.contains(member.key) && secretMembers.contains { member.value[$0] != nil }
      }
      guard holdsNested else { return view.removing(members: secretMembers) }
      var writer = JSONWriter(capacity: view.rawBytes.count)
      writer.beginObject()
      for (name, value) in view.members where !secretMembers.contains(name) {
        writer.key(name)
        writer.raw(nestedMembers.contains(name) ? value.removing(members: secretMembers) : value.bytes)
      }
      writer.endObject()
      return writer.bytes
    }
  }

  /// `GET /repos/{owner}/{repo}` and `GET /repositories/{id}`: one repository's record.
  public struct RepositoryRecord: UpstreamRequest {
    /// The longest record accepted: 1 MiB.
    public static let maxBytes = 1 << 20

    private let place: Place

    private enum Place: Sendable {
      case repository(RepositoryReference)
      case url(String)
    }

    /// The record of a repository.
    public init(_ repository: RepositoryReference) { place = .repository(repository) }

    /// The record at an address GitHub gave, such as that of a redirect.
    public init(at url: String) { place = .url(url) }

    /// Its absolute address at a service, which is also what its validators belong to.
    public func url(at service: UpstreamService) -> String {
      switch place {
      case .repository(let repository): service.base + repository.path
      case .url(let url): url
      }
    }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      GitHub.call(
        url(at: service), to: service, credential: credential, validators: validators, maxBytes: Self.maxBytes)
    }

    /// What the answer means. A repository that is blocked (403 or 451) is a fact, and so is one that not everybody may
    /// see: to us it is not there.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<Repository> {
      let reply = GitHub.reply(to: answer, from: service) { () throws(Malformed) in
        try Repository(Document.view(answer.body, maxBytes: Self.maxBytes), at: "")
      }
      if case .ok(let repository, _) = reply.outcome, repository.isPrivate {
        return Reply(.gone(status: 404, reason: nil), budget: reply.budget)
      }
      return reply.takingBlocksAsFacts
    }
  }
}

extension Reply {
  /// The same, with a block as the fact that it is: nothing that a credential or a rest would mend.
  var takingBlocksAsFacts: Reply<Answer> {
    guard case .refused(.blocked(let reason)) = outcome else { return self }
    return Reply(.gone(status: 403, reason: reason), budget: budget)
  }
}
