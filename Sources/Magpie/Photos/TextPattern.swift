/// What `_like` takes: a safe part of regular expressions. A text is found anywhere in another, whatever the case; `^` and `$` at
/// the ends bind it there, `.` stands for any character and `.*` for any number of them, and a backslash takes the next character as
/// it is. Groups, classes, alternatives and other counts are refused, so the time a match takes is bounded by the text's
/// length times the pattern's.
struct TextPattern: Sendable {
  /// The longest pattern, in bytes.
  static let maxBytes = 200

  /// A pattern that is refused.
  struct Invalid: Error {
    /// What is wrong, to follow the parameter's name.
    let reason: String
  }

  /// One character in lower case, `nil`: any.
  private typealias Piece = [Character?]

  /// What stands between the `.*`, in order.
  private var pieces: [Piece] = [[]]
  private var isBoundAtStart = false
  private var isBoundAtEnd = false

  init(_ text: String) throws(Invalid) {
    guard text.utf8.count <= Self.maxBytes else {
      throw Invalid(reason: "must not be longer than \(Self.maxBytes) bytes")
    }
    var rest = text.lowercased()[...]
    if rest.first == "^" {
      isBoundAtStart = true
      rest.removeFirst()
    }
    while let character = rest.popFirst() {
      switch character {
      case "\\":
        // What follows a letter is a class of characters, such as \d.
        guard let next = rest.popFirst(), !next.isLetter, !next.isNumber else {
          throw Invalid(reason: "must not have classes such as \\d, nor end with a backslash")
        }
        pieces[pieces.count - 1].append(next)
      case "." where rest.first == "*":
        rest.removeFirst()
        if !(pieces[pieces.count - 1].isEmpty && pieces.count > 1) { pieces.append([]) }
      case ".": pieces[pieces.count - 1].append(nil)
      case "$" where rest.isEmpty: isBoundAtEnd = true
      case "^", "$", "*", "+", "?", "(", ")", "[", "]", "{", "}", "|":
        throw Invalid(reason: "may have ^, $, . and .* of regular expressions; other signs need a backslash")
      default: pieces[pieces.count - 1].append(character)
      }
    }
  }

  func matches(_ text: String) -> Bool {
    let text = Array(text.lowercased())
    var position = 0
    for (index, piece) in pieces.enumerated() {
      let isFirst = index == 0
      let isLast = index == pieces.count - 1
      if isLast, isBoundAtEnd {
        let start = text.count - piece.count
        guard start >= position, !(isFirst && isBoundAtStart && start != 0) else { return false }
        return fits(piece, text, start)
      }
      if isFirst, isBoundAtStart {
        guard fits(piece, text, 0) else { return false }
        position = piece.count
        continue
      }
      // The earliest place leaves the most for what follows.
      guard let found = (position...max(position, text.count)).first(where: { fits(piece, text, $0) }) else {
        return false
      }
      position = found + piece.count
    }
    return true
  }

  private func fits(_ piece: Piece, _ text: [Character], _ start: Int) -> Bool {
    guard start + piece.count <= text.count else { return false }
    for (offset, character) in piece.enumerated() where character != nil && character != text[start + offset] {
      return false
    }
    return true
  }
}
