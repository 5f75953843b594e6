import HTTP
import HTTPServer
import Magpie

/// What clients of GIPHY send, read and brought into bounds. What is unknown is left out and not passed on, ids of people above all.
struct GifParameters {
  private let parameters: Parameters
  private let query: Target.Query

  init(_ target: Target) {
    parameters = Parameters(target)
    query = target.query
  }

  /// `nil`: the account's own.
  func rating() throws(APIError) -> String? {
    guard let rating = query["rating"], !rating.isEmpty else { return nil }
    guard GifQuestion.ratings.contains(rating.lowercased()) else {
      throw .badParameter("rating", "must be one of \(GifQuestion.ratings.joined(separator: ", "))")
    }
    return rating.lowercased()
  }

  /// What is searched for: 1 to 50 characters without the blanks around them.
  func text(_ name: String) throws(APIError) -> String {
    guard let text = try optionalText(name) else { throw .badParameter(name, "is missing") }
    return text
  }

  func optionalText(_ name: String) throws(APIError) -> String? {
    guard let value = query[name] else { return nil }
    let first = value.firstIndex { !$0.isWhitespace }
    let last = value.lastIndex { !$0.isWhitespace }
    guard let first, let last else { return nil }
    let text = String(value[first...last])
    guard text.unicodeScalars.count <= GifQuestion.maxQuery else {
      throw .badParameter(name, "must not be longer than \(GifQuestion.maxQuery) characters")
    }
    return text
  }

  /// A page. One that begins beyond the end of what is shown is `nil`.
  func page(standard: Int = 25) throws(APIError) -> [String: String]? {
    let offset = try whole("offset", 0, at: 0...Int(Int32.max))
    let limit = try whole("limit", standard, at: 1...GifQuestion.maxLimit)
    guard offset < GifQuestion.cap else { return nil }
    return ["limit": String(min(limit, GifQuestion.cap - offset)), "offset": String(offset)]
  }

  func limit(standard: Int) throws(APIError) -> String {
    String(try whole("limit", standard, at: 1...GifQuestion.maxLimit))
  }

  /// Parameters that choose a language, a country or fewer renditions.
  func choices() throws(APIError) -> [String: String] {
    var choices: [String: String] = [:]
    for (name, limit) in [("lang", 8), ("country_code", 2), ("region", 2), ("bundle", 64)] {
      guard let value = query[name], !value.isEmpty else { continue }
      let isPlain = value.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
      guard isPlain, value.utf8.count <= limit else {
        throw .badParameter(name, "must be \(limit) letters at most")
      }
      choices[name] = value
    }
    return choices
  }

  func ids() throws(APIError) -> [String] {
    guard let text = query["ids"], !text.isEmpty else { throw .badParameter("ids", "is missing") }
    var ids: [String] = []
    for id in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard GifQuestion.isID(id) else { throw .badParameter("ids", "must be ids with commas between") }
      if !ids.contains(String(id)) { ids.append(String(id)) }
      guard ids.count <= GifQuestion.maxIDs else {
        throw .badParameter("ids", "must not be more than \(GifQuestion.maxIDs)")
      }
    }
    return ids
  }

  /// A whole number, brought into a range; nothing and an empty text count as `standard`.
  private func whole(_ name: String, _ standard: Int, at range: ClosedRange<Int>) throws(APIError) -> Int {
    guard let text = query[name], !text.isEmpty else { return standard }
    guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { throw .badParameter(name, "must be a whole number") }
    return min(max(Int(text) ?? range.upperBound, range.lowerBound), range.upperBound)
  }
}
