import JSONText
import Upstream

/// One page of a search, as somebody asks for it. Whoever asks the same in other words gets the same answer.
public struct SearchQuery: Sendable, Equatable {
  /// What is searched for.
  public enum Kind: String, Sendable, CaseIterable {
    case users
    case repositories

    var upstream: GitHub.Search.Kind { self == .users ? .users : .repositories }
    /// Orders beside the best match.
    public var sorts: [String] { upstream.sorts }
  }

  /// Results that the upstream shows of one search.
  public static let cap = GitHub.Search.cap
  /// The longest text without its qualifiers and operators, in characters.
  public static let maxLength = GitHub.Search.maxLength

  /// The kind of the job that asks the upstream.
  static let jobKind = "github-search"

  /// What is searched for.
  public let kind: Kind
  /// Words and qualifiers, as they were written.
  public let text: String
  /// One of the kind's orders; `nil`: the best match first.
  public let sort: String?
  /// Smallest first. Only with a sort.
  public let isAscending: Bool
  /// 1 to 100.
  public let perPage: Int
  /// From 1.
  public let page: Int

  /// A page of a search. A direction without a sort means nothing and is left out.
  public init(_ kind: Kind, _ text: String, sort: String? = nil, isAscending: Bool = false, perPage: Int, page: Int) {
    self.kind = kind
    self.text = text
    self.sort = sort
    self.isAscending = sort != nil && isAscending
    self.perPage = perPage
    self.page = page
  }

  /// The words, without blanks at the ends and double ones between.
  private var words: [Substring] { text.split(whereSeparator: { $0.isWhitespace }) }

  private static let operators: Set<Substring> = ["AND", "OR", "NOT"]

  /// The text in the form in which two spellings of one search are the same. Operators count in capitals only.
  var normalText: String {
    words.map { SearchQuery.operators.contains($0) ? String($0) : $0.lowercased() }.joined(separator: " ")
  }

  /// Characters that count for GitHub's limit: operators and qualifiers do not.
  public var length: Int {
    let counted = words.filter { !SearchQuery.operators.contains($0) && !$0.contains(":") }
    return counted.reduce(0) { $0 + $1.unicodeScalars.count } + max(0, counted.count - 1)
  }

  /// The text if it is words alone, so that it may be looked for among what is stored; `nil` with qualifiers or operators.
  var plainText: String? {
    let hasSyntax = words.contains { SearchQuery.operators.contains($0) || $0.contains(":") || $0.contains("\"") }
    return words.isEmpty || hasSyntax ? nil : words.joined(separator: " ")
  }

  /// What all pages of the search have in common, 32 bytes.
  var key: [UInt8] {
    let order = sort.map { "\($0) \(isAscending ? "asc" : "desc")" } ?? ""
    return Digest.sha256(Array("\(kind.rawValue)\n\(normalText)\n\(order)\n\(perPage)".utf8))
  }

  /// What the page's job is named by.
  var subject: String {
    let digits = Array("0123456789abcdef".unicodeScalars)
    var text = ""
    for byte in key {
      text.unicodeScalars.append(digits[Int(byte >> 4)])
      text.unicodeScalars.append(digits[Int(byte & 15)])
    }
    return "\(text):\(page)"
  }

  /// What the page's job is told.
  var args: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("kind")
    writer.string(kind.rawValue)
    writer.key("q")
    writer.string(text)
    if let sort {
      writer.key("sort")
      writer.string(sort)
      writer.key("ascending")
      writer.bool(isAscending)
    }
    writer.key("per_page")
    writer.int(perPage)
    writer.key("page")
    writer.int(page)
    writer.endObject()
    return writer.bytes
  }

  /// Reads what `args` has written.
  init?(args: [UInt8]) {
    guard let view = try? JSONView(args), let kind = view["kind"]?.string.flatMap(Kind.init(rawValue:)),
      let text = view["q"]?.string, let perPage = view["per_page"]?.int, (1...100).contains(perPage),
      let page = view["page"]?.int, (1...Int64(Int32.max)).contains(page)
    else { return nil }
    self.init(
      kind, text, sort: view["sort"]?.string, isAscending: view["ascending"]?.bool ?? false, perPage: Int(perPage),
      page: Int(page))
  }
}
