import FoundationEssentials

/// The checkout this test was built from.
enum Repository {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path()

  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: root + path, encoding: .utf8)
  }

  /// Paths, relative to the root, of the files below a folder whose names end with one of `suffixes`.
  static func files(below folder: String, endingWith suffixes: String...) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root + folder)
      .filter { path in suffixes.contains { path.hasSuffix($0) } }
      .filter { !$0.split(separator: "/").contains { $0.hasPrefix(".") } }
      .sorted()
      .map { "\(folder)/\($0)" }
  }

  /// The modules that a Swift text imports, with the numbers of the lines, counted from 1.
  static func imports(in text: String) -> [(module: String, line: Int)] {
    let pattern =
      #/^\s*(?:@[\w()]+\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|let|var|typealias)\s+)?(\w+)/#
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
      // The pattern takes long to say no.
      guard line.contains("import") else { return nil }
      return line.firstMatch(of: pattern).map { (String($0.1), index + 1) }
    }
  }
}
