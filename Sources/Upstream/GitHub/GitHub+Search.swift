import HTTP
import JSONText

extension GitHub {
  /// `GET /search/users` and `GET /search/repositories`: one page of what a query finds.
  ///
  /// Searches have a budget of their own, no validators, and end at a thousand results. A query that GitHub does not take
  /// is an answer, too: it tells something about the query and nothing about us.
  public struct Search: UpstreamRequest {
    /// What is searched for.
    public enum Kind: String, Sendable, CaseIterable {
      case users
      case repositories

      /// Orders beside the best match.
      public var sorts: [String] {
        switch self {
        case .users: ["followers", "repositories", "joined"]
        case .repositories: ["stars", "forks", "help-wanted-issues", "updated"]
        }
      }
    }

    /// Results that GitHub shows of a query; the page that begins beyond is refused.
    public static let cap = 1_000
    /// The longest query without its qualifiers and operators, in characters.
    public static let maxLength = 256
    /// The longest page accepted: 8 MiB.
    public static let maxBytes = 8 << 20

    /// Searches have a window of a minute.
    public var resource: String { "search" }

    private let place: Place

    private enum Place: Sendable {
      case first(Kind, query: String, sort: String?, order: String?, perPage: Int, page: Int)
      case url(String)
    }

    /// A page of a query's results.
    ///
    /// - Parameters:
    ///   - query: words and qualifiers, not encoded.
    ///   - sort: `nil`: the best match first.
    ///   - order: `asc` or `desc`.
    public init(_ kind: Kind, query: String, sort: String?, order: String?, perPage: Int, page: Int) {
      place = .first(kind, query: query, sort: sort, order: order, perPage: perPage, page: page)
    }

    /// The page at an address GitHub gave, such as that of a redirect.
    public init(at url: String) { place = .url(url) }

    /// The page's absolute address at a service.
    public func url(at service: UpstreamService) -> String {
      switch place {
      case .first(let kind, let query, let sort, let order, let perPage, let page):
        "\(service.base)/search/\(kind.rawValue)?q=\(PercentEncoding.encode(query))"
          + (sort.map { "&sort=\(PercentEncoding.encode($0))" } ?? "")
          + (order.map { "&order=\(PercentEncoding.encode($0))" } ?? "") + "&per_page=\(perPage)&page=\(page)"
      case .url(let url): url
      }
    }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      GitHub.call(url(at: service), to: service, credential: credential, validators: nil, maxBytes: Self.maxBytes)
    }

    /// What the answer means.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<SearchAnswer> {
      if answer.status == 422 {
        return Reply(
          .ok(.refused(SearchRefusal(answer.body)), Validators(etag: nil)),
          budget: RateBudget(of: answer, assuming: resource))
      }
      return GitHub.reply(to: answer, from: service, resource: resource) { () throws(Malformed) in
        .page(try SearchPage(answer.body))
      }
    }
  }

  /// What a search came to.
  public enum SearchAnswer: Sendable {
    case page(SearchPage)
    case refused(SearchRefusal)
  }

  /// One page of results.
  public struct SearchPage: Sendable {
    /// Everything that matches, also what is beyond the cap. It differs from call to call.
    public let totalCount: Int64
    /// GitHub ran out of time: this is a part, perhaps all.
    public let isIncomplete: Bool
    /// In GitHub's order, each once.
    public let items: [SearchItem]

    init(_ body: [UInt8]) throws(Malformed) {
      let view = try Document.view(body, maxBytes: Search.maxBytes)
      guard view.kind == .object else { throw Malformed("not an object") }
      guard let total = Document.count(view["total_count"]) else {
        throw Malformed("not a number of things", at: "/total_count")
      }
      guard let list = view["items"], list.kind == .array else { throw Malformed("not an array", at: "/items") }
      totalCount = total
      isIncomplete = view["incomplete_results"]?.bool ?? false
      var items: [SearchItem] = []
      var ids: Set<Int64> = []
      for (index, item) in list.elements.enumerated() {
        guard index < FollowList.maxMembers else { throw Malformed("more than \(FollowList.maxMembers) items") }
        guard item.kind == .object, let id = item["id"]?.int, id > 0 else {
          throw Malformed("not a positive integer", at: "/items/\(index)/id")
        }
        // What only some may see is found by a token of theirs.
        if item["private"]?.bool != true, ids.insert(id).inserted { items.append(SearchItem(id: id, view: item)) }
      }
      self.items = items
    }
  }

  /// Something that was found.
  public struct SearchItem: Sendable {
    /// What a search adds to the usual list item.
    static let searchMembers: Set<String> = ["score", "text_matches"]

    /// The numeric id of the account or repository.
    public let id: Int64
    /// The item as it came, cleaned.
    public let document: [UInt8]
    /// The item as a list would show it, if it is an account.
    public let account: Member?
    /// The same, if it is a repository.
    public let repository: Repository?
    /// The item without what only a search has.
    public let plainDocument: [UInt8]

    init(id: Int64, view: JSONView) {
      self.id = id
      document = Repository.withoutSecrets(view)
      plainDocument = view.removing(members: SearchItem.searchMembers)
      account = try? Member(JSONView(checked: plainDocument), at: 0)
      repository = try? Repository(JSONView(checked: plainDocument), at: "")
    }
  }

  /// Why GitHub does not take a query (422), in its own words, cut short.
  public struct SearchRefusal: Sendable, Equatable {
    /// One thing that is wrong.
    public struct Fault: Sendable, Equatable {
      /// What kind of thing, such as `Search`.
      public let resource: String?
      /// Which parameter, such as `q`.
      public let field: String?
      /// `missing`, `invalid` and others: an open set.
      public let code: String?
      /// In words.
      public let message: String?
    }

    /// Such as `Validation Failed`.
    public let message: String
    /// What is wrong, 10 things at most.
    public let faults: [Fault]

    init(_ body: [UInt8]) {
      let view = try? JSONView(cleaning: body, limits: JSONText.Limits(maxBytes: 64 << 10))
      func short(_ view: JSONView?) -> String? { view?.string.map { String($0.prefix(200)) } }
      message = short(view?["message"]) ?? "Validation Failed"
      // An array of objects, of strings, or a single string: all three have been seen.
      var faults: [Fault] = []
      if let errors = view?["errors"] {
        let list = errors.kind == .array ? Array(errors.elements.prefix(10)) : [errors]
        for error in list {
          if let text = short(error) {
            faults.append(Fault(resource: nil, field: nil, code: nil, message: text))
          } else if error.kind == .object {
            faults.append(
              Fault(
                resource: short(error["resource"]), field: short(error["field"]), code: short(error["code"]),
                message: short(error["message"])))
          }
        }
      }
      self.faults = faults
    }

    /// As an error body of GitHub's has them: `{"message": …, "errors": […]}`.
    public var document: [UInt8] {
      var writer = JSONWriter()
      writer.beginObject()
      writer.key("message")
      writer.string(message)
      writer.key("errors")
      writer.beginArray()
      for fault in faults {
        writer.beginObject()
        for (name, text) in [
          ("resource", fault.resource), ("field", fault.field), ("code", fault.code), ("message", fault.message),
        ] {
          guard let text else { continue }
          writer.key(name)
          writer.string(text)
        }
        writer.endObject()
      }
      writer.endArray()
      writer.endObject()
      return writer.bytes
    }
  }
}
