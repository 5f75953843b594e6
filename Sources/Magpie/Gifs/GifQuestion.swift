import JSONText
import Upstream

/// A question to GIPHY as somebody asks it. Whoever asks the same in another case gets the same answer.
public struct GifQuestion: Sendable, Equatable {
  /// The kind of the job that asks.
  static let jobKind = "giphy"
  /// The name of GIPHY's keys among the budgets.
  public static let pool = "giphy"
  /// The budget of a key.
  public static let resource = Giphy.resource

  /// GIFs or stickers.
  public typealias Kind = Giphy.Kind
  /// What of them.
  public typealias Endpoint = Giphy.Question.Endpoint
  /// Nothing is shown from this place of a list on.
  public static let cap = Giphy.cap
  /// The largest page.
  public static let maxLimit = Giphy.maxLimit
  /// Characters of a search.
  public static let maxQuery = Giphy.maxQuery
  /// Ids in one question.
  public static let maxIDs = Giphy.maxIDs
  /// Ratings, the most harmless first.
  public static let ratings = Giphy.ratings

  /// Whether a text can be an id.
  public static func isID(_ text: some StringProtocol) -> Bool { Giphy.isID(text) }

  /// What is asked; its rating is not known before it is known who asks.
  let question: Giphy.Question
  /// What the client wants to see; `nil`: what its account says.
  let rating: String?

  /// - Parameter rating: `nil`: the asking account's.
  public init(
    _ kind: Kind, _ endpoint: Endpoint, _ parameters: [String: String] = [:], rating: String?
  ) {
    question = Giphy.Question(kind, endpoint, parameters, rating: "")
    self.rating = rating
  }

  /// Random answers are for one look: the next one is another.
  public var isRandom: Bool {
    if case .random = question.endpoint { return true }
    return false
  }

  /// The normal form without its rating, which ends it.
  var stem: String { question.normalText }

  func asked(rating: String) -> Giphy.Question {
    var question = question
    question.rating = rating
    return question
  }
}

extension Giphy.Question {
  /// What answers are kept under: 32 bytes.
  var key: [UInt8] { Digest.sha256(Array(normalText.utf8)) }

  /// What the job is named by: the key in hexadecimal.
  var subject: String {
    let digits = Array("0123456789abcdef".unicodeScalars)
    var subject = ""
    for byte in key {
      subject.unicodeScalars.append(digits[Int(byte >> 4)])
      subject.unicodeScalars.append(digits[Int(byte & 15)])
    }
    return subject
  }

  /// What the job is told.
  var args: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    func member(_ name: String, _ value: String) {
      writer.key(name)
      writer.string(value)
    }
    member("kind", kind.rawValue)
    member("rating", rating)
    switch endpoint {
    case .trending: member("endpoint", "trending")
    case .search(let text):
      member("endpoint", "search")
      member("text", text)
    case .tags(let text):
      member("endpoint", "tags")
      member("text", text)
    case .random(let tag):
      member("endpoint", "random")
      if let tag { member("text", tag) }
    case .one(let id):
      member("endpoint", "one")
      member("text", id)
    case .several(let ids):
      member("endpoint", "several")
      member("text", ids.joined(separator: ","))
    }
    writer.key("parameters")
    writer.beginObject()
    for (name, value) in parameters.sorted(by: { $0.key < $1.key }) { member(name, value) }
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }

  /// Reads what `args` has written.
  init?(args: [UInt8]) {
    guard let view = try? JSONView(args), let kind = view["kind"]?.string.flatMap(Giphy.Kind.init(rawValue:)),
      let rating = view["rating"]?.string, Giphy.ratings.contains(rating)
    else { return nil }
    let text = view["text"]?.string
    let endpoint: Endpoint
    switch (view["endpoint"]?.string, text) {
    case ("trending", _): endpoint = .trending
    case ("search", let text?): endpoint = .search(text)
    case ("tags", let text?): endpoint = .tags(text)
    case ("random", _): endpoint = .random(tag: text)
    case ("one", let id?) where Giphy.isID(id): endpoint = .one(id: id)
    case ("several", let text?):
      let ids = text.split(separator: ",").map(String.init)
      guard ids.allSatisfy({ Giphy.isID($0) }) else { return nil }
      endpoint = .several(ids: ids)
    default: return nil
    }
    var parameters: [String: String] = [:]
    if let members = view["parameters"]?.members {
      for (name, value) in members { parameters[name] = value.string }
    }
    self.init(kind, endpoint, parameters, rating: rating)
  }
}
