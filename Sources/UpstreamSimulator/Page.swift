import HTTP

/// A part of a list, as `page` and `per_page` ask for it.
struct Page: Hashable, Sendable {
  /// From 1.
  let number: Int
  /// 1 to 100.
  let size: Int
  /// Length of the whole list.
  let count: Int

  /// More than 100 a page is cut to 100 without a word; what is no number, or less than 1, counts as not given.
  init(_ query: Target.Query, count: Int) {
    number = query["page"].flatMap { Int($0) }.flatMap { $0 >= 1 && $0 < 1 << 40 ? $0 : nil } ?? 1
    size = min(100, query["per_page"].flatMap { Int($0) }.flatMap { $0 >= 1 ? $0 : nil } ?? 30)
    self.count = count
  }

  var last: Int { max(1, (count + size - 1) / size) }

  /// Positions in the list; empty beyond the last page.
  var positions: Range<Int> {
    let start = min((number - 1) * size, count)
    return start..<min(start + size, count)
  }

  /// Links to other pages, by position in the list: none when all fits on one page; neither `next` nor `last` on the last.
  ///
  /// - Parameter path: absolute, by the owner's id, as GitHub's links are. Other query items are kept.
  func links(_ path: String, _ query: Target.Query) -> [Link] {
    func link(_ page: Int, _ rel: String) -> Link { Link(Page.address(path, query, page), rel: rel) }
    if number > last { return [link(1, "first"), link(last, "last"), link(last, "prev")] }
    if last == 1 { return [] }
    if number == 1 { return [link(2, "next"), link(last, "last")] }
    if number == last { return [link(number - 1, "prev"), link(1, "first")] }
    return [link(number - 1, "prev"), link(number + 1, "next"), link(last, "last"), link(1, "first")]
  }

  static func address(_ path: String, _ query: Target.Query, _ page: Int) -> String {
    var query = query
    query.set("page", to: String(page))
    return "\(path)?\(query)"
  }
}

/// Finished pages, so that the same page is not written twice. Emptied when full: a walk through a long list would push
/// out page by page what it needs again only much later.
struct PageCache: Sendable {
  struct Finished: Sendable {
    let body: [UInt8]
    /// Of the body, in the characters of an entity tag.
    let hash: String
  }

  private struct Key: Hashable {
    let list: ListKey
    let page: Page
  }

  private let maxBytes: Int
  private var pages: [Key: Finished] = [:]
  private var byteCount = 0
  private var version = -1

  init(maxBytes: Int) { self.maxBytes = maxBytes }

  /// The page at that version of the network, made if need be.
  mutating func page(_ list: ListKey, _ page: Page, version: Int, make: () -> [UInt8]) -> Finished {
    if version != self.version {
      empty()
      self.version = version
    }
    let key = Key(list: list, page: page)
    if let finished = pages[key] { return finished }
    let body = make()
    let finished = Finished(body: body, hash: EntityTag(hashing: body).opaque)
    if byteCount + body.count > maxBytes { empty() }
    if body.count <= maxBytes {
      pages[key] = finished
      byteCount += body.count
    }
    return finished
  }

  private mutating func empty() {
    pages = [:]
    byteCount = 0
  }
}
