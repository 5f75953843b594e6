import HTTP
import Magpie

/// Which page a GitHub client asks for, and how the links to its neighbors are written.
struct PageRequest {
  static let maxPageSize = 100
  /// A page beyond this lies beyond the end of every list.
  static let maxPage = 1_000_000_000

  let page: Int
  let size: Int
  /// The walk that the page before was read from.
  let walk: Int64?

  init(_ parameters: Parameters) throws(APIError) {
    size = try parameters.positive("per_page", default: 30, max: PageRequest.maxPageSize)
    page = try parameters.positive("page", default: 1, max: PageRequest.maxPage)
    walk = try parameters.has("walk") ? Int64(parameters.positive("walk", default: 0, max: .max)) : nil
  }

  /// A page that was read elsewhere.
  init(page: Int, size: Int) {
    self.page = page
    self.size = size
    walk = nil
  }

  var range: ListRange { ListRange(first: Int64(page - 1) * Int64(size), count: size, walk: walk) }

  /// GitHub's relations by position: the first page has `next` and `last`, middle ones all four, the last one `prev` and
  /// `first`; pages beyond the end lead back to the last one. A list that fits one page has no links.
  ///
  /// While the first walk runs, `next` is there as long as more may come, and `last` is left out since nobody knows it yet.
  func links(stored: Int64, isComplete: Bool, address: (_ page: Int) -> String) -> [Link] {
    let lastPage = max(1, Int((stored + Int64(size) - 1) / Int64(size)))
    var links: [Link] = []
    if page > 1 { links.append(Link(address(min(page - 1, isComplete ? lastPage : page - 1)), rel: "prev")) }
    if !isComplete || page < lastPage { links.append(Link(address(page + 1), rel: "next")) }
    if isComplete, page != lastPage { links.append(Link(address(lastPage), rel: "last")) }
    if page > 1 { links.append(Link(address(1), rel: "first")) }
    return links
  }
}
