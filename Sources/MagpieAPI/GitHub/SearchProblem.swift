import HTTP
import JSONText
import Magpie

/// What can be wrong with a search, told as GitHub tells it.
enum SearchProblem {
  /// Bytes of a query with everything.
  static let maxBytes = 2_048

  /// `q` is not there, or blank.
  static let missing = invalid(detail: "is missing", code: "missing", message: nil)

  /// The words are too many.
  static let tooLong = invalid(
    detail: "must not be longer than \(SearchQuery.maxLength) characters, without qualifiers and operators",
    code: "invalid", message: "The search is longer than \(SearchQuery.maxLength) characters.")

  /// GitHub's own words, and no `errors`.
  static var beyondTheCap: APIError {
    let message = "Only the first \(SearchQuery.cap) search results are available"
    var problem = Problem(.unprocessableContent, code: "github/search-cap", detail: message + ".")
    problem.members = [Problem.Member("message", message)]
    return APIError(problem)
  }

  private static func invalid(detail: String, code: String, message: String?) -> APIError {
    var problem = Problem(
      .unprocessableContent, code: "request/invalid-parameter", detail: "The parameter q \(detail).")
    var error = Problem.Detail(pointer: "/q", detail: detail)
    error.members = [.init("resource", "Search"), .init("field", "q"), .init("code", code)]
    if let message { error.members.append(.init("message", message)) }
    problem.errors = [error]
    return APIError(problem)
  }

  /// What GitHub said about the query.
  static func refused(_ document: [UInt8]) -> APIError {
    let view = try? JSONView(document)
    var problem = Problem(
      .unprocessableContent, code: "github/search-refused", detail: "GitHub does not take this query.")
    problem.members = [Problem.Member("message", view?["message"]?.string ?? "Validation Failed")]
    for fault in view?["errors"]?.elements.map({ $0 }) ?? [] {
      let message = fault["message"]?.string
      var error = Problem.Detail(
        pointer: fault["field"]?.string.map { "/\($0)" } ?? "",
        detail: message ?? fault["code"]?.string ?? "is not taken")
      for (name, value) in fault.members {
        if let text = value.string { error.members.append(.init(name, text)) }
      }
      problem.errors.append(error)
    }
    return APIError(problem)
  }

  /// The word for `Cache-Status` that says why there is only a local answer.
  static func detail(of error: APIError) -> String {
    switch error.problem.code {
    case "upstream/rate-limited": "rate-limited"
    case "mirror/not-ready": "refreshing"
    case "mirror/not-stored": "partial"
    default: "offline"
    }
  }
}

extension SearchEndpoint {
  /// Reads GitHub's parameters. What GitHub would refuse is refused here, and costs no request.
  static func query(_ kind: SearchQuery.Kind, _ parameters: Parameters) throws(APIError) -> SearchQuery {
    guard let text = try parameters.text("q", maxLength: SearchProblem.maxBytes),
      text.contains(where: { !$0.isWhitespace })
    else { throw SearchProblem.missing }
    let sort = try parameters.choice("sort", of: kind.sorts)
    let order = try parameters.choice("order", of: ["desc", "asc"])
    let page = try PageRequest(parameters)
    let query = SearchQuery(
      kind, text, sort: sort, isAscending: order == "asc", perPage: page.size, page: page.page)
    guard query.length <= SearchQuery.maxLength else { throw SearchProblem.tooLong }
    guard (page.page - 1).multipliedReportingOverflow(by: page.size).partialValue < SearchQuery.cap,
      page.page <= SearchQuery.cap
    else { throw SearchProblem.beyondTheCap }
    return query
  }
}
