import FoundationEssentials

/// What `Package.swift` says about targets, read from its text: only the shapes this package uses.
struct Manifest {
  struct Target: Equatable {
    var name: String
    var kind: String
    var dependencies: [String]
    /// Where its files are, when that is not `Sources` and the name.
    var path: String?
  }

  /// In the order of the file.
  var targets: [Target] = []

  init(_ text: String) {
    // Comments would otherwise count as declarations.
    let code = text.split(separator: "\n").filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }
      .joined(separator: "\n")
    let declaration = #/\.(systemLibrary|target|executableTarget|plugin|testTarget)\(\s*name: "([^"]+)"/#
    let starts = code.matches(of: declaration)
    for (index, start) in starts.enumerated() {
      let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : code.endIndex
      let body = code[start.range.upperBound..<end]
      let list = body.firstMatch(of: #/dependencies: \[([^\]]*)\]/#)?.1 ?? ""
      targets.append(
        Target(
          name: String(start.2), kind: String(start.1),
          dependencies: list.matches(of: #/"([^"]+)"/#).map { String($0.1) },
          path: body.firstMatch(of: #/path: "([^"]+)"/#).map { String($0.1) }))
    }
  }
}
