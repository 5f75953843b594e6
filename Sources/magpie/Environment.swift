import Glibc

/// Reads settings from environment variables; each refusal names the variable and what it takes.
struct Environment {
  private let values: [String: String]

  /// Every setting there is. Others that begin with `MAGPIE_` are refused, since they are most likely misspelled.
  static let known: Set<String> = [
    "MAGPIE_LISTEN", "MAGPIE_ADMIN_LISTEN", "MAGPIE_PUBLIC_URL", "MAGPIE_TRUSTED_PROXIES", "MAGPIE_SIGNUP",
    "MAGPIE_DATA", "MAGPIE_MIGRATE", "MAGPIE_MIGRATE_URL",
    "MAGPIE_GITHUB_URL", "MAGPIE_GITHUB_TOKENS", "MAGPIE_GIPHY_URL", "MAGPIE_GIPHY_KEY", "MAGPIE_GIPHY_LIMIT",
    "MAGPIE_PHOTOS_URL",
    "MAGPIE_AVATAR_HOSTS",
    "MAGPIE_TTL_PROFILE", "MAGPIE_TTL_LIST", "MAGPIE_TTL_REPO", "MAGPIE_TTL_COMMITS", "MAGPIE_TTL_SEARCH",
    "MAGPIE_TTL_NEGATIVE", "MAGPIE_TTL_PHOTOS", "MAGPIE_TTL_GIFS",
    "MAGPIE_LOOPS", "MAGPIE_WORKERS", "MAGPIE_LEASE_SECONDS", "MAGPIE_LOG", "MAGPIE_LOG_LEVEL", "MAGPIE_ECHO",
  ]

  /// The process's own.
  init() throws(UsageError) {
    var values: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let line = String(cString: text)
      if let equals = line.firstIndex(of: "=") {
        values[String(line[..<equals])] = String(line[line.index(after: equals)...])
      }
      entry += 1
    }
    try self.init(values)
  }

  init(_ values: [String: String]) throws(UsageError) {
    let unknown = values.keys.filter { $0.hasPrefix("MAGPIE_") && !Environment.known.contains($0) }.sorted()
    if let name = unknown.first { throw UsageError("unknown setting: \(name)") }
    self.values = values
  }

  /// `nil` when it is unset or empty.
  subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

  func list(_ name: String) -> [String] {
    (self[name] ?? "").split(separator: ",").compactMap { entry in
      guard let first = entry.firstIndex(where: { $0 != " " }), let last = entry.lastIndex(where: { $0 != " " })
      else { return nil }
      return String(entry[first...last])
    }
  }

  func number(_ name: String, default fallback: Int, in range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let text = self[name] else { return fallback }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError("\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func seconds(_ name: String, default fallback: Double, in range: ClosedRange<Double>) throws(UsageError) -> Double {
    guard let text = self[name] else { return fallback }
    guard let number = Double(text), range.contains(number) else {
      throw UsageError("\(name) must be a number of seconds from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func choice(_ name: String, default fallback: String, of choices: [String]) throws(UsageError) -> String {
    guard let text = self[name] else { return fallback }
    guard choices.contains(text) else { throw UsageError("\(name) must be \(choices.joined(separator: " or "))") }
    return text
  }
}
