extension GitHub {
  /// The way through a list from its first page to the one without `next`, wherever GitHub leads, but in no circle
  /// and to no other host.
  ///
  /// It can be taken up again from a stored address and count: page numbers must rise, so that a circle is noticed
  /// even when the pages before are forgotten.
  public struct Walk: Sendable {
    /// Why a `next` link was not followed. The walk cannot be completed, and what it saw is a part only.
    public enum Refusal: String, Error, Sendable {
      /// The address is no plain absolute URL.
      case malformed
      /// It leads to another scheme, host or port.
      case foreignOrigin
      /// This walk was there before.
      case repeated
      /// Its page number does not rise.
      case notAdvancing
      /// More pages than any list has.
      case tooManyPages
    }

    /// The most pages of a walk unless told otherwise: 10 million members at 100 a page.
    public static let maxPages = 100_000

    /// The address of the page to ask for; `nil` when the walk is complete.
    public private(set) var url: String?
    /// How many pages were taken.
    public private(set) var pagesDone: Int
    /// How many pages there will be by what GitHub last said, never fewer than are known of; `nil` while it has said nothing.
    public private(set) var pagesExpected: Int?
    private let service: UpstreamService
    private let maxPages: Int
    private var visited: Set<String>

    /// A walk that begins, or goes on after some pages, at an address.
    public init(
      at url: String, after pagesDone: Int = 0, through service: UpstreamService, maxPages: Int = Walk.maxPages
    ) {
      self.url = url
      self.pagesDone = pagesDone
      self.service = service
      self.maxPages = maxPages
      visited = [url]
    }

    /// Whether every page was taken.
    public var isComplete: Bool { url == nil }

    /// Takes the page that was asked for and goes to the next. For a page that was not modified, give what the stored
    /// copy says. Throws, and stays where it is, when `next` cannot be followed. Does nothing once complete.
    public mutating func advance(next: String?, lastPage: Int?) throws(Refusal) {
      guard let url else { return }
      if let next { try check(next, from: url) }
      pagesDone += 1
      if let next {
        visited.insert(next)
        let known = pagesDone + 1
        pagesExpected = (lastPage ?? pagesExpected).map { max($0, known) }
      } else {
        pagesExpected = pagesDone
        visited = []
      }
      self.url = next
    }

    private func check(_ next: String, from url: String) throws(Refusal) {
      guard Origin(of: next) != nil else { throw .malformed }
      guard service.owns(next) else { throw .foreignOrigin }
      guard !visited.contains(next) else { throw .repeated }
      if let page = PageLinks.pageNumber(next), page <= PageLinks.pageNumber(url) ?? 1 { throw .notAdvancing }
      guard pagesDone + 1 < maxPages else { throw .tooManyPages }
    }
  }
}
