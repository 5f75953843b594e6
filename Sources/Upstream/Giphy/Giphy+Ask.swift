import HTTP
import JSONText

extension Giphy {
  /// One call. The key enters the address here and nowhere else, since GIPHY takes it in no other place.
  public struct Ask: UpstreamRequest {
    private let question: Question

    /// Asks a question.
    public init(_ question: Question) { self.question = question }

    /// Every key has one budget for everything.
    public var resource: String { Giphy.resource }

    /// The call to send. There are no validators: the body of an answer is never the same twice.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      let key = credential.map { "&api_key=\(PercentEncoding.encode($0.token))" } ?? ""
      return UpstreamCall(
        url: service.base + question.text + key, fields: [.userAgent: service.userAgent, .accept: "application/json"],
        maxBytes: Giphy.maxBytes)
    }

    /// What the answer means.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<Answer> {
      do throws(Malformed) {
        return Reply(try outcome(of: answer), budget: nil)
      } catch {
        return Reply(.invalid(error), budget: nil)
      }
    }

    private func outcome(of answer: UpstreamAnswer) throws(Malformed) -> Outcome<Answer> {
      switch answer.status {
      case 200: return try Answer(answer.body, to: question).map { .ok($0, Validators(etag: nil)) } ?? Self.madeUp
      case 404: return .gone(status: 404, reason: nil)
      case 401: return .unauthorized
      // A banned key. The network in front of GIPHY refuses, too, in HTML and not for good.
      case 403: return Self.isJSON(answer.body) ? .unauthorized : .transient(status: 403, retryAfter: nil)
      case 429:
        // GIPHY does not say how long; a zero is not meant.
        let seconds = answer.retryAfter ?? 0
        return .limited(Limit(.secondary, seconds: seconds > 0 ? seconds : 60, isNamed: seconds > 0))
      case 408, 500..<600: return .transient(status: answer.status, retryAfter: nil)
      case 400..<500: return .refused(.request(status: answer.status, message: nil))
      default: throw Malformed("unexpected status \(answer.status)")
      }
    }

    /// What GIPHY answers, with 200, when something behind it is down.
    private static let madeUp = Outcome<Answer>.transient(status: 200, retryAfter: nil)

    private static func isJSON(_ body: [UInt8]) -> Bool {
      (try? JSONText.check(body, limits: JSONText.Limits(maxBytes: 64 << 10))) != nil
    }
  }

  /// A good answer.
  public struct Answer: Sendable {
    /// A GIF or sticker.
    public struct Gif: Sendable {
      /// GIPHY's id, the only thing about it that lasts.
      public let id: String
      /// The object as it came, cleaned of what cannot be stored; addresses byte for byte.
      public let document: [UInt8]
    }

    /// What `data` holds.
    public enum Data: Sendable {
      /// In GIPHY's order, each once: it repeats itself.
      case list([Gif])
      /// `nil`: an empty array in its place, when nothing was found.
      case one(Gif?)
      /// Something else, such as words.
      case other([UInt8])
    }

    /// Where a page stands.
    public struct Pagination: Sendable {
      /// An estimate that changes from page to page, and more than is ever shown.
      public let total: Int64
      /// Of this page, repeats included: the next page begins at `offset + count`.
      public let count: Int64
      /// The place of the first.
      public let offset: Int64
    }

    /// The payload.
    public let data: Data
    /// Only lists have one.
    public let pagination: Pagination?
    /// GIPHY's name for the answer.
    public let responseID: String

    /// - Returns: `nil` for an answer that is made up: nothing was asked behind it.
    init?(_ body: [UInt8], to question: Question) throws(Malformed) {
      let view: JSONView
      do throws(JSONText.Invalid) {
        view = try JSONView(cleaning: body, limits: JSONText.Limits(maxBytes: Giphy.maxBytes))
      } catch {
        throw Malformed(error.debugDescription)
      }
      guard view.kind == .object, let data = view["data"] else { throw Malformed("no data", at: "/data") }
      guard let responseID = view["meta"]?["response_id"]?.string, (1...200).contains(responseID.utf8.count) else {
        return nil
      }
      self.responseID = responseID
      pagination = Self.pagination(view["pagination"])
      if question.isList, pagination == nil { return nil }
      switch question.endpoint {
      case .trending, .search, .several: self.data = .list(try Self.list(data))
      case .random, .one:
        let isEmpty = data.kind == .array && data.elements.first { _ in true } == nil
        self.data = .one(isEmpty ? nil : try Self.gif(data, at: "/data"))
      case .tags:
        guard data.kind == .array else { throw Malformed("not an array", at: "/data") }
        self.data = .other(data.bytes)
      }
    }

    private static func list(_ data: JSONView) throws(Malformed) -> [Gif] {
      guard data.kind == .array else { throw Malformed("not an array", at: "/data") }
      var gifs: [Gif] = []
      var ids: Set<String> = []
      for (index, element) in data.elements.enumerated() {
        guard index < 200 else { throw Malformed("more than 200 items", at: "/data") }
        let gif = try gif(element, at: "/data/\(index)")
        if ids.insert(gif.id).inserted { gifs.append(gif) }
      }
      return gifs
    }

    private static func gif(_ view: JSONView, at pointer: String) throws(Malformed) -> Gif {
      guard view.kind == .object, let id = view["id"]?.string, Giphy.isID(id) else {
        throw Malformed("not an id", at: pointer + "/id")
      }
      return Gif(id: id, document: view.bytes)
    }

    /// Numbers were texts at times.
    private static func pagination(_ view: JSONView?) -> Pagination? {
      func number(_ name: String) -> Int64? {
        guard let member = view?[name] else { return nil }
        return (member.int ?? member.string.flatMap { Int64($0) }).flatMap { $0 >= 0 ? $0 : nil }
      }
      guard let count = number("count"), let offset = number("offset") else { return nil }
      return Pagination(total: number("total_count") ?? offset + count, count: count, offset: offset)
    }
  }
}
