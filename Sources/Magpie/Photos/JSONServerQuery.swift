/// A list as json-server 0.17 is asked for it: filters, full text, order, and a slice or a page.
///
/// Its oddities are kept where clients may live by them: unknown members and misspelled parameters are dropped, numbers that
/// are none count as not given, a page beyond the end is empty. Only `_like` is less than there (``TextPattern``).
public struct JSONServerQuery: Sendable {
  /// A parameter that is refused: its name, and what is wrong with it.
  public struct Refusal: Error {
    /// The parameter's name.
    public let parameter: String
    /// Words to follow the name.
    public let reason: String
  }

  /// Parameters looked at; more are refused, since each costs a walk through all items.
  public static let maxParameters = 50

  enum Test: Sendable {
    case equal(String)
    case unequal(String)
    case atLeast(String)
    case atMost(String)
    case like(TextPattern)
  }

  /// One member and its tests, of which one must hold.
  struct Filter: Sendable {
    let name: String
    var tests: [Test]
  }

  /// Which of the items that are left are given.
  public enum Slice: Sendable, Equatable {
    /// All, and nobody asks how many that are.
    case all
    /// As of a JavaScript array: from, and up to without it.
    case range(Int, Int)
    /// From 1.
    case page(Int, size: Int)
  }

  var filters: [Filter] = []
  var text: String?
  var sorts: [(name: String, isDescending: Bool)] = []
  /// Which part is given.
  public private(set) var slice = Slice.all

  /// Whether all items are given as they stand.
  public var isWhole: Bool { filters.isEmpty && text == nil && sorts.isEmpty && slice == .all }

  /// - Parameters:
  ///   - parameters: of the query, decoded, in order.
  ///   - known: says whether items have a member of that name.
  /// - Throws: `Refusal`.
  public init(_ parameters: [(name: String, value: String)], known: (String) -> Bool) throws(Refusal) {
    guard parameters.count <= Self.maxParameters else {
      throw Refusal(parameter: "_", reason: "and others are more than \(Self.maxParameters)")
    }
    func first(_ name: String) -> String? {
      parameters.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }
    text = first("q")
    if let text, text.utf8.count > TextPattern.maxBytes {
      throw Refusal(parameter: "q", reason: "must not be longer than \(TextPattern.maxBytes) bytes")
    }
    if let names = first("_sort") {
      let orders = (first("_order") ?? "").split(separator: ",", omittingEmptySubsequences: false)
      for (index, name) in names.split(separator: ",").prefix(8).enumerated() {
        sorts.append((String(name), index < orders.count && orders[index].lowercased() == "desc"))
      }
    }
    slice = Self.slice(first)
    for (name, value) in parameters {
      if ["q", "_sort", "_order", "_page", "_limit", "_start", "_end", "_embed", "_expand", "raw"].contains(name) {
        continue
      }
      guard let (member, test) = try Self.test(name, value, known) else { continue }
      // Repeats of one parameter are alternatives.
      if let index = filters.firstIndex(where: { $0.name == member && $0.tests[0].isKind(of: test) }) {
        filters[index].tests.append(test)
      } else {
        filters.append(Filter(name: member, tests: [test]))
      }
    }
  }

  private static func test(
    _ name: String, _ value: String, _ known: (String) -> Bool
  ) throws(Refusal) -> (String, Test)? {
    if known(name) { return (name, .equal(value)) }
    for (ending, make) in [("_gte", Test.atLeast), ("_lte", Test.atMost), ("_ne", Test.unequal)]
    where name.hasSuffix(ending) {
      return (String(name.dropLast(ending.utf8.count)), make(value))
    }
    guard name.hasSuffix("_like") else { return nil }
    do throws(TextPattern.Invalid) {
      return (String(name.dropLast("_like".utf8.count)), .like(try TextPattern(value)))
    } catch {
      throw Refusal(parameter: name, reason: error.reason)
    }
  }

  private static func slice(_ first: (String) -> String?) -> Slice {
    if let page = first("_page") {
      let number = integer(page) ?? 1
      let size = integer(first("_limit") ?? "") ?? 0
      return .page(max(1, number), size: size <= 0 ? 10 : size)
    }
    let start = integer(first("_start") ?? "") ?? 0
    if let end = first("_end") { return .range(start, integer(end) ?? 0) }
    if let limit = first("_limit") { return .range(start, integer(limit).map { start + $0 } ?? 0) }
    return .all
  }

  /// As `parseInt(text, 10)`: what follows the digits does not matter. Cut to what no list has.
  static func integer(_ text: String) -> Int? {
    var rest = text.drop { $0.isWhitespace }
    var isNegative = false
    if let sign = rest.first, sign == "-" || sign == "+" {
      isNegative = sign == "-"
      rest.removeFirst()
    }
    let digits = rest.utf8.prefix { 0x30...0x39 ~= $0 }
    guard !digits.isEmpty else { return nil }
    let number = min(Int(String(Substring(digits))) ?? .max, 1_000_000_000)
    return isNegative ? -number : number
  }
}

extension JSONServerQuery.Test {
  fileprivate func isKind(of other: Self) -> Bool {
    switch (self, other) {
    case (.equal, .equal), (.unequal, .unequal), (.atLeast, .atLeast), (.atMost, .atMost), (.like, .like): true
    default: false
    }
  }
}
