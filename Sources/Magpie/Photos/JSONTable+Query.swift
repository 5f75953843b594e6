/// Searching and ordering a table. A filter looks at one column of all items, some 0.1 ms for five thousand texts.
extension JSONTable {
  /// What a query gives.
  public struct Selection: Sendable {
    /// Where the items stand in the table, in the order asked for.
    public let items: [Int]
    /// How many match, when somebody asks for a part.
    public let total: Int?
    /// The page, for links to its neighbors.
    public let page: Page?
  }

  /// A page among pages.
  public struct Page: Sendable, Equatable {
    /// From 1.
    public let number: Int
    /// The number of the last one; `nil` when everything stands on this one, or nothing does.
    public let last: Int?
    /// Whether there is one behind.
    public let hasNext: Bool
    /// Whether there is one before.
    public let hasPrevious: Bool
  }

  /// Carries a query out.
  public func select(_ query: JSONServerQuery) -> Selection {
    var items = Array(0..<count)
    for filter in query.filters {
      let column = column(filter.name)
      items = items.filter { index in
        guard let value = column?.values[index], value.kind != .missing else { return false }
        return filter.tests.contains { holds($0, value) }
      }
    }
    if let text = query.text {
      let needle = Needle(text)
      items = items.filter { index in
        columns.contains { withText($0.values[index], needle.isWithin) ?? false }
      }
    }
    sort(&items, query.sorts)
    switch query.slice {
    case .all: return Selection(items: items, total: nil, page: nil)
    case .range(let start, let end):
      let range = Self.range(start, end, of: items.count)
      return Selection(items: Array(items[range]), total: items.count, page: nil)
    case .page(let number, let size):
      let part = Array(items[Self.range((number - 1) * size, number * size, of: items.count)])
      if part.isEmpty { return Selection(items: [], total: items.count, page: nil) }
      let page = Page(
        number: number, last: part.count == items.count ? nil : (items.count + size - 1) / size,
        hasNext: number * size < items.count, hasPrevious: number > 1)
      return Selection(items: part, total: items.count, page: page)
    }
  }

  /// `Array.prototype.slice`: negative numbers count from the end.
  static func range(_ start: Int, _ end: Int, of count: Int) -> Range<Int> {
    func place(_ number: Int) -> Int { number < 0 ? max(0, count + number) : min(number, count) }
    let first = place(start)
    return first..<max(first, place(end))
  }

  private func holds(_ test: JSONServerQuery.Test, _ value: Value) -> Bool {
    switch test {
    case .equal(let wanted): return withText(value) { $0.elementsEqual(wanted.utf8) } ?? false
    case .unequal(let unwanted): return withText(value) { !$0.elementsEqual(unwanted.utf8) } ?? false
    case .atLeast(let bound): return compare(value, bound) { $0 >= 0 }
    case .atMost(let bound): return compare(value, bound) { $0 <= 0 }
    case .like(let pattern): return text(value).map(pattern.matches) ?? false
    }
  }

  /// As JavaScript compares a text with a value: by number when the value is one, else by text.
  private func compare(_ value: Value, _ bound: String, _ holds: (Int) -> Bool) -> Bool {
    if let number = number(value) {
      guard let bound = Double(bound) else { return false }
      return holds(number < bound ? -1 : number > bound ? 1 : 0)
    }
    guard let text = text(value) else { return false }
    return holds(text < bound ? -1 : text == bound ? 0 : 1)
  }

  // MARK: Order

  /// Stable. Upwards, items without the member come last; a member that no item has changes nothing.
  private func sort(_ items: inout [Int], _ sorts: [(name: String, isDescending: Bool)]) {
    let keys = sorts.compactMap { sort in column(sort.name).map { (ranks(of: $0, among: items), sort.isDescending) } }
    if keys.isEmpty { return }
    items.sort { a, b in
      for (rank, isDescending) in keys where rank[a] != rank[b] {
        return isDescending ? rank[a] > rank[b] : rank[a] < rank[b]
      }
      return a < b
    }
  }

  /// Each item's place in a column's order; equal values have equal places. So that each value is compared once a sort and not
  /// once a comparison.
  private func ranks(of column: Column, among items: [Int]) -> [Int32] {
    var ranks = [Int32](repeating: .max, count: count)
    let numbers = items.compactMap { index in number(column.values[index]).map { ($0, index) } }.sorted { $0.0 < $1.0 }
    var rank: Int32 = 0
    for (place, pair) in numbers.enumerated() {
      if place > 0, numbers[place - 1].0 != pair.0 { rank += 1 }
      ranks[pair.1] = rank
    }
    rank += 1
    var texts = items.filter { column.values[$0].kind == .text || column.values[$0].kind == .unescapedText }
    texts.sort { order(column.values[$0], column.values[$1]) < 0 }
    for (place, index) in texts.enumerated() {
      if place > 0, order(column.values[texts[place - 1]], column.values[index]) != 0 { rank += 1 }
      ranks[index] = rank
    }
    return ranks
  }

  /// By bytes, which is by code points.
  private func order(_ a: Value, _ b: Value) -> Int {
    withText(a) { a in
      withText(b) { b in
        for (x, y) in zip(a, b) where x != y { return x < y ? -1 : 1 }
        return a.count == b.count ? 0 : a.count < b.count ? -1 : 1
      } ?? 0
    } ?? 0
  }
}

/// A text that is looked for in others, whatever the case.
private struct Needle {
  private let text: String
  private let bytes: [UInt8]
  private let isASCII: Bool

  init(_ text: String) {
    self.text = text.lowercased()
    bytes = Array(self.text.utf8)
    isASCII = bytes.allSatisfy { $0 < 0x80 }
  }

  func isWithin(_ haystack: UnsafeRawBufferPointer) -> Bool {
    guard isASCII else { return String(decoding: haystack, as: UTF8.self).lowercased().contains(text) }
    guard haystack.count >= bytes.count else { return false }
    let first = bytes[0]
    for start in 0...(haystack.count - bytes.count) where Self.lowered(haystack[start]) == first {
      var length = 1
      while length < bytes.count, Self.lowered(haystack[start + length]) == bytes[length] { length += 1 }
      if length == bytes.count { return true }
    }
    return false
  }

  @inline(__always)
  private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
