import HTTP

extension GitHub {
  /// What the `Link` field of a page says. Other relations come and go; only these two are of use.
  struct PageLinks {
    /// The absolute address of the next page, of whatever origin.
    let next: String?
    /// The number of the last page.
    let lastPage: Int?

    init(of fields: Fields, at service: UpstreamService) {
      let links = fields[joined: .link].map(Link.parse) ?? []
      func target(_ relation: String) -> String? { links.first { $0.relations.contains(relation) }?.target }
      // An address that cannot be made sense of is kept, so that the walk refuses it instead of ending early.
      next = target("next").map { service.resolve($0) ?? $0 }
      lastPage = target("last").flatMap(Self.pageNumber)
    }

    /// The value of `page` in an address, if it is a positive number.
    static func pageNumber(_ url: String) -> Int? {
      guard let query = url.split(separator: "?", maxSplits: 1).dropFirst().first else { return nil }
      for item in query.split(separator: "&") where item.hasPrefix("page=") {
        return Int(item.dropFirst(5)).flatMap { $0 > 0 ? $0 : nil }
      }
      return nil
    }
  }
}
