import HTTP
import JSONText

/// What we know of the photo service, jsonplaceholder: a json-server over one file that never changes. It wants no credential,
/// states no limits, and repeats the counts of its network in fields that say nothing about us (`x-ratelimit-…`, from a cache).
public enum PhotoService {
  /// What it has.
  public enum Collection: String, Sendable, CaseIterable {
    case photos
    case albums

    /// The member that says what an item belongs to.
    var parent: String { self == .photos ? "albumId" : "userId" }
    /// Members that hold text in every item.
    var texts: [String] { self == .photos ? ["title", "url", "thumbnailUrl"] : ["title"] }
  }

  /// `GET /photos` and `GET /albums` without a page: all there is, in one answer.
  public struct Whole: UpstreamRequest {
    /// The longest answer accepted: 8 MiB. Five thousand photos are one.
    public static let maxBytes = 8 << 20
    /// The most items accepted.
    public static let maxItems = 20_000

    private let collection: Collection

    /// All of a collection.
    public init(_ collection: Collection) { self.collection = collection }

    /// Its absolute address at a service, which is also what its validators belong to.
    public func url(at service: UpstreamService) -> String { "\(service.base)/\(collection.rawValue)" }

    /// The call to send.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      var fields: Fields = [.userAgent: service.userAgent, .accept: "application/json"]
      validators?.add(to: &fields)
      return UpstreamCall(url: url(at: service), fields: fields, maxBytes: Self.maxBytes, timeout: .seconds(30))
    }

    /// What the answer means. There is always something, so that "not there" is a fault of the answer and no fact.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<[Item]> {
      Reply(outcome(of: answer), budget: nil)
    }

    private func outcome(of answer: UpstreamAnswer) -> Outcome<[Item]> {
      switch answer.status {
      case 200:
        do throws(Malformed) {
          return .ok(try items(of: answer.body), Validators(of: answer.fields))
        } catch {
          return .invalid(error)
        }
      case 304: return .notModified
      case 429:
        let seconds = answer.retryAfter ?? 0
        return .limited(Limit(.secondary, seconds: seconds > 0 ? seconds : 60, isNamed: seconds > 0))
      case 408, 500..<600: return .transient(status: answer.status, retryAfter: answer.retryAfter)
      default: return .invalid(Malformed("unexpected status \(answer.status)"))
      }
    }

    private func items(of body: [UInt8]) throws(Malformed) -> [Item] {
      let view: JSONView
      do throws(JSONText.Invalid) {
        view = try JSONView(cleaning: body, limits: JSONText.Limits(maxBytes: Self.maxBytes))
      } catch {
        throw Malformed(error.debugDescription)
      }
      guard view.kind == .array else { throw Malformed("not an array") }
      var items: [Item] = []
      var ids: Set<Int64> = []
      for (index, element) in view.elements.enumerated() {
        guard index < Self.maxItems else { throw Malformed("more than \(Self.maxItems) items") }
        let item = try Item(element, of: collection, at: index)
        guard ids.insert(item.id).inserted else { throw Malformed("an id that stands twice", at: "/\(index)/id") }
        items.append(item)
      }
      guard !items.isEmpty else { throw Malformed("no items") }
      return items
    }
  }

  /// A photo or an album.
  public struct Item: Sendable {
    /// Counts from 1.
    public let id: Int64
    /// The album of a photo, the user of an album.
    public let parent: Int64
    /// Latin words; may be shared.
    public let title: String
    /// The item as it came, cleaned.
    public let document: [UInt8]

    init(_ view: JSONView, of collection: Collection, at index: Int) throws(Malformed) {
      guard view.kind == .object else { throw Malformed("not an object", at: "/\(index)") }
      guard let id = view["id"]?.int, id > 0 else { throw Malformed("not a positive integer", at: "/\(index)/id") }
      guard let parent = view[collection.parent]?.int, parent > 0 else {
        throw Malformed("not a positive integer", at: "/\(index)/\(collection.parent)")
      }
      // Apps decode these strictly: one that is missing would spoil the whole list for them.
      for name in collection.texts where view[name]?.kind != .string {
        throw Malformed("not a text", at: "/\(index)/\(name)")
      }
      self.id = id
      self.parent = parent
      title = String((view["title"]?.string ?? "").prefix(1_000))
      document = view.bytes
    }
  }
}
