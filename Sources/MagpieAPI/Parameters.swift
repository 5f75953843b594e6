import HTTP

/// Reads query parameters, each with one clear answer when it is wrong.
struct Parameters {
  private let query: Target.Query

  init(_ target: Target) { query = target.query }

  func text(_ name: String, maxLength: Int = 200) throws(APIError) -> String? {
    guard let value = query[name] else { return nil }
    if value.utf8.count > maxLength { throw .badParameter(name, "must not be longer than \(maxLength) bytes") }
    return value
  }

  /// A positive whole number; larger ones than `max` count as `max`.
  func positive(_ name: String, default fallback: Int, max: Int) throws(APIError) -> Int {
    guard let value = query[name] else { return fallback }
    guard !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
      value.utf8.contains(where: { $0 != 0x30 })
    else { throw .badParameter(name, "must be a whole number from 1") }
    return Swift.min(Int(value) ?? max, max)
  }

  func choice<Choice: RawRepresentable & CaseIterable>(_ name: String, of type: Choice.Type) throws(APIError) -> Choice?
  where Choice.RawValue == String {
    guard let value = query[name] else { return nil }
    guard let choice = Choice.allCases.first(where: { $0.rawValue == value }) else {
      throw .badParameter(name, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  /// One of some words.
  func choice(_ name: String, of choices: [String]) throws(APIError) -> String? {
    guard let value = query[name] else { return nil }
    guard choices.contains(value) else {
      throw .badParameter(name, "must be one of \(choices.joined(separator: ", "))")
    }
    return value
  }

  /// A cursor as it was given. Whoever reads it refuses what is none, whatever its length.
  var cursor: String? { query["cursor"] }

  func has(_ name: String) -> Bool { query[name] != nil }
}
