import HTTP
import JSONText

/// What we know of GIPHY's API, version 1.
///
/// GIPHY forbids relaying its answers and keeping them, unless it has agreed to that. So nothing here is asked without a key
/// that the operator has set, what is kept is kept for minutes, and addresses of media are passed on byte for byte: they count
/// views, differ with each answer, and are never asked for by this server.
public enum Giphy {
  /// Nothing is shown from this place of a list on.
  public static let cap = 4_999
  /// The largest page that a beta key gets.
  public static let maxLimit = 50
  /// Characters of a search.
  public static let maxQuery = 50
  /// Ids in one question.
  public static let maxIDs = 100
  /// The longest answer accepted: 4 MiB. A full page has some 500 KB.
  public static let maxBytes = 4 << 20
  /// The one budget of a key.
  public static let resource = "calls"

  /// What is searched.
  public enum Kind: String, Sendable, CaseIterable {
    case gifs
    case stickers
  }

  /// Ratings, the most harmless first. Each includes those before it.
  public static let ratings = ["y", "g", "pg", "pg-13", "r"]

  /// Whether a text can be an id: letters and digits.
  public static func isID(_ text: some StringProtocol) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
      }
  }

  /// Something to ask, without a key.
  public struct Question: Sendable, Equatable {
    /// Which list or object.
    public enum Endpoint: Sendable, Equatable {
      case trending
      case search(String)
      case tags(String)
      case random(tag: String?)
      case one(id: String)
      case several(ids: [String])
    }

    /// GIFs or stickers.
    public let kind: Kind
    /// What of them.
    public let endpoint: Endpoint
    /// Other parameters, such as `limit` and `lang`, by name.
    public var parameters: [String: String]
    /// One of ``ratings``: nothing beyond is shown.
    public var rating: String

    /// Something to ask.
    public init(_ kind: Kind, _ endpoint: Endpoint, _ parameters: [String: String] = [:], rating: String) {
      self.kind = kind
      self.endpoint = endpoint
      self.parameters = parameters
      self.rating = rating
    }

    /// Whether an answer is a list with its `pagination`.
    var isList: Bool {
      switch endpoint {
      case .trending, .search, .several: true
      case .tags, .random, .one: false
      }
    }

    /// Path and query in one order, without a key.
    public var text: String { text { $0 } }

    /// The same with its words in lower case: equal texts are the same question. Its rating ends it.
    public var normalText: String { text { $0.lowercased() } }

    private func text(_ form: (String) -> String) -> String {
      let (path, own): (String, [String: String]) =
        switch endpoint {
        case .trending: ("/trending", [:])
        case .search(let text): ("/search", ["q": form(text)])
        case .tags(let text): ("/search/tags", ["q": form(text)])
        case .random(let tag): ("/random", tag.map { ["tag": form($0)] } ?? [:])
        case .one(let id): ("/\(id)", [:])
        case .several(let ids): ("", ["ids": ids.joined(separator: ",")])
        }
      let items = parameters.merging(own) { $1 }.sorted { $0.key < $1.key }
      let query = items.map { "\($0.key)=\(PercentEncoding.encode($0.value))" } + ["rating=\(rating)"]
      return "/v1/\(kind.rawValue)\(path)?\(query.joined(separator: "&"))"
    }
  }
}
