import JSONText

extension Fault {
  /// Reads `{match, effect, times?, after?, …}`; what else belongs there depends on the effect. `nil` with an issue.
  init?(reading reader: inout JSONObjectReader) {
    let match = reader.required("match", as: String.self)
    let times = reader.optional("times", as: Int64.self)
    let skip = reader.optional("after", as: Int64.self)
    guard let name = reader.required("effect", as: String.self), let match else { return nil }
    guard let effect = Effect(name, reading: &reader) else {
      reader.refuse("effect", "must be one of the effects of docs/simulator.md")
      return nil
    }
    self.init(effect, on: PathPattern(match), times: times.map { Int(max(1, $0)) }, after: Int(max(0, skip ?? 0)))
  }
}

extension Fault.Effect {
  fileprivate init?(_ name: String, reading reader: inout JSONObjectReader) {
    func number(_ name: String, _ standard: Int64) -> Int {
      Int(reader.optional(name, as: Int64.self) ?? standard)
    }
    switch name {
    case "slow": self = .slow(milliseconds: number("milliseconds", 1000))
    case "cut": self = .cut
    case "reset": self = .reset
    case "status": self = .status(min(599, max(400, number("status", 502))))
    case "html": self = .html(min(599, max(200, number("status", 200))))
    case "primary-limit": self = .primaryLimit
    case "secondary-limit": self = .secondaryLimit
    case "not-found": self = .notFound
    case "unavailable": self = .unavailable
    case "blocked": self = .blocked
    case "conflict": self = .conflict
    case "forbidden": self = .forbidden
    case "single-sign-on": self = .singleSignOn
    case "redirect": self = .redirect(reader.required("to", as: String.self) ?? "/")
    case "invalid-json": self = .invalidJSON
    case "truncated-json": self = .truncatedJSON
    case "deep-json": self = .deepJSON(depth: number("depth", 10_000))
    case "huge": self = .huge(bytes: number("bytes", 16 * 1024 * 1024))
    case "other-shape": self = .otherShape
    case "ids-as-strings": self = .idsAsStrings
    case "next-is-self": self = .nextIsSelf
    case "next-is": self = .nextIs(reader.required("to", as: String.self) ?? "")
    case "drop-first": self = .dropFirst
    case "insert-first": self = .insertFirst
    case "incomplete-search": self = .incompleteSearch
    case "unstable-search": self = .unstableSearch
    case "short-list": self = .shortList
    case "synthetic": self = .synthetic
    case "no-pagination": self = .noPagination
    case "empty-data": self = .emptyData
    case "giphy-error": self = .giphyError(min(599, max(400, number("status", 401))))
    case "gateway-error": self = .gatewayError(min(599, max(400, number("status", 401))))
    case "echo-query": self = .echoQuery
    default: return nil
    }
  }
}
