/// Finds the strings of a checked document that PostgreSQL cannot hold: `\u0000` and halves of surrogate pairs.
struct UnstorableText {
  private var issues: [JSONObjectReader.Issue] = []
  /// The way down to the value being looked at. Turned into text only where something is found.
  private var path: [Step] = []

  private enum Step {
    case name(JSONView)
    case index(Int)
  }

  /// An issue for each such string or member name in the document's order, up to the reader's maximum.
  static func issues(in document: JSONView) -> [JSONObjectReader.Issue] {
    var search = UnstorableText()
    search.visit(document)
    return search.issues
  }

  /// Recursion is as deep as the document, and that was limited when it was checked.
  private mutating func visit(_ view: JSONView) {
    guard issues.count < JSONObjectReader.maxIssues else { return }
    switch view.kind {
    case .string:
      if Self.isUnstorable(view) { report() }
    case .array:
      for (index, item) in view.elements.enumerated() {
        path.append(.index(index))
        visit(item)
        path.removeLast()
      }
    case .object:
      var members = view.members
      while let (name, value) = members.nextPair() {
        path.append(.name(name))
        if Self.isUnstorable(name) { report() }
        visit(value)
        path.removeLast()
      }
    default: break
    }
  }

  private mutating func report() {
    guard issues.count < JSONObjectReader.maxIssues else { return }
    var pointer = ""
    for step in path {
      switch step {
      case .name(let name): pointer = JSONPointer.appending(name.string ?? "", to: pointer)
      case .index(let index): pointer = JSONPointer.appending(index, to: pointer)
      }
    }
    let detail = "must not contain the character U+0000 or half of a surrogate pair"
    issues.append(JSONObjectReader.Issue(pointer: pointer, detail: detail))
  }

  private static func isUnstorable(_ string: JSONView) -> Bool {
    string.withRawBytes { text in
      var position = 0
      while position < text.count {
        guard text[position] == .backslash else {
          position += 1
          continue
        }
        switch Escape(text, at: position) {
        case .unstorable: return true
        case .scalar(_, let length): position += length
        case .malformed: position += 1
        }
      }
      return false
    }
  }
}
