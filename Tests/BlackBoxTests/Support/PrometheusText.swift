/// A strict reader of Prometheus' text format, version 0.0.4.
enum PrometheusText {
  struct Invalid: Error, CustomStringConvertible {
    let description: String
  }

  /// The samples by name and labels. Every metric must be described before its samples, which stand together.
  static func parse(_ text: String) throws -> [String: Double] {
    guard text.hasSuffix("\n") else { throw Invalid(description: "the last line is not ended") }
    var types: [String: Substring] = [:]
    var samples: [String: Double] = [:]
    var finished: Set<Substring> = []
    var present: Substring = ""
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ", maxSplits: 3)
      if line.hasPrefix("# TYPE ") {
        guard words.count == 4, ["counter", "gauge"].contains(words[3]), types[String(words[2])] == nil else {
          throw Invalid(description: "\(line)")
        }
        types[String(words[2])] = words[3]
      } else if line.hasPrefix("# HELP ") {
        guard words.count == 4 else { throw Invalid(description: "\(line)") }
      } else {
        guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
          throw Invalid(description: "\(line)")
        }
        let key = line[..<space]
        let name = key.prefix { $0 != "{" }
        guard let type = types[String(name)], samples[String(key)] == nil, hasGoodLabels(key.dropFirst(name.count)),
          name.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_") }),
          (type == "counter") == name.hasSuffix("_total"), value >= 0 || type == "gauge"
        else { throw Invalid(description: "\(line)") }
        if name != present {
          guard finished.insert(name).inserted else { throw Invalid(description: "\(name) in two places") }
          present = name
        }
        samples[String(key)] = value
      }
    }
    return samples
  }

  /// Nothing, or `{name="value",…}` with `\`, `"` and line breaks escaped.
  private static func hasGoodLabels(_ text: Substring) -> Bool {
    if text.isEmpty { return true }
    return text.wholeMatch(of: /\{[a-z_]+="(?:[^"\\\n]|\\[\\n"])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\n"])*")*\}/) != nil
  }
}
