import JSONText

extension GitHub {
  /// The body of a refusal: an object in the best case, but HTML, plain text and nothing at all occur. Whatever cannot
  /// be read is not there.
  struct ErrorBody {
    /// The upstream's own words, at most 200 characters.
    let message: String?
    /// Where a redirect leads.
    let url: String?
    /// Why a resource is blocked; `unavailable` when it is and no reason is given.
    let blockReason: String?
    private let documentation: String?

    init(_ body: [UInt8]) {
      let view = try? JSONView(cleaning: body, limits: JSONText.Limits(maxBytes: 64 << 10))
      message = view?["message"]?.string.map { String($0.prefix(200)) }
      url = view?["url"]?.string
      documentation = view?["documentation_url"]?.string
      if let block = view?["block"], block.kind == .object {
        blockReason = block["reason"]?.string.map { String($0.prefix(64)) } ?? "unavailable"
      } else {
        blockReason = nil
      }
    }

    /// Whether the words are those of a primary limit: whom it is about comes behind them.
    var isAboutPrimaryLimit: Bool { message?.lowercased().hasPrefix("api rate limit exceeded") == true }

    /// Whether the words or the linked page are about a secondary limit, by its present or its former name.
    var isAboutSecondaryLimit: Bool {
      let words = message?.lowercased() ?? ""
      let page = documentation ?? ""
      return words.contains("secondary rate limit") || words.contains("abuse detection")
        || page.hasSuffix("secondary-rate-limits") || page.hasSuffix("#abuse-rate-limits")
    }

    /// Whether the words or the linked page are about the version of the API.
    var isAboutVersion: Bool {
      let words = message?.lowercased() ?? ""
      return words.contains("api version") || words.contains("api-version")
        || documentation?.contains("api-versions") == true
    }
  }
}
