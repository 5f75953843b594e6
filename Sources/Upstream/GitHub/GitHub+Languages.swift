import JSONText

extension GitHub {
  /// `GET …/languages`: how many bytes of each language a repository has.
  public struct Languages: UpstreamRequest {
    /// The longest answer accepted: 256 KiB.
    public static let maxBytes = 256 << 10

    private let url: String?
    private let repository: RepositoryReference

    /// The languages of a repository.
    public init(_ repository: RepositoryReference) {
      self.repository = repository
      url = nil
    }

    /// The languages at an address GitHub gave, such as that of a redirect.
    public init(of repository: RepositoryReference, at url: String) {
      self.repository = repository
      self.url = url
    }

    /// Its absolute address at a service, which is also what its validators belong to.
    public func url(at service: UpstreamService) -> String { url ?? "\(service.base)\(repository.path)/languages" }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      GitHub.call(
        url(at: service), to: service, credential: credential, validators: validators, maxBytes: Self.maxBytes)
    }

    /// What the answer means. No languages at all is a good answer: of an empty repository, of one without code that GitHub
    /// knows, and of some very large ones.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<LanguageShares> {
      GitHub.reply(to: answer, from: service) { () throws(Malformed) in try LanguageShares(answer.body) }
        .takingBlocksAsFacts
    }
  }

  /// A repository's languages.
  public struct LanguageShares: Sendable {
    /// One language's part.
    public struct Share: Sendable, Equatable {
      /// Its name, such as `C++` or `Jupyter Notebook`.
      public let name: String
      /// Bytes of code; may exceed 32 bits.
      public let bytes: Int64
      /// Of all bytes, 0 to 100, rounded to hundredths.
      public let percent: Double
    }

    /// The largest first, ties by name.
    public let shares: [Share]
    /// The answer as it came, cleaned.
    public let document: [UInt8]

    init(_ body: [UInt8]) throws(Malformed) {
      let view = try Document.view(body, maxBytes: Languages.maxBytes)
      guard view.kind == .object else { throw Malformed("not an object") }
      var counts: [(name: String, bytes: Int64)] = []
      for (name, value) in view.members {
        guard let bytes = Document.count(value) else {
          throw Malformed("a language without a number of bytes")
        }
        counts.append((name, bytes))
      }
      let total = counts.reduce(0) { $0 + Double($1.bytes) }
      shares = counts.sorted { ($1.bytes, $0.name) < ($0.bytes, $1.name) }.map { name, bytes in
        let hundredths = total > 0 ? (Double(bytes) / total * 10_000).rounded() : 0
        return Share(name: name, bytes: bytes, percent: hundredths / 100)
      }
      document = view.bytes
    }
  }
}
